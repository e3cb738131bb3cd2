#include "conform/rules.h"

namespace coppice::conform {

std::vector<std::string> UnknownRules(std::span<const RuleText> rules,
                                      const std::vector<std::string>& skip) {
  std::vector<std::string> unknown;
  for (const std::string& name : skip) {
    const auto named = [&](const RuleText& rule) { return rule.name == name; };
    if (std::ranges::none_of(rules, named)) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace coppice::conform
