#include "rehearse/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/strings.h"
#include "rehearse/log_file.h"
#include "wire/wire.h"

namespace coppice::rehearse {
namespace {

using Json = nlohmann::json;

std::string TextAt(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

// Milliseconds since 1970, within what our time can hold.
std::optional<TimePoint> TimeAt(const Json& line, const char* key) {
  constexpr int64_t kLatest = 9'000'000'000'000;  // the year 2255
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  const auto ms = found->get<int64_t>();
  if (ms < 0 || ms > kLatest) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(ms));
}

int NumberAt(const Json& line, const char* key, int otherwise) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(found->get<int64_t>(), 0, 1'000'000));
}

std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonString(out, text);  // JSON's quotes are YAML's
  return out;
}

std::string TaintsOf(const model::Node& node) {
  std::string out;
  for (const model::Taint& taint : node.spec.taints) {
    out += fmt::format("{}{{key: {}, value: {}, effect: {}}}", out.empty() ? "" : ", ",
                       Quoted(taint.key), Quoted(taint.value), Quoted(taint.effect));
  }
  return out;
}

}  // namespace

void DemandReader::Done(const std::string& name) {
  const auto found = alive_.find(name);
  if (found == alive_.end()) return;
  demand_.pods[found->second].done = now_;
  alive_.erase(found);
}

void DemandReader::ReadShape(const Json& line) {
  auto pod = wire::FromJson<model::Pod>(line.at("pod").dump());
  if (!pod.ok()) {
    ++unreadable_;
    return;
  }
  PodShape shape{.pod = *std::move(pod)};
  if (const model::OwnerReference* owner = model::ControllerOf(shape.pod.metadata)) {
    shape.owner_kind = owner->kind;
    shape.owner_name = owner->name;
  }
  shape_ids_[NumberAt(line, "shape", -1)] = static_cast<uint32_t>(demand_.shapes.size());
  demand_.shapes.push_back(std::move(shape));
}

void DemandReader::ReadAdded(const std::string& name, const Json& line) {
  const auto shape = shape_ids_.find(NumberAt(line, "shape", -1));
  if (in_all_) named_[name] = true;
  if (shape == shape_ids_.end()) {
    ++unreadable_;
    return;
  }
  if (in_all_ && !first_all_ && alive_.contains(name)) return;  // known from the file before
  Done(name);
  PodLife life{.name = name, .shape = shape->second, .node = TextAt(line, "node")};
  life.created = std::clamp(TimeAt(line, "created").value_or(now_), demand_.start, now_);
  if (!life.node.empty()) life.bound = now_;
  alive_[name] = demand_.pods.size();
  demand_.pods.push_back(std::move(life));
}

void DemandReader::ReadGroup(const std::string& id, const Json& line) {
  const auto [at_group, fresh] = group_at_.try_emplace(id, demand_.groups.size());
  if (fresh) demand_.groups.emplace_back();
  RecordedGroup& recorded = demand_.groups[at_group->second];
  recorded.id = id;
  recorded.min = NumberAt(line, "min", 0);
  recorded.max = NumberAt(line, "max", 0);
  const auto price = line.find("price");
  if (price != line.end() && price->is_number()) recorded.price = price->get<double>();
  if (const auto node = line.find("template"); node != line.end()) {
    auto read = wire::FromJson<model::Node>(node->dump());
    if (read.ok()) recorded.node = *std::move(read);
  }
}

void DemandReader::ReadBudget(const std::string& name, const Json& line) {
  const auto object = line.find("pdb");
  if (object == line.end()) {
    budgets_.erase(name);
    return;
  }
  auto budget = wire::FromJson<model::PodDisruptionBudget>(object->dump());
  const size_t slash = name.find('/');
  if (!budget.ok() || slash == std::string::npos) {
    ++unreadable_;
    return;
  }
  budget->metadata = {};
  budget->metadata.namespace_ = name.substr(0, slash);
  budget->metadata.name = name.substr(slash + 1);
  budget->status = {};
  budgets_.insert_or_assign(name, *std::move(budget));
}

void DemandReader::EndOfAll() {
  if (!first_all_) {
    std::vector<std::string> missed;
    for (const auto& [name, at_pod] : alive_) {
      if (!named_.contains(name)) missed.push_back(name);
    }
    for (const std::string& name : missed) Done(name);
  }
  in_all_ = first_all_ = false;
}

void DemandReader::Line(std::string_view text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) {
    ++unreadable_;
    return;
  }
  if (line.contains("coppice-log")) {
    in_all_ = true;
    shape_ids_.clear();
    named_.clear();
    budgets_.clear();
  } else if (const auto at = TimeAt(line, "at")) {
    now_ = std::max(now_, *at);
    if (!started_) demand_.start = now_;
    started_ = true;
    demand_.end = now_;
  } else if (line.contains("shape") && line.contains("pod")) {
    ReadShape(line);
  } else if (const std::string added = TextAt(line, "add"); !added.empty()) {
    ReadAdded(added, line);
  } else if (const std::string bound = TextAt(line, "bind"); !bound.empty()) {
    const auto found = alive_.find(bound);
    if (found == alive_.end()) return;
    PodLife& life = demand_.pods[found->second];
    if (!life.bound) life.bound = now_;
    if (life.node.empty()) life.node = TextAt(line, "node");
  } else if (const std::string done = TextAt(line, "done"); !done.empty()) {
    Done(done);
  } else if (const std::string budget = TextAt(line, "budget"); !budget.empty()) {
    ReadBudget(budget, line);
  } else if (const std::string node = TextAt(line, "node"); !node.empty()) {
    if (first_all_) demand_.start_nodes[node] = {TextAt(line, "group"), TextAt(line, "pool")};
  } else if (const std::string group = TextAt(line, "group"); !group.empty()) {
    if (line.contains("max")) ReadGroup(group, line);
  } else if (line.contains("all")) {
    EndOfAll();
  }
}

