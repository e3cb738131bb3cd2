// ViewAge: how old what is known of the cluster is, and when that is too old to decide on.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/go_duration.h"

namespace coppice::cluster {

struct ViewAge {
  Duration limit{};
  std::string flag;                                    // that sets it
  std::function<Duration()> age;                       // null: always fresh
  std::function<std::string()> oldest_kind = nullptr;  // what it is so old of, "Pod"

  // "", or why nothing may be decided, and what is not done therefore.
  std::string Stale(std::string_view consequence) const {
    const Duration now = age ? age() : Duration::zero();
    if (now <= limit) return "";
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
    return "the view of the cluster is stale: " +
           (oldest_kind ? oldest_kind() : std::string("it")) + " has not been read for " +
           FormatGoDuration(seconds) + " (" + flag + " is " + FormatGoDuration(limit) + "); " +
           std::string(consequence);
  }
};

}  // namespace coppice::cluster
