// priority: groups in the order that the operator wrote into a ConfigMap, read anew for every decision.
//
// A bad or missing map changes nothing about the options and says so in an event: an autoscaler that stops
// buying because of a typo is worse than one that buys the second best.

#include <re2/re2.h>

#include <charconv>
#include <map>
#include <memory>

#include "base/yaml.h"
#include "expand/expander.h"

namespace coppice::expanders::priority {
namespace {

constexpr char kConfigMap[] = "cluster-autoscaler-priority-expander";
constexpr char kKey[] = "priorities";

using Priorities = std::map<int64_t, std::vector<std::unique_ptr<re2::RE2>>>;

Result<int64_t> PriorityOf(const std::string& key) {
  int64_t value = 0;
  const char* begin = key.data() + (key.starts_with('+') ? 1 : 0);
  const char* end = key.data() + key.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) return InvalidArgument("priority '" + key + "' is not a number");
  return value;
}

Result<std::unique_ptr<re2::RE2>> Compile(const std::string& pattern) {
  auto compiled = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  if (!compiled->ok()) {
    return InvalidArgument("'" + pattern + "' is no regular expression: " + compiled->error());
  }
  return compiled;
}

// An int to a list of Go-style regular expressions.
Result<Priorities> Parse(const std::string& text) {
  if (text.empty()) return InvalidArgument("priority configuration is empty");
  const yaml::Node root = TRY(yaml::Parse(text, kConfigMap));
  Priorities priorities;
  if (root.kind() == yaml::Node::Kind::kNull || root.kind() == yaml::Node::Kind::kAbsent) return priorities;
  if (root.kind() != yaml::Node::Kind::kMap) return InvalidArgument("priorities are no map");
  for (const auto& [key, list] : root.entries()) {
    auto& patterns = priorities[TRY(PriorityOf(key))];
    if (list.kind() == yaml::Node::Kind::kNull) continue;
    if (list.kind() != yaml::Node::Kind::kList) {
      return InvalidArgument("priority " + key + " has no list of expressions");
    }
    for (const yaml::Node& item : list.items()) {
      if (item.kind() != yaml::Node::Kind::kScalar && item.kind() != yaml::Node::Kind::kNull) {
        return InvalidArgument("priority " + key + " lists something that is no text");
      }
      patterns.push_back(TRY(Compile(item.scalar())));
    }
  }
  return priorities;
}

bool MatchesAny(const std::string& group, const std::vector<std::unique_ptr<re2::RE2>>& patterns) {
  for (const auto& pattern : patterns) {
    if (re2::RE2::PartialMatch(group, *pattern)) return true;  // unanchored, as in upstream
  }
  return false;
}

class Priority final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options, const expand::Surroundings& around) override {
    if (options.empty()) return {};
    const auto text = around.config_map(kConfigMap, kKey);
    if (!text.ok()) {
      if (text.code() == Code::kFailedPrecondition) {
        around.warn("PriorityConfigMapInvalid",
                    "Wrong configmap for priority expander, doesn't contain priorities key. Ignoring update.");
      }
      return options;
    }
    const auto priorities = Parse(*text);
    if (!priorities.ok()) {
      around.warn("PriorityConfigMapInvalid", "Wrong configuration for priority expander: " +
                                                  priorities.status().message() + ". Ignoring update.");
      return options;
    }
    int64_t highest = -1;  // so a priority below -1 never wins
    expand::Options best;
    for (const expand::Option* option : options) {
      bool found = false;
      for (const auto& [priority, patterns] : *priorities) {
        if (!MatchesAny(option->group, patterns)) continue;
        found = true;
        if (priority < highest) continue;
        if (priority > highest) {
          highest = priority;
          best.clear();
        }
        best.push_back(option);
      }
      if (!found) {
        around.warn("PriorityConfigMapNotMatchedGroup",
                    "Priority expander: node group " + option->group +
                        " not found in priority expander configuration. The group won't be used.");
      }
    }
    if (!best.empty()) return best;
    around.warn("PriorityConfigMapNoGroupMatched",
                "Priority expander: no priorities info found for any of the expansion options. No options filtered.");
    return options;
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("priority", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Priority>());
  });
}

}  // namespace coppice::expanders::priority
