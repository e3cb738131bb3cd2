// What can be asked for in a body: a what-if question, pause and speed, a token. Parsed strictly: an
// unknown field is refused, so that a misspelt one is not taken for "leave it".

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace coppice::web {

// All of it together, on the cluster as it is now.
struct Question {
  std::vector<std::string> remove_nodes;
  struct Pods {
    int count = 0;
    std::string like;  // namespace/name of a pod that is there; or:
    std::string cpu;   // quantities as Kubernetes writes them
    std::string memory;
    std::map<std::string, std::string> other;  // "nvidia.com/gpu": "1"
    std::map<std::string, std::string> node_selector;
    friend bool operator==(const Pods&, const Pods&) = default;
  };
  std::optional<Pods> add_pods;
  std::map<std::string, int> max_sizes;  // by group; of a pool that many nodes
  std::map<std::string, std::map<std::string, std::string>> limits;  // by pool, then by resource
  std::vector<std::string> forbid_types;                             // no more of these are bought
  friend bool operator==(const Question&, const Question&) = default;
};
inline constexpr int kMostAddedPods = 10'000;
inline constexpr size_t kMostNamed = 100;  // nodes, groups, types

Result<Question> ParseQuestion(std::string_view json);

// Pause and speed of a model cluster; what is absent stays.
struct Control {
  std::optional<bool> paused;
  std::optional<double> speed;  // simulated seconds per second; 0: as fast as it goes
};
Result<Control> ParseControl(std::string_view json);

Result<std::string> ParseToken(std::string_view json);

// "1767592800" or "1767592800.5": seconds since 1970, as the API writes times.
Result<int64_t> ParseUnix(std::string_view text);
Result<uint64_t> ParseCount(std::string_view text, uint64_t most);

}  // namespace coppice::web
