// The file behind --groups: a small format of its own, or the configuration of `coppice provider`.

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/strings.h"
#include "base/yaml.h"
#include "model/resources.h"
#include "provider/provider_config.h"
#include "provider/scaling_options.h"
#include "whatif/group_discovery.h"

namespace coppice::whatif {

namespace {

using NodePtr = std::shared_ptr<const model::Node>;

bool Matches(const model::Node& node, const std::map<std::string, std::string>& labels) {
  return !labels.empty() && std::ranges::all_of(labels, [&](const auto& wanted) {
    const std::string* value = node.metadata.labels.Find(wanted.first);
    return value != nullptr && *value == wanted.second;
  });
}

// "key=value:Effect", as kubectl writes taints.
bool ReadTaint(std::string_view text, model::Taint& taint) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view left = text.substr(0, colon);
  const size_t equals = left.find('=');
  taint.key = left.substr(0, equals);
  taint.value = equals == std::string_view::npos ? "" : left.substr(equals + 1);
  taint.effect = text.substr(colon + 1);
  return !taint.key.empty() && (taint.effect == "NoSchedule" || taint.effect == "NoExecute" ||
                                taint.effect == "PreferNoSchedule");
}

bool ReadAmounts(yaml::MapReader& map, std::string_view key, model::ResourceList& out) {
  std::map<std::string, std::string> texts;
  if (!map.Read(key, texts)) return false;
  for (const auto& [resource, text] : texts) {
    auto amount = model::Quantity::Parse(text);
    if (!amount.ok()) {
      map.Complain(key, resource + ": '" + text + "' is no amount such as 500m or 4Gi");
      continue;
    }
    out[resource] = *std::move(amount);
  }
  return true;
}

// A node as a new machine would register: ready, and nothing on it yet.
void MakeFresh(model::Node& node, const std::string& group) {
  node.metadata.name = "template-" + group;
  node.metadata.uid.clear();
  node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
  node.metadata.creation_timestamp.reset();
  node.spec.provider_id = "template://" + group;
  node.spec.unschedulable = false;
  node.status.conditions = {{.type = "Ready", .status = "True"}};
}

class GroupsFile {
 public:
  GroupsFile(const Listed<model::Node>& nodes, yaml::Problems& problems)
      : nodes_(nodes), problems_(problems) {}

  DiscoveredGroups Read(const yaml::Node& root) {
    DiscoveredGroups found;
    yaml::MapReader map(root, problems_);
    map.EachItem("groups", [&](const yaml::Node& item) { ReadGroup(item, found); });
    if (!map.Has("groups")) map.Complain("groups", "is required: a list of node groups");
    map.Finish();
    return found;
  }

 private:
  void ReadTemplate(const yaml::Node& node, const std::string& group, NodePtr& out) {
    if (node.kind() == yaml::Node::Kind::kAbsent || node.kind() == yaml::Node::Kind::kNull) return;
    yaml::MapReader map(node, problems_);
    model::Node made;
    std::string like;
    if (map.Read("node", like)) {
      const auto it =
          std::ranges::find_if(nodes_, [&](const NodePtr& n) { return n->metadata.name == like; });
      if (it == nodes_.end()) {
        map.Complain("node", "the dump has no node " + like);
      } else {
        made = **it;
      }
    }
    std::map<std::string, std::string> labels;
    map.Read("labels", labels);
    for (const auto& [key, value] : labels) made.metadata.labels[key] = value;
    std::vector<std::string> taints;
    if (map.Read("taints", taints)) made.spec.taints.clear();
    for (const std::string& text : taints) {
      model::Taint taint;
      if (!ReadTaint(text, taint)) {
        map.Complain("taints", "'" + text + "' is no taint such as dedicated=ml:NoSchedule");
        continue;
      }
      made.spec.taints.push_back(std::move(taint));
    }
    const bool capacity = ReadAmounts(map, "capacity", made.status.capacity);
    const bool allocatable = ReadAmounts(map, "allocatable", made.status.allocatable);
    if (capacity && !allocatable) made.status.allocatable = made.status.capacity;
    if (allocatable && !capacity && like.empty()) made.status.capacity = made.status.allocatable;
    for (auto* list : {&made.status.capacity, &made.status.allocatable}) {
      if (!list->contains("pods")) (*list)["pods"] = model::Quantity::FromUnits(110);
    }
    if (like.empty() && !capacity && !allocatable)
      map.Complain("capacity", "is required, or `node`: the name of a node to copy");
    MakeFresh(made, group);
    map.Finish();
    out = std::make_shared<const model::Node>(std::move(made));
  }

