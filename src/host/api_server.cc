#include "host/api_server.h"

#include <utility>
#include <vector>

#include "base/strings.h"

namespace coppice::host {
namespace {

kube::ClientOptions ClientOptionsOf(const ApiServer::Options& options, const std::string& url,
                                    ApiErrors& errors) {
  kube::ClientOptions made;
  made.server = url;
  made.qps = options.qps;
  made.burst = options.burst;
  made.failed = [&errors](const kube::FailedRequest& failed) { errors.Note(failed); };
  return made;
}

std::unique_ptr<kube::LeaderLease> MakeLease(const ApiServer::Options& options,
                                             kube::Client& client, const Log& log) {
  if (!options.lease) return nullptr;
  return std::make_unique<kube::LeaderLease>(*options.lease, client, log);
}

}  // namespace

ApiServer::ApiServer(Options options, Parts parts)
    : url_(parts.config.server),
      errors_(parts.metrics, parts.executor.clock()),
      credentials_(kube::Credentials::Parts{
          .config = std::move(parts.config), .executor = parts.executor, .workers = parts.workers}),
      client_(ClientOptionsOf(options, url_, errors_), parts.transport, credentials_,
              parts.executor, parts.rng),
      lease_(MakeLease(options, client_, parts.log)),
      events_(client_, parts.log, kube::RateLimit(parts.executor, options.qps, options.burst),
              options.duplicated_events),
      writer_(client_, events_, MakeFence(std::move(parts.closed))),
      feed_(options.feed, parts.world, client_, parts.log) {}

kube::Fence ApiServer::MakeFence(std::function<bool()> closed) {
  kube::Fence fence;
  if (lease_ == nullptr) return fence;
  fence.may_write = [this, closed = std::move(closed)]() -> Status {
    if (closed()) return Unavailable("the process is ending: nothing new is begun");
    return lease_->MayWrite();
  };
  fence.within = [this](Deadline by) { return lease_->Within(by); };
  return fence;
}

std::string ApiServer::NotReady(Duration max_age) const {
  std::vector<std::string> missing;
  for (const auto& kind : feed_.Ages()) {
    if (!kind.synced) missing.push_back(kind.kind);
  }
  if (!missing.empty()) return "not read yet: " + Join(missing, ", ");
  return feed_.StaleKinds(max_age);
}

}  // namespace coppice::host
