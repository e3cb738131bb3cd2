#include "provision/view.h"

#include <string>
#include <vector>

#include "model/node_claim.h"

namespace coppice::provision {

cluster::Marks MarksOnPods() {
  cluster::Marks marks;
  marks.eviction_annotations = std::vector<std::string>{model::karpenter::kDoNotDisruptAnnotation};
  return marks;
}

}  // namespace coppice::provision
