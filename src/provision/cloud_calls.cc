#include "provision/cloud_calls.h"

#include <optional>
#include <utility>

#include "base/on_worker.h"

namespace coppice::provision {

namespace {

std::string_view ErrorName(const Status& status) {
  switch (status.code()) {
    case Code::kNotFound:
      return "NodeClaimNotFoundError";
    case Code::kResourceExhausted:
      return "InsufficientCapacityError";
    case Code::kFailedPrecondition:
      return "NodeClassNotReadyError";
    default:
      return "";
  }
}

}  // namespace

Task<Status> CloudCalls::Run(std::string_view method, std::function<Status(Deadline)> call,
                             Duration timeout) {
  ++out_;
  const TimePoint began = context_.Now();
  const Deadline deadline = {Later(began, timeout)};
  Status answer;
  const std::function<void()> work = [&] { answer = call(deadline); };
  const Status ran = co_await OnWorker(context_.parts.workers, context_.parts.executor, work);
  --out_;
  if (!ran.ok()) co_return Unavailable("no worker is free for the cloud: " + ran.message());
  const MetricLabels labels = {{"controller", "provision"},
                               {"method", std::string(method)},
                               {"provider", std::string(context_.parts.claims.Name())}};
  context_.Observe("karpenter_cloudprovider_duration_seconds",
                   "Duration of cloud provider method calls.", Seconds(context_.Now() - began),
                   labels);
  if (!answer.ok()) {
    MetricLabels failed = labels;
    failed["error"] = std::string(ErrorName(answer));
    context_.Count("karpenter_cloudprovider_errors_total",
                   "Total number of errors returned from cloud provider calls.", failed);
  }
  co_return answer;
}

Task<Result<model::NodeClaim>> CloudCalls::Create(model::NodeClaim claim) {
  std::optional<model::NodeClaim> made;
  const std::function<Status(Deadline)> call = [&](Deadline deadline) {
    auto result = context_.parts.claims.Create(claim, deadline);
    if (!result.ok()) return result.status();
    made = *std::move(result);
    return Status::Ok();
  };
  const Status status = co_await Run("Create", call, context_.options().change_timeout);
  if (!status.ok()) co_return status;
  co_return *std::move(made);
}

Task<Status> CloudCalls::Delete(model::NodeClaim claim) {
  const std::function<Status(Deadline)> call = [&](Deadline deadline) {
    return context_.parts.claims.Delete(claim, deadline);
  };
  co_return co_await Run("Delete", call, context_.options().change_timeout);
}

Task<Result<model::NodeClaim>> CloudCalls::Get(std::string provider_id) {
  std::optional<model::NodeClaim> found;
  const std::function<Status(Deadline)> call = [&](Deadline deadline) {
    auto result = context_.parts.claims.Get(provider_id, deadline);
    if (!result.ok()) return result.status();
    found = *std::move(result);
    return Status::Ok();
  };
  const Status status = co_await Run("Get", call, context_.options().refresh_timeout);
  if (!status.ok()) co_return status;
  co_return *std::move(found);
}

Task<Result<std::vector<model::NodeClaim>>> CloudCalls::List() {
  std::vector<model::NodeClaim> all;
  const std::function<Status(Deadline)> call = [&](Deadline deadline) {
    auto result = context_.parts.claims.List(deadline);
    if (!result.ok()) return result.status();
    all = *std::move(result);
    return Status::Ok();
  };
  const Status status = co_await Run("List", call, context_.options().refresh_timeout);
  if (!status.ok()) co_return status;
  co_return all;
}

Task<Status> CloudCalls::Refresh() {
  const std::function<Status(Deadline)> call = [&](Deadline deadline) {
    return context_.parts.claims.Refresh(deadline);
  };
  co_return co_await Run("Refresh", call, context_.options().refresh_timeout);
}

}  // namespace coppice::provision
