#include "batch/conf.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/yaml.h"
#include "batch/yaml_scalar.h"

namespace coppice::batch {
namespace {

using yaml::Node;

struct FlagLine {
  std::string_view key;
  bool on_by_default = true;
};
constexpr std::array<FlagLine, kFlags> kFlagLines{{
    {"enableJobOrder"},
    {"enableHierarchy", false},
    {"enableJobReady"},
    {"enableJobPipelined"},
    {"enableTaskOrder"},
    {"enablePreemptable"},
    {"enableReclaimable"},
    {"enablePreemptive"},
    {"enableQueueOrder"},
    {"enabledClusterOrder", false},
    {"enablePredicate"},
    {"enableBestNode"},
    {"enableNodeOrder"},
    {"enableTargetJob"},
    {"enableReservedNodes"},
    {"enableJobEnqueued"},
    {"enabledVictim"},
    {"enableJobStarving"},
    {"enabledOverused"},
    {"enabledAllocatable"},
    {"enabledHyperNodeOrder"},
    {"enabledSubJobReady"},
    {"enabledSubJobPipelined"},
    {"enabledSubJobOrder"},
    {"enabledHyperNodeGradient"},
}};

constexpr std::array<std::string_view, 8> kActions{"enqueue",     "allocate", "backfill",
                                                   "preempt",     "reclaim",  "gangpreempt",
                                                   "gangreclaim", "shuffle"};

// Type errors are collected and told together, as upstream does.
class ConfReader {
 public:
  Conf Read(const Node& root) {
    Conf conf;
    if (!IsMap(root, "the document")) return conf;
    for (const auto& [key, value] : root.entries()) {
      if (key == "actions") ReadText(value, actions_);
      if (key == "tiers") {
        conf.tiers.clear();
        EachItem(value, [&](const Node& item) { conf.tiers.push_back(ReadTier(item)); });
      }
      if (key == "configurations") {
        conf.configurations.reset();
        if (value.kind() == Node::Kind::kNull) continue;
        auto& all = conf.configurations.emplace();
        EachItem(value, [&](const Node& item) { all.push_back(ReadConfiguration(item)); });
      }
      if (key == "metrics") ReadMetrics(value, conf);
      if (key == "extenders") conf.extenders = Value(value);
    }
    return conf;
  }

  const std::string& actions() const { return actions_; }
  Status status() const {
    return errors_.empty() ? Status::Ok() : InvalidArgument(Join(errors_, "; "));
  }

 private:
  void Complain(const Node& node, std::string_view wanted) {
    errors_.push_back("line " + std::to_string(node.place().line) + ": " + node.path() +
                      " must be " + std::string(wanted));
  }

  // A null is an empty map.
  bool IsMap(const Node& node, std::string_view what) {
    if (node.kind() == Node::Kind::kMap) return true;
    if (!IsNull(node)) Complain(node, std::string(what) + ", a map");
    return false;
  }

  // Of a scalar, mostly. What contradicts its tag is complained of, and null.
  ArgumentValue Value(const Node& node) {
    auto value = ToArgument(node);
    if (value.ok()) return *std::move(value);
    Complain(node, "what it says: " + value.status().message());
    return {};
  }

  bool IsNull(const Node& node) {
    if (node.kind() != Node::Kind::kScalar) return node.kind() == Node::Kind::kNull;
    return Value(node).is_null();
  }

  template <class F>
  void EachItem(const Node& node, F f) {
    if (node.kind() == Node::Kind::kList) {
      for (const Node& item : node.items()) f(item);
    } else if (!IsNull(node)) {
      Complain(node, "a list");
    }
  }

  // Any scalar is a text, as it is written; null is none.
  void ReadText(const Node& node, std::string& out) {
    out.clear();
    if (node.kind() == Node::Kind::kScalar) {
      if (!IsNull(node)) out = node.scalar();
    } else if (!IsNull(node)) {
      Complain(node, "a text");
    }
  }

  // Onto those that are there already; null is none at all.
  void ReadArguments(const Node& node, Arguments& out) {
    ArgumentValue::Map values;
    if (IsMap(node, "arguments")) values = out.values();
    for (const auto& [key, value] : node.entries()) values[key] = Value(value);
    out = Arguments(std::move(values));
  }

