// Tell: what a pass says to people: events on the status ConfigMap, and on pods what became of
// them.

#pragma once

#include <string>
#include <string_view>

#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "cluster/writer.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class Tell {
 public:
  Tell(const StatusOptions& options, cluster::EventWriter& writer, Processors& slots)
      : options_(options), writer_(writer), slots_(slots) {}

  // An event on the status ConfigMap, if there is to be one at all.
  void Status(std::string_view type, std::string_view reason, std::string text);
  // How a scale-up ended: events on its pods, or what a processor makes of it.
  void ScaleUp(const report::ScaleUp& scale_up, const PassView& view);
  // About the ConfigMap from which the priority expander reads.
  void Priorities(std::string_view reason, std::string text);

 private:
  void EmitScaleUp(const report::ScaleUp& scale_up);

  const StatusOptions& options_;
  cluster::EventWriter& writer_;
  Processors& slots_;
};

}  // namespace coppice::autoscale