Result<Demand> DemandReader::Finish() && {
  if (!started_) return InvalidArgument("the log says nothing");
  if (unreadable_ > 0) {
    demand_.notes.push_back(fmt::format("{} lines could not be read", unreadable_));
  }
  for (auto& [name, budget] : budgets_) demand_.budgets.push_back(std::move(budget));
  std::ranges::stable_sort(demand_.pods, std::less<>(), &PodLife::created);
  return std::move(demand_);
}

Result<Demand> ReadDemand(const std::string& path) {
  DemandReader reader;
  std::vector<std::string> notes;
  TRY(ReadLog(path, [&](std::string_view line) { reader.Line(line); }, notes));
  Demand demand = TRY(std::move(reader).Finish());
  demand.notes.insert(demand.notes.end(), notes.begin(), notes.end());
  return demand;
}

namespace {

// What the kubelet keeps by default is added, so that the template comes out as recorded.
constexpr int64_t kEviction = int64_t{100} << 20;

int64_t AmountOf(const model::Node& node, const char* resource, bool milli = false) {
  const auto* found = node.status.allocatable.Find(resource);
  return found == nullptr ? 0 : milli ? found->MilliValue() : found->Value();
}

std::string LabelOf(const model::Node& node, std::string_view key, const std::string& otherwise) {
  const std::string* found = node.metadata.labels.Find(key);
  return found == nullptr ? otherwise : *found;
}

std::string ZoneOf(const model::Node& node) {
  return LabelOf(node, "topology.kubernetes.io/zone", "here");
}

// A flavor with what the group's template has, but for its name and zones.
std::string FlavorOf(const RecordedGroup& group) {
  const model::Node& node = *group.node;
  const int64_t gpus = AmountOf(node, "nvidia.com/gpu");
  return fmt::format(
      "cpu: {}m, memory: {}, architecture: {}, pricePerHour: {}{}", AmountOf(node, "cpu", true),
      AmountOf(node, "memory") + kEviction, Quoted(LabelOf(node, "kubernetes.io/arch", "amd64")),
      group.price.value_or(0),
      gpus > 0 ? fmt::format(", gpuType: recorded, gpuCount: {}", gpus) : "");
}

std::string ZoneList(const std::set<std::string>& zones) {
  std::string list;
  for (const std::string& zone : zones) list += (list.empty() ? "" : ", ") + Quoted(zone);
  return list;
}

std::string AsConfig(const std::string& flavors, const std::string& groups,
                     const std::set<std::string>& zones, uint64_t seed) {
  return fmt::format(
      "clusterTag: model\ncloud:\n  kind: simulated\n  bootTime: 60s\n  seed: {}\n  zones: [{}]\n"
      "  flavors:\n{}{}{}",
      seed % 1'000'000'000, ZoneList(zones), flavors, groups.empty() ? "" : "nodeGroups:\n",
      groups);
}

}  // namespace

std::string GroupsAsConfig(const Demand& demand, uint64_t seed) {
  std::string flavors;
  std::string groups;
  std::set<std::string> zones;
  for (const RecordedGroup& group : demand.groups) {
    if (!group.node) continue;
    const model::Node& node = *group.node;
    zones.insert(ZoneOf(node));
    flavors += fmt::format("    - {{name: {}, {}}}\n", Quoted("flavor-" + group.id), FlavorOf(group));
    std::string labels;
    for (const auto& [key, value] : node.metadata.labels) {
      const bool own = key == "kubernetes.io/hostname" || key == "kubernetes.io/arch" ||
                       key == "kubernetes.io/os" || key.starts_with("topology.kubernetes.io/") ||
                       key == "node.kubernetes.io/instance-type";
      if (own) continue;
      labels += (labels.empty() ? "" : ", ") + Quoted(key) + ": " + Quoted(value);
    }
    groups += fmt::format(
        "  - {{name: {}, minSize: {}, maxSize: {}, flavor: {}, zone: {}, maxPods: {}, labels: "
        "{{{}}}, taints: [{}]}}\n",
        Quoted(group.id), group.min, std::max(group.min, group.max), Quoted("flavor-" + group.id),
        Quoted(ZoneOf(node)), std::max<int64_t>(1, AmountOf(node, "pods")), labels,
        TaintsOf(node));
  }
  return AsConfig(flavors, groups, zones, seed);
}

std::string FlavorsAsConfig(const Demand& demand, uint64_t seed) {
  struct Sold {
    std::string what;
    std::set<std::string> zones;
  };
  std::map<std::string, Sold> sold;
  std::set<std::string> zones;
  for (const RecordedGroup& group : demand.groups) {
    if (!group.node) continue;
    const std::string what = FlavorOf(group);
    std::string name =
        LabelOf(*group.node, "node.kubernetes.io/instance-type", "flavor-" + group.id);
    // The same name for something else: as some price by group.
    if (const auto same = sold.find(name); same != sold.end() && same->second.what != what)
      name += "-" + group.id;
    Sold& flavor = sold[name];
    flavor.what = what;
    flavor.zones.insert(ZoneOf(*group.node));
    zones.insert(ZoneOf(*group.node));
  }
  std::string flavors;
  for (const auto& [name, flavor] : sold) {
    flavors += fmt::format("    - {{name: {}, zones: [{}], {}}}\n", Quoted(name),
                           ZoneList(flavor.zones), flavor.what);
  }
  return AsConfig(flavors, "", zones, seed);
}

}  // namespace coppice::rehearse
