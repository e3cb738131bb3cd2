#include "rehearse/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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
  } else if (const auto at = TimeAt(line, "at")) {
    now_ = std::max(now_, *at);
    if (!started_) demand_.start = now_;
    started_ = true;
    demand_.end = now_;
  } else if (line.contains("shape") && line.contains("pod")) {
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
  } else if (const std::string added = TextAt(line, "add"); !added.empty()) {
    const auto shape = shape_ids_.find(NumberAt(line, "shape", -1));
    if (in_all_) named_[added] = true;
    if (shape == shape_ids_.end()) {
      ++unreadable_;
      return;
    }
    if (in_all_ && !first_all_ && alive_.contains(added)) return;  // known from the file before
    Done(added);
    PodLife life{.name = added, .shape = shape->second, .node = TextAt(line, "node")};
    life.created = std::clamp(TimeAt(line, "created").value_or(now_), demand_.start, now_);
    if (!life.node.empty()) life.bound = now_;
    alive_[added] = demand_.pods.size();
    demand_.pods.push_back(std::move(life));
  } else if (const std::string bound = TextAt(line, "bind"); !bound.empty()) {
    const auto found = alive_.find(bound);
    if (found == alive_.end()) return;
    PodLife& life = demand_.pods[found->second];
    if (!life.bound) life.bound = now_;
    if (life.node.empty()) life.node = TextAt(line, "node");
  } else if (const std::string done = TextAt(line, "done"); !done.empty()) {
    Done(done);
  } else if (const std::string group = TextAt(line, "group");
             !group.empty() && line.contains("max")) {
    const auto [at_group, fresh] = group_at_.try_emplace(group, demand_.groups.size());
    if (fresh) demand_.groups.emplace_back();
    RecordedGroup& recorded = demand_.groups[at_group->second];
    recorded.id = group;
    recorded.min = NumberAt(line, "min", 0);
    recorded.max = NumberAt(line, "max", 0);
    const auto price = line.find("price");
    if (price != line.end() && price->is_number()) recorded.price = price->get<double>();
    if (const auto node = line.find("template"); node != line.end()) {
      auto read = wire::FromJson<model::Node>(node->dump());
      if (read.ok()) recorded.node = *std::move(read);
    }
  } else if (const std::string node = TextAt(line, "node"); !node.empty()) {
    if (first_all_) demand_.start_nodes[node] = TextAt(line, "group");
  } else if (line.contains("all")) {
    if (!first_all_) {
      std::vector<std::string> missed;
      for (const auto& [name, at_pod] : alive_) {
        if (!named_.contains(name)) missed.push_back(name);
      }
      for (const std::string& name : missed) Done(name);
    }
    in_all_ = first_all_ = false;
  }
}

Result<Demand> DemandReader::Finish() && {
  if (!started_) return InvalidArgument("the log says nothing");
  if (unreadable_ > 0) {
    demand_.notes.push_back(fmt::format("{} lines could not be read", unreadable_));
  }
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

std::string GroupsAsConfig(const Demand& demand, uint64_t seed) {
  // What the kubelet keeps by default is added, so that the template comes out as recorded.
  constexpr int64_t kEviction = int64_t{100} << 20;
  std::string flavors;
  std::string groups;
  std::map<std::string, bool> zones;
  for (const RecordedGroup& group : demand.groups) {
    if (!group.node) continue;
    const model::Node& node = *group.node;
    const auto amount = [&](const char* resource, bool milli) -> int64_t {
      const auto* found = node.status.allocatable.Find(resource);
      return found == nullptr ? 0 : milli ? found->MilliValue() : found->Value();
    };
    const std::string* zone = node.metadata.labels.Find("topology.kubernetes.io/zone");
    const std::string* arch = node.metadata.labels.Find("kubernetes.io/arch");
    const std::string zone_name = zone == nullptr ? "here" : *zone;
    zones[zone_name] = true;
    const int64_t gpus = amount("nvidia.com/gpu", false);
    flavors += fmt::format(
        "    - {{name: {}, cpu: {}m, memory: {}, architecture: {}, pricePerHour: {}{}}}\n",
        Quoted("flavor-" + group.id), amount("cpu", true), amount("memory", false) + kEviction,
        arch == nullptr ? "amd64" : *arch, group.price.value_or(0),
        gpus > 0 ? fmt::format(", gpuType: recorded, gpuCount: {}", gpus) : "");
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
        "{{{}}}, "
        "taints: [{}]}}\n",
        Quoted(group.id), group.min, std::max(group.min, group.max), Quoted("flavor-" + group.id),
        Quoted(zone_name), std::max<int64_t>(1, amount("pods", false)), labels, TaintsOf(node));
  }
  std::string zone_list;
  for (const auto& [zone, there] : zones)
    zone_list += (zone_list.empty() ? "" : ", ") + Quoted(zone);
  return fmt::format(
      "clusterTag: model\ncloud:\n  kind: simulated\n  bootTime: 60s\n  seed: {}\n  zones: [{}]\n"
      "  flavors:\n{}nodeGroups:\n{}",
      seed % 1'000'000'000, zone_list, flavors, groups);
}

}  // namespace coppice::rehearse
