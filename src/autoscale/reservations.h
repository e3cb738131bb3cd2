// Reservations: machines on their way that gangs wait for, by group. Nobody else is to count on
// them: neither a pass for its pending pods nor a quote for another gang.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "market/want.h"

namespace coppice::autoscale {

class Reservations {
 public:
  void Replace(const std::vector<market::Reserved>& all, std::string_view seller) {
    by_group_.clear();
    for (const market::Reserved& one : all) {
      if (one.seller == seller && one.machines > 0) by_group_[one.source][one.gang] += one.machines;
    }
  }
  int Of(std::string_view group) const {
    const auto found = by_group_.find(group);
    if (found == by_group_.end()) return 0;
    int sum = 0;
    for (const auto& [gang, machines] : found->second) sum += machines;
    return sum;
  }
  int Of(std::string_view group, std::string_view gang) const {
    const auto found = by_group_.find(group);
    if (found == by_group_.end()) return 0;
    const auto own = found->second.find(gang);
    return own == found->second.end() ? 0 : own->second;
  }

 private:
  std::map<std::string, std::map<std::string, int, std::less<>>, std::less<>> by_group_;
};

}  // namespace coppice::autoscale
