// Remote: the fifteen methods of somebody's provider as calls over bytes, counted, timed, and with
// codes that mean the same whoever answered.
//
// Any thread. Blocks until the answer or the deadline.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/status.h"

namespace coppice::node_groups::externalgrpc {

enum class Method {
  kNodeGroups,
  kNodeGroupForNode,
  kPricingNodePrice,
  kPricingPodPrice,
  kGpuLabel,
  kGetAvailableGpuTypes,
  kCleanup,
  kRefresh,
  kTargetSize,
  kIncreaseSize,
  kDeleteNodes,
  kDecreaseTargetSize,
  kNodes,
  kTemplateNodeInfo,
  kGetOptions,
};
inline constexpr size_t kMethods = 15;
std::string_view NameOf(Method method);  // as on the wire

// A method that the provider does not have is not asked for again for this long, and then once
// more: a provider may be upgraded while we run.
inline constexpr Duration kUnimplementedTtl = std::chrono::minutes(10);

// The same failure, with a code that says what to do about it. A limit of the gRPC library on the
// size of a message has the code of a stock-out, and a connection that ends in mid-call that of an
// unknown error: neither is what it seems.
Status Meaning(const Status& status);

// Whether a change that failed so may have happened all the same.
bool OutcomeUnknown(Code code);

class Remote {
 public:
  // "/package.Service/Method", the request's bytes, until when.
  using Transport = std::function<Result<std::string>(const std::string& path,
                                                      std::string_view request, Deadline deadline)>;

  // `clock` and `metrics` outlive the object; `provider` is a metric label.
  Remote(Transport transport, const Clock& clock, Metrics& metrics, std::string provider);

  // The failure's text begins with the method's name.
  Result<std::string> Call(Method method, std::string_view request, Deadline deadline);

  // The provider has said so, not longer than kUnimplementedTtl ago.
  bool Lacks(Method method) const;
  // It has, whenever that was, and has not answered the method since.
  bool Lacked(Method method) const { return lacked_at_[static_cast<size_t>(method)] != 0; }

 private:
  void Count(Method method, Code code, Duration took);

  const Transport transport_;
  const Clock& clock_;
  Metrics& metrics_;
  const std::string provider_;
  std::array<std::atomic<int64_t>, kMethods> lacked_at_{};  // nanoseconds since 1970; 0: never
};

}  // namespace coppice::node_groups::externalgrpc
