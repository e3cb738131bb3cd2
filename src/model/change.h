// What would have to be otherwise for a node to take a pod: filters propose it (fit/filter.h),
// engines try it out and tell it. Plain values.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::model {

// One thing that would have to be otherwise for a group to take a pod: as data, so that it can be
// applied and tried, and as a clause that goes on after "if".
enum class ChangeKind {
  // Of the pod.
  kLowerRequest,      // of resource `subject`, by `amount` (cpu in thousandths)
  kTolerate,          // the taint `subject`=`value`:`effect`
  kAllowLabel,        // its node selector or affinity lets label `subject` be `value`
  kDropLabelDemand,   // its node selector or affinity asks nothing of label `subject`
  kDropHostPorts,     // it uses no host ports
  kRaiseSkew,         // spread over `subject` allows a skew of `amount`
  kDropSpread,        // spread over `subject` is no more than a wish
  kDropAffinity,      // it need not be near the pods of its term for `subject`
  kDropAntiAffinity,  // it may be near them
  kDropVolume,        // without the volume `subject`
  // Of the group or of the cluster's limits.
  kRaiseMaxSize,     // of the group, to `amount`
  kRaiseNodesTotal,  // --max-nodes-total, to `amount`
  kRaiseLimit,       // of resource `subject` in the whole cluster, by `amount`
  kRaiseMaxPods,     // pods per node of the group, by `amount`
  kWait,             // until the group may be asked again: `amount` in nanoseconds, 0: unknown
};
std::string_view ToString(ChangeKind kind);  // "LowerRequest", ...

struct Change {
  ChangeKind kind = ChangeKind::kLowerRequest;
  std::string subject = {};
  std::string value = {};
  std::string effect = {};
  int64_t amount = 0;
  std::string text = {};  // "its request of cpu were 500m smaller"
  friend bool operator==(const Change&, const Change&) = default;
};

// Changes that belong together.
using ChangeSet = std::vector<Change>;

// An amount of a resource as people write it. Amounts of memory and storage that are not round are
// rounded up to whole Mi, so that "so much smaller" stays true.
std::string AmountText(std::string_view resource, int64_t amount);

}  // namespace coppice::model
