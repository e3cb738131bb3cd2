#include "provision/engine.h"

namespace coppice::provision {

class Engine::Body {
 public:
  explicit Body(EngineParts parts) : parts_(std::move(parts)) {}

  TimePoint due() const { return due_; }

  Task<std::shared_ptr<const report::ProvisionReport>> Pass(TimePoint now) {
    auto report = std::make_shared<report::ProvisionReport>();
    report->at = now;
    due_ = Later(now, parts_.options.disruption_poll);
    report_ = report;
    co_return report_;
  }

  bool Hasten(TimePoint when) {
    if (when >= due_) return false;
    due_ = when;
    return true;
  }

  std::shared_ptr<const report::ProvisionReport> report() const { return report_; }

 private:
  EngineParts parts_;
  TimePoint due_;
  std::shared_ptr<const report::ProvisionReport> report_;
};

Engine::Engine(EngineParts parts) : body_(std::make_unique<Body>(std::move(parts))) {}
Engine::~Engine() = default;

TimePoint Engine::Due() const { return body_->due(); }
Task<std::shared_ptr<const report::ProvisionReport>> Engine::Pass(TimePoint now) {
  return body_->Pass(now);
}
bool Engine::PodWaits(const model::Pod&, TimePoint now) { return body_->Hasten(now); }
bool Engine::PodGone(TimePoint now) { return body_->Hasten(now); }
bool Engine::NodesChanged(TimePoint now) { return body_->Hasten(now); }
bool Engine::ObjectsChanged(TimePoint now) { return body_->Hasten(now); }
std::shared_ptr<const report::ProvisionReport> Engine::report() const { return body_->report(); }
size_t Engine::under_way() const { return 0; }

}  // namespace coppice::provision
