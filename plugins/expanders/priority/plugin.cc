// priority: groups in the order that the operator wrote into a ConfigMap, read anew for every
// decision.
//
// A bad or missing map changes nothing about the options and says so in an event: an autoscaler
// that stops buying because of a typo is worse than one that buys the second best.

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
  if (error != std::errc() || rest != end)
    return InvalidArgument("priority '" + key + "' is not a number");
  return value;
}

// In Go's words where they differ from RE2's: operators search for these texts.
std::string_view Complaint(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    default:
      return "invalid expression";
  }
}

Result<std::unique_ptr<re2::RE2>> Compile(const std::string& priority, const std::string& pattern) {
  auto compiled = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  if (!compiled->ok()) {
    return InvalidArgument(
        "Can't compile regexp rule for priority " + priority + " and rule " + pattern +
        ": error parsing regexp: " + std::string(Complaint(compiled->error_code())) + ": `" +
        compiled->error_arg() + "`");
  }
  return compiled;
}

// The texts are upstream's where there is one: they end up in events that people search for.
Status Unparsable(std::string_view why) {
  std::string text = "Can't parse YAML with priorities in the configmap: ";
  if (why.find("end of sequence flow not found") != std::string_view::npos) {
    text += "error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'";
  } else {
    text += why;
  }
  return InvalidArgument(std::move(text));
}

// An int to a list of Go-style regular expressions.
Result<Priorities> Parse(const std::string& text) {
  if (text.empty()) {
    return InvalidArgument("priority configuration in " + std::string(kConfigMap) +
                           " configmap is empty; please provide valid configuration");
  }
  const auto parsed = yaml::Parse(text, kConfigMap, yaml::Duplicates::kLastWins);
  if (!parsed.ok()) return Unparsable(parsed.status().message());
  const yaml::Node& root = *parsed;
  Priorities priorities;
  if (root.kind() == yaml::Node::Kind::kNull || root.kind() == yaml::Node::Kind::kAbsent)
    return priorities;
  if (root.kind() != yaml::Node::Kind::kMap) return InvalidArgument("priorities are no map");
  for (const auto& [key, list] : root.entries()) {
    auto& patterns = priorities[TRY(PriorityOf(key))];
    if (list.kind() == yaml::Node::Kind::kNull) continue;
    if (list.kind() != yaml::Node::Kind::kList) {
      return Unparsable(
          "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go "
          "value of "
          "type []string");
    }
    for (const yaml::Node& item : list.items()) {
      if (item.kind() != yaml::Node::Kind::kScalar && item.kind() != yaml::Node::Kind::kNull) {
        return InvalidArgument("priority " + key + " lists something that is no text");
      }
      patterns.push_back(TRY(Compile(key, item.scalar())));
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
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    if (options.empty() || !around.config_map) return options;
    const auto keeps_all = [&](std::string_view why) {
      if (around.note) around.note("keeps all: " + std::string(why));
      return options;
    };
    const auto warn = [&around](std::string_view reason, std::string text) {
      if (around.warn) around.warn(reason, std::move(text));
    };
    const auto text = around.config_map(kConfigMap, kKey);
    if (!text.ok()) {
      if (text.code() == Code::kFailedPrecondition) {
        warn("PriorityConfigMapInvalid",
             "Wrong configmap for priority expander, doesn't contain priorities key. "
             "Ignoring update.");
      }
      return keeps_all(text.status().message());
    }
    const auto priorities = Parse(*text);
    if (!priorities.ok()) {
      warn("PriorityConfigMapInvalid", "Wrong configuration for priority expander: " +
                                           priorities.status().message() + ". Ignoring update.");
      return keeps_all(priorities.status().message());
    }
    int64_t highest = -1;  // so a priority below -1 never wins
    expand::Options best;
    for (const expand::Option* option : options) {
      bool found = false;
      for (const auto& [priority, patterns] : *priorities) {
        if (!MatchesAny(option->group, patterns)) continue;
        found = true;
        if (around.measured) {
          around.measured(*option, static_cast<double>(priority),
                          "has priority " + std::to_string(priority));
        }
        if (priority < highest) continue;
        if (priority > highest) {
          highest = priority;
          best.clear();
        }
        best.push_back(option);
      }
      if (!found) {
        warn("PriorityConfigMapNotMatchedGroup",
             "Priority expander: node group " + option->group +
                 " not found in priority expander configuration. The group won't be used.");
      }
    }
    if (!best.empty()) return best;
    warn("PriorityConfigMapNoGroupMatched",
         "Priority expander: no priorities info found for any of the expansion options. No "
         "options filtered.");
    return keeps_all("no group matches any of the priorities");
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("priority", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Priority>());
  });
}

}  // namespace coppice::expanders::priority