  void ReadGroup(const yaml::Node& item, DiscoveredGroups& found) {
    yaml::MapReader map(item, problems_);
    DumpGroups::Group group;
    group.origin = "--groups";
    map.Require("name", group.name);
    if (std::ranges::find(found.groups, group.name, &DumpGroups::Group::name) != found.groups.end())
      map.Complain("name", "there are two groups " + group.name);
    map.Read("min", group.min);
    group.max = kDefaultMax;
    map.Read("max", group.max);
    if (group.min < 0 || group.max < group.min)
      map.Complain("max", "min and max must be 0 <= min <= max");
    std::map<std::string, std::string> selector;
    std::vector<std::string> names;
    map.Read("nodeSelector", selector);
    map.Read("nodes", names);
    for (const NodePtr& node : nodes_) {
      const bool named = std::ranges::find(names, node->metadata.name) != names.end();
      if (!named && !Matches(*node, selector)) continue;
      if (!taken_.emplace(node->metadata.name, group.name).second) {
        map.Complain("nodeSelector", "node " + node->metadata.name + " belongs to group " +
                                         taken_[node->metadata.name] + " already");
        continue;
      }
      group.machines.push_back(node->spec.provider_id);
      Measure(*node, group);
    }
    for (const std::string& name : names) {
      if (!taken_.contains(name)) map.Complain("nodes", "the dump has no node " + name);
    }
    group.target = static_cast<int>(group.machines.size());
    int size = group.target;
    if (map.Read("size", size)) {
      if (size < group.target) {
        map.Complain("size",
                     "the dump has " + std::to_string(group.target) + " nodes of the group");
      }
      group.target = std::max(size, group.target);
    }
    double price = 0;
    if (map.Read("price", price)) group.price_per_hour = price;
    if (price < 0) map.Complain("price", "must not be negative");
    provider::ReadScalingOptions(map, group.options, problems_);
    ReadTemplate(map.Get("template"), group.name, group.node_template);
    if (group.node_template) Measure(*group.node_template, group);
    if (group.machines.empty() && group.node_template == nullptr) {
      found.notes.push_back("group " + group.name +
                            " has no node in the dump and no template: it cannot grow");
    }
    map.Finish();
    found.groups.push_back(std::move(group));
  }

  static void Measure(const model::Node& node, DumpGroups::Group& group) {
    const model::NodeAmounts amounts = model::ToNodeAmounts(node.status.allocatable);
    group.cpu_millis = amounts.cpu_millis;
    group.memory_bytes = amounts.memory_bytes;
  }

  const Listed<model::Node>& nodes_;
  yaml::Problems& problems_;
  std::map<std::string, std::string> taken_;  // node: group
};

// The provider's own file names flavors, not capacities: what a node looks like is taken from the
// nodes of the group. They are recognised by the group's label or by their names, which begin with
// it.
Result<DiscoveredGroups> FromProviderConfig(std::string_view text, const std::string& path,
                                            const Listed<model::Node>& nodes) {
  yaml::Problems problems;
  const cloud::CloudRegistry none("cloud");  // nothing is ordered by this file
  const provider::ProviderConfig config = TRY(provider::ParseProviderConfig(
      text, path, {none, [](const char* name) { return std::getenv(name); }},
      [](const std::string&) -> Result<std::string> { return std::string("#!"); }, problems));
  DiscoveredGroups found;
  found.how = "as " + path + " says; a node belongs to the group that its name begins with";
  std::map<std::string, std::string> owner;  // by node: the longest name that fits
  for (const auto& node : nodes) {
    for (const cloud::GroupConfig& group : config.groups) {
      const std::string* label = node->metadata.labels.Find(cloud::kGroupTag);
      const bool named = node->metadata.name.starts_with(group.name + "-");
      std::string& best = owner[node->metadata.name];
      if (label != nullptr && *label == group.name) {
        best = group.name;
        break;
      }
      if (named && group.name.size() > best.size()) best = group.name;
    }
  }
  for (const cloud::GroupConfig& config_group : config.groups) {
    DumpGroups::Group group{.name = config_group.name,
                            .min = config_group.min_size,
                            .max = config_group.max_size,
                            .options = config_group.options,
                            .price_per_hour = config_group.price_per_hour,
                            .origin = path};
    for (const auto& node : nodes) {
      if (owner[node->metadata.name] != group.name) continue;
      group.machines.push_back(node->spec.provider_id);
      const model::NodeAmounts amounts = model::ToNodeAmounts(node->status.allocatable);
      group.cpu_millis = amounts.cpu_millis;
      group.memory_bytes = amounts.memory_bytes;
    }
    group.target = static_cast<int>(group.machines.size());
    if (group.machines.empty()) {
      found.notes.push_back(
          "group " + group.name +
          " has no node in the dump, and only its cloud "
          "knows what a " +
          config_group.flavor +
          " is: it cannot grow here; describe it with a template (docs/simulate.md)");
    }
    found.groups.push_back(std::move(group));
  }
  return found;
}

}  // namespace

Result<DiscoveredGroups> ParseGroups(std::string_view text, const std::string& path,
                                     const Listed<model::Node>& nodes) {
  const yaml::Node root = TRY(yaml::Parse(text, path));
  const auto entries = root.entries();
  const bool of_a_provider =
      std::ranges::any_of(entries, [](const auto& entry) { return entry.first == "nodeGroups"; });
  if (of_a_provider) return FromProviderConfig(text, path, nodes);
  yaml::Problems problems;
  DiscoveredGroups found = GroupsFile(nodes, problems).Read(root);
  TRY(problems.ToStatus(true));
  found.how = "as " + path + " says";
  return found;
}

Result<DiscoveredGroups> GroupsFromFile(const std::string& path, const Listed<model::Node>& nodes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("--groups=" + path + ": cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseGroups(text, path, nodes);
}

}  // namespace coppice::whatif
