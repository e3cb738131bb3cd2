#include "plugins/node_groups/externalgrpc/remote.h"

#include <utility>
#include <vector>

namespace coppice::node_groups::externalgrpc {
namespace {

constexpr std::string_view kService =
    "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider";

constexpr std::array<std::string_view, kMethods> kNames = {
    "NodeGroups",
    "NodeGroupForNode",
    "PricingNodePrice",
    "PricingPodPrice",
    "GPULabel",
    "GetAvailableGPUTypes",
    "Cleanup",
    "Refresh",
    "NodeGroupTargetSize",
    "NodeGroupIncreaseSize",
    "NodeGroupDeleteNodes",
    "NodeGroupDecreaseTargetSize",
    "NodeGroupNodes",
    "NodeGroupTemplateNodeInfo",
    "NodeGroupGetOptions",
};

std::string PathOf(Method method) {
  return "/" + std::string(kService) + "/" + std::string(NameOf(method));
}

}  // namespace

std::string_view NameOf(Method method) { return kNames[static_cast<size_t>(method)]; }

Status Meaning(const Status& status) {
  const std::string& text = status.message();
  switch (status.code()) {
    case Code::kResourceExhausted:
      if (text.starts_with("Received message larger than max")) {
        return Internal("the answer is larger than max_message_bytes allows (" + text + ")");
      }
      if (text.starts_with("Sent message larger than max")) {
        return InvalidArgument("the request is larger than max_message_bytes allows (" + text +
                               ")");
      }
      return status;
    case Code::kCancelled:  // a server that is shutting down; we never cancel
      return Unavailable(text.empty() ? "the call was cancelled by the provider" : text);
    case Code::kUnknown:
      if (text == "Stream removed") return Unavailable("the connection ended during the call");
      return status;
    default:
      // Numbers that no one has defined may come over the wire.
      if (static_cast<int>(status.code()) < 0 || static_cast<int>(status.code()) > 16) {
        return Status(Code::kUnknown, text);
      }
      return status;
  }
}

bool OutcomeUnknown(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kInternal ||
         code == Code::kUnknown || code == Code::kDataLoss;
}

Remote::Remote(Transport transport, const Clock& clock, Metrics& metrics, std::string provider)
    : transport_(std::move(transport)),
      clock_(clock),
      metrics_(metrics),
      provider_(std::move(provider)) {}

Result<std::string> Remote::Call(Method method, std::string_view request, Deadline deadline) {
  const TimePoint start = clock_.Now();
  if (deadline.at <= start) {
    return DeadlineExceeded("no time was left to ask").Context(NameOf(method));
  }
  auto answer = transport_(PathOf(method), request, deadline);
  const TimePoint end = clock_.Now();
  Count(method, answer.code(), end - start);
  auto& lacked_at = lacked_at_[static_cast<size_t>(method)];
  if (answer.ok()) {
    lacked_at = 0;
    return answer;
  }
  const Status meaning = Meaning(answer.status());
  if (meaning.code() == Code::kUnimplemented) lacked_at = end.time_since_epoch().count();
  return meaning.Context(NameOf(method));
}

bool Remote::Lacks(Method method) const {
  const int64_t at = lacked_at_[static_cast<size_t>(method)];
  return at != 0 && clock_.Now() < Later(TimePoint(Duration(at)), kUnimplementedTtl);
}

void Remote::Count(Method method, Code code, Duration took) {
  static const std::vector<double> kBuckets{0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5,
                                            1,      2.5,   5,     10,   30,   60};
  const std::string name(NameOf(method));
  metrics_
      .GetCounter(
          "coppice_externalgrpc_calls_total", "Calls to the provider by method and status code.",
          {{"provider", provider_}, {"method", name}, {"code", std::string(ToString(code))}})
      .Increment();
  metrics_
      .GetHistogram("coppice_externalgrpc_call_duration_seconds",
                    "Time until the provider's answer.", kBuckets,
                    {{"provider", provider_}, {"method", name}})
      .Observe(std::chrono::duration<double>(took).count());
}

}  // namespace coppice::node_groups::externalgrpc
