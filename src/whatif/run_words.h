// Words that accounts of a run have in common.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "model/pod.h"

namespace coppice::whatif {

inline std::string OwnerOf(const model::Pod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return owner != nullptr ? owner->name : pod.metadata.name;
}

// "12 pods of web, 3 of api".
template <class Pods>
std::string ByOwner(const Pods& pods) {
  std::map<std::string, int> counts;
  for (const auto& pod : pods) ++counts[OwnerOf(*pod)];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [owner, count] : counts) order.emplace_back(count, owner);
  std::ranges::sort(order, std::greater<>());
  std::vector<std::string> parts;
  for (const auto& [count, owner] : order) {
    if (parts.size() == 4) {
      parts.push_back(fmt::format("{} more owners", order.size() - 4));
      break;
    }
    parts.push_back(parts.empty()
                        ? fmt::format("{} pod{} of {}", count, count == 1 ? "" : "s", owner)
                        : fmt::format("{} of {}", count, owner));
  }
  return Join(parts, ", ");
}

inline std::string Short(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", (seconds + 30) / 60);
  return fmt::format("{:.1f} h", static_cast<double>(seconds) / 3600);
}

inline double Hours(Duration duration) {
  return std::chrono::duration<double, std::ratio<3600>>(duration).count();
}

// "day 1 06:00:12  + what                 why".
inline std::string AccountLine(TimePoint start, TimePoint now, char mark, const std::string& what,
                               const std::string& why) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const auto clock = std::chrono::floor<std::chrono::seconds>(now - day).count();
  return fmt::format("day {} {:02}:{:02}:{:02}  {} {:<34} {}",
                     (day - std::chrono::floor<std::chrono::days>(start)).count() + 1, clock / 3600,
                     clock / 60 % 60, clock % 60, mark, what, why);
}

}  // namespace coppice::whatif
