#include "autoscale/tell.h"

#include <utility>

#include "report/explain.h"

namespace coppice::autoscale {

namespace {

// Pods of a large cluster are not in the cache: each is asked for some turns ahead.
void FetchNames(const std::vector<cluster::PodPtr>& pods, size_t i) {
  constexpr size_t kTurns = 12;
  if (i + kTurns >= pods.size()) return;
  const model::ObjectMeta& ahead = pods[i + kTurns]->metadata;
  __builtin_prefetch(&ahead.name);
  __builtin_prefetch(&ahead.namespace_);
  __builtin_prefetch(&ahead.uid);
}

cluster::Event AboutPod(const model::Pod& pod, std::string reason, std::string text) {
  return {"Pod",    pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid,
          "Normal", std::move(reason),       std::move(text)};
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
      const std::string text =
          report::NotTriggeredText(scale_up.result, unhelped, scale_up.considered_groups);
      for (const auto& pod : unhelped.pods) writer_.Emit(AboutPod(*pod, "NotTriggerScaleUp", text));
    }
  }
  if (scale_up.resizes.empty()) return;
  const std::string text = report::TriggeredText(scale_up.resizes);
  for (size_t i = 0; i < scale_up.triggered.size(); ++i) {
    FetchNames(scale_up.triggered, i);
    writer_.Emit(AboutPod(*scale_up.triggered[i], "TriggeredScaleUp", text));
  }
}

}  // namespace coppice::autoscale
