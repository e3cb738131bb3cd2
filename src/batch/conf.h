// volcano-scheduler.conf: actions, tiers of plug-ins with flags and arguments, arguments of
// actions.
//
// Read as upstream reads it, with YAML 1.1's types (yes is a bool, 017 is fifteen), flags with
// their odd spellings, keys that nobody knows passed over, and one entry after the other, so that of
// equal keys the last one counts, and of equal maps of arguments all. What is
// wrong is told by the code of the Status: kInvalidArgument is the YAML or a type in it, kNotFound
// an action that does not exist, kFailedPrecondition plug-ins that exclude each other.
//
// Plain values; reading has no side effect. Which plug-ins exist is not known here.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "batch/arguments.h"

namespace coppice::batch {

// What a plug-in entry can switch off. All are on unless the file says otherwise, but for
// kHierarchy and kClusterOrder.
enum class Flag : uint8_t {
  kJobOrder,
  kHierarchy,
  kJobReady,
  kJobPipelined,
  kTaskOrder,
  kPreemptable,
  kReclaimable,
  kPreemptive,
  kQueueOrder,
  kClusterOrder,
  kPredicate,
  kBestNode,
  kNodeOrder,
  kTargetJob,
  kReservedNodes,
  kJobEnqueued,
  kVictim,
  kJobStarving,
  kOverused,
  kAllocatable,
  kHyperNodeOrder,
  kSubJobReady,
  kSubJobPipelined,
  kSubJobOrder,
  kHyperNodeGradient,
};
inline constexpr size_t kFlags = 25;
std::string_view FlagKey(Flag flag);  // as the file spells it

struct PluginOption {
  std::string name;
  std::array<std::optional<bool>, kFlags> flags;
  Arguments arguments;

  bool enabled(Flag flag) const { return flags[static_cast<size_t>(flag)].value_or(false); }
};

struct Tier {
  std::vector<PluginOption> plugins;
};

struct Configuration {  // of an action
  std::string name;
  Arguments arguments;
};

struct Conf {
  std::vector<std::string> actions;
  std::vector<Tier> tiers;
  std::optional<std::vector<Configuration>> configurations;
  std::optional<std::map<std::string, std::string>> metrics;
  std::optional<ArgumentValue> extenders;  // the list of that name, unread; upstream has none

  bool HasAction(std::string_view action) const;
  // Of the first entry of that name; empty if there is none.
  const Arguments& ArgumentsOf(std::string_view action) const;
};

// What runs without a file, or while the file is wrong.
std::string_view DefaultConf();

// `text` without surrounding white space.
Result<Conf> ParseConf(std::string_view text);

}  // namespace coppice::batch
