#include "autoscale/view.h"

#include "autoscale/drain_options.h"
#include "autoscale/engine.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

cluster::WorldOptions ViewOf(const PodOptions& options) {
  cluster::WorldOptions view;
  view.counts = [options](const model::Pod& pod) { return Engine::Counts(options, pod); };
  view.marks.eviction_annotations = {std::string(kAnnotationPrefix)};
  view.marks.timed_taints = {std::string(kToBeDeletedTaint)};
  return view;
}

}  // namespace coppice::autoscale
