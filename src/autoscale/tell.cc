#include "autoscale/tell.h"

#include <utility>

#include "report/explain.h"

namespace coppice::autoscale {

namespace {

cluster::Event What(std::string reason, std::string text) {
  return {.kind = "Pod", .type = "Normal", .reason = std::move(reason), .text = std::move(text)};
}

}  // namespace

void Tell::Status(std::string_view type, std::string_view reason, std::string text) {
  if (!options_.write_status_configmap) return;
  writer_.Emit({"ConfigMap", options_.namespace_, options_.status_config_map_name, "",
                std::string(type), std::string(reason), std::move(text)});
}

void Tell::Priorities(std::string_view reason, std::string text) {
  writer_.Emit({"ConfigMap", options_.namespace_, "cluster-autoscaler-priority-expander", "",
                "Warning", std::string(reason), std::move(text)});
}

void Tell::ScaleUp(const report::ScaleUp& scale_up, const PassView& view) {
  if (!slots_.scale_up_status) return EmitScaleUp(scale_up);
  slots_.scale_up_status->Process(
      scale_up, [this](const report::ScaleUp& told) { EmitScaleUp(told); }, view);
}

void Tell::EmitScaleUp(const report::ScaleUp& scale_up) {
  using report::ScaleUpResult;
  if (scale_up.result != ScaleUpResult::kSuccessful && scale_up.result != ScaleUpResult::kError) {
    for (const report::Unhelped& unhelped : scale_up.unhelped) {
      std::string text =
          report::NotTriggeredText(scale_up.result, unhelped, scale_up.considered_groups);
      writer_.EmitAboutPods(unhelped.pods, What("NotTriggerScaleUp", std::move(text)));
    }
  }
  if (scale_up.resizes.empty()) return;
  writer_.EmitAboutPods(scale_up.triggered,
                        What("TriggeredScaleUp", report::TriggeredText(scale_up.resizes)));
}

}  // namespace coppice::autoscale
