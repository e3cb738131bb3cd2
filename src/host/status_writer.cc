#include "host/status_writer.h"

namespace coppice::host {

void StatusWriter::Put(std::string text, kube::KubeWriter::Annotations annotations) {
  last_ = text;
  next_ = {std::move(text), std::move(annotations)};
  if (!writing_) executor_.Spawn(Write());
  writing_ = true;
}

Task<void> StatusWriter::Write() {
  while (next_) {
    auto [text, annotations] = *std::exchange(next_, std::nullopt);
    const Status written = co_await writer_.PutConfigMap(namespace_, name_, "status",
                                                         std::move(text), std::move(annotations));
    if (!written.ok())
      log_.Warning("the status ConfigMap could not be written", {{"error", written}});
  }
  writing_ = false;
}

}  // namespace coppice::host
