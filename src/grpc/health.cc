#include "grpc/health.h"

#include "health.pb.h"

namespace coppice::grpc {

namespace pb = ::grpc::health::v1;

class Health::Watcher final : public StreamHandler {
 public:
  Watcher(Health& health, StreamClient& client) : health_(health), client_(client) {
    health_.watchers_.insert(this);
  }
  ~Watcher() override { health_.watchers_.erase(this); }

  void OnMessage(std::string_view message) override {
    pb::HealthCheckRequest request;
    if (asked_ || !request.ParseFromArray(message.data(), static_cast<int>(message.size())))
      return client_.Finish(InvalidArgument("Watch takes one HealthCheckRequest"));
    asked_ = true;
    service_ = request.service();
    Tell();
  }
  void OnEnd() override {
    if (!asked_) client_.Finish(InvalidArgument("Watch without a request"));
  }

  void Tell() {
    if (!asked_) return;
    const int status = health_.StatusOf(service_);
    if (status == told_) return;
    told_ = status;
    pb::HealthCheckResponse answer;
    answer.set_status(static_cast<pb::HealthCheckResponse::ServingStatus>(status));
    client_.Send(answer.SerializeAsString());
  }

 private:
  Health& health_;
  StreamClient& client_;
  std::string service_;
  bool asked_ = false;
  int told_ = -1;
};

Health::Health(const std::vector<std::string>& services)
    : services_([&] {
        std::set<std::string> all(services.begin(), services.end());
        all.insert("");
        return all;
      }()) {}

void Health::Set(bool serving) {
  const MutexLock lock(mutex_);
  serving_ = serving;
}

void Health::Tell() {
  for (Watcher* watcher : watchers_) watcher->Tell();
}

int Health::StatusOf(const std::string& service) const {
  if (!services_.contains(service)) return pb::HealthCheckResponse::SERVICE_UNKNOWN;
  const MutexLock lock(mutex_);
  return serving_ ? pb::HealthCheckResponse::SERVING : pb::HealthCheckResponse::NOT_SERVING;
}

Answer Health::Check(const Call& call) const {
  pb::HealthCheckRequest request;
  if (!request.ParseFromArray(call.request.data(), static_cast<int>(call.request.size())))
    return InvalidArgument("not a HealthCheckRequest");
  const int status = StatusOf(request.service());
  if (status == pb::HealthCheckResponse::SERVICE_UNKNOWN)
    return NotFound("no service '" + request.service() + "' here");
  pb::HealthCheckResponse answer;
  answer.set_status(static_cast<pb::HealthCheckResponse::ServingStatus>(status));
  return answer.SerializeAsString();
}

void Health::AddTo(Routes& routes) {
  routes.Add({.path = "/grpc.health.v1.Health/Check",
              .unary = [this](const Call& call) { return Check(call); }});
  routes.Add({.path = "/grpc.health.v1.Health/Watch",
              .stream = [this](StreamClient& client) -> std::unique_ptr<StreamHandler> {
                return std::make_unique<Watcher>(*this, client);
              }});
}

}  // namespace coppice::grpc
