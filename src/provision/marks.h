// Marks: what only memory knows about machines: which are about to go, and on which a pod is
// expected. Both are made again after a restart, from taints and by the next solve.
//
// Decision thread.

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace coppice::provision {

struct Marks {
  std::set<std::string> leaving;  // provider ids of machines that a command has begun to take away
  std::map<std::string, TimePoint> nominated;  // provider id: until when
  // Provider id: by which command it is looked at or taken away.
  std::map<std::string, std::string> queued;
  std::set<std::string> chosen;  // provider ids: of a command that is looked at once more

  void Nominate(const std::string& provider_id, TimePoint until) {
    TimePoint& at = nominated[provider_id];
    if (at < until) at = until;
  }
  bool IsNominated(std::string_view provider_id, TimePoint now) const {
    const auto it = nominated.find(std::string(provider_id));
    return it != nominated.end() && now < it->second;
  }
  void ForgetOld(TimePoint now) {
    std::erase_if(nominated, [&](const auto& entry) { return entry.second <= now; });
  }
};

}  // namespace coppice::provision