  PluginOption ReadPlugin(const Node& node) {
    PluginOption option;
    if (!IsMap(node, "a plug-in")) return option;
    for (const auto& [key, value] : node.entries()) {
      if (key == "name") ReadText(value, option.name);
      if (key == "arguments") ReadArguments(value, option.arguments);
      const auto line = std::ranges::find(kFlagLines, key, &FlagLine::key);
      if (line == kFlagLines.end()) continue;
      std::optional<bool>& flag = option.flags[static_cast<size_t>(line - kFlagLines.begin())];
      flag.reset();
      const ArgumentValue read = Value(value);
      if (read.AsBool()) flag = *read.AsBool();
      if (!read.AsBool() && !read.is_null()) Complain(value, "true or false");
    }
    return option;
  }

  Tier ReadTier(const Node& node) {
    Tier tier;
    if (!IsMap(node, "a tier")) return tier;
    for (const auto& [key, value] : node.entries()) {
      if (key != "plugins") continue;
      tier.plugins.clear();
      EachItem(value, [&](const Node& item) { tier.plugins.push_back(ReadPlugin(item)); });
    }
    return tier;
  }

  Configuration ReadConfiguration(const Node& node) {
    Configuration configuration;
    if (!IsMap(node, "a configuration")) return configuration;
    for (const auto& [key, value] : node.entries()) {
      if (key == "name") ReadText(value, configuration.name);
      if (key == "arguments") ReadArguments(value, configuration.arguments);
    }
    return configuration;
  }

  void ReadMetrics(const Node& node, Conf& conf) {
    if (!IsMap(node, "metrics")) return conf.metrics.reset();
    if (!conf.metrics) conf.metrics.emplace();
    for (const auto& [key, value] : node.entries()) ReadText(value, (*conf.metrics)[key]);
  }

  std::string actions_;
  std::vector<std::string> errors_;
};

// Sets what the file left out; answers whether plug-ins of the tier exclude each other.
bool ApplyDefaults(Tier& tier) {
  bool hierarchical_drf = false;
  bool proportion = false;
  for (PluginOption& plugin : tier.plugins) {
    hierarchical_drf |= plugin.name == "drf" && plugin.enabled(Flag::kHierarchy);
    proportion |= plugin.name == "proportion";
    for (size_t i = 0; i < kFlags; ++i) {
      if (kFlagLines[i].on_by_default && !plugin.flags[i]) plugin.flags[i] = true;
    }
  }
  return hierarchical_drf && proportion;
}

// Upstream reads the first document and does not look further.
std::string_view FirstDocument(std::string_view text) {
  bool content = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool marker = line == "---" || line.starts_with("--- ");
    if ((marker && content) || (line == "..." && content)) return text.substr(0, at);
    content |=
        marker || (!Trim(line).empty() && !Trim(line).starts_with('#') && !line.starts_with('%'));
    at = end + 1;
  }
  return text;
}

// White space as Go has it, that beyond ASCII included.
std::string_view TrimGoSpace(std::string_view text) {
  static constexpr std::array<std::string_view, 19> kWide{
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
      "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
      "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  for (bool more = true; more;) {
    text = Trim(text);
    more = false;
    for (const std::string_view space : kWide) {
      if (text.starts_with(space)) text.remove_prefix(space.size()), more = true;
      if (text.ends_with(space)) text.remove_suffix(space.size()), more = true;
    }
  }
  return text;
}

}  // namespace

std::string_view FlagKey(Flag flag) { return kFlagLines[static_cast<size_t>(flag)].key; }

bool Conf::HasAction(std::string_view action) const {
  return std::ranges::find(actions, action) != actions.end();
}

const Arguments& Conf::ArgumentsOf(std::string_view action) const {
  static const Arguments kNone;
  if (!configurations) return kNone;
  const auto found = std::ranges::find(*configurations, action, &Configuration::name);
  return found == configurations->end() ? kNone : found->arguments;
}

std::string_view DefaultConf() {
  return R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder)";
}

Result<Conf> ParseConf(std::string_view text) {
  const Node root =
      TRY(yaml::Parse(FirstDocument(text), "volcano-scheduler.conf", yaml::Duplicates::kInOrder));
  ConfReader reader;
  Conf conf = reader.Read(root);
  TRY(reader.status());
  for (Tier& tier : conf.tiers) {
    if (ApplyDefaults(tier)) {
      return FailedPrecondition(
          "drf with enableHierarchy and proportion stand in one tier; they exclude each other");
    }
  }
  for (const std::string& part : Split(reader.actions(), ',')) {
    const std::string_view action = TrimGoSpace(part);
    if (std::ranges::find(kActions, action) == kActions.end()) {
      return NotFound("there is no action '" + std::string(action) +
                      "'; there are: " + Join({kActions.begin(), kActions.end()}, ", "));
    }
    conf.actions.emplace_back(action);
  }
  return conf;
}

}  // namespace coppice::batch
