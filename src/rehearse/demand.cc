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

// Of amounts and prices: 0 or more, and no more than anybody has.
double AmountAt(const Json& line, const char* key) {
  constexpr double kMost = 1e15;
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return 0;
  return std::clamp(found->get<double>(), 0.0, kMost);
}

int NumberAt(const Json& line, const char* key, int otherwise) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(found->get<int64_t>(), 0, 1'000'000));
}

}  // namespace

void DemandReader::Done(const std::string& name) {
  const auto found = alive_.find(name);
  if (found == alive_.end()) return;
  demand_.pods[found->second.pod].done = now_;
  alive_.erase(found);
}

void DemandReader::Bound(size_t pod, std::string node) {
  PodLife& life = demand_.pods[pod];
  if (!life.bound) life.bound = now_;
  if (life.node.empty()) life.node = std::move(node);
}

bool DemandReader::GoesOn(const std::string& name, const Json& line) {
  const auto known = alive_.find(name);
  if (known == alive_.end()) return false;
  const auto created = TimeAt(line, "created");
  if (created && known->second.created && *created != *known->second.created) return false;
  // Since the last look at the file before it may have got a node.
  if (std::string node = TextAt(line, "node"); !node.empty())
    Bound(known->second.pod, std::move(node));
  return true;
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
  if (in_all_ && !first_all_ && GoesOn(name, line)) return;
  Done(name);
  PodLife life{.name = name, .shape = shape->second, .node = TextAt(line, "node")};
  const auto created = TimeAt(line, "created");
  life.created = std::clamp(created.value_or(now_), demand_.start, now_);
  // Everything may take several looks: who was there before the first of them stood there then.
  const bool stood = in_all_ && first_all_ && life.created == demand_.start;
  if (!life.node.empty()) life.bound = stood ? demand_.start : now_;
  alive_[name] = {demand_.pods.size(), created};
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

void DemandReader::ReadGang(const std::string& name, const Json& line) {
  const auto object = line.find("object");
  const auto known = gangs_alive_.find(name);
  if (object == line.end()) {
    if (known == gangs_alive_.end()) return;
    demand_.gangs[known->second].done = now_;
    gangs_alive_.erase(known);
    return;
  }
  auto group = wire::FromJson<model::PodGroup>(object->dump());
  const size_t slash = name.find('/');
  if (!group.ok() || slash == std::string::npos) {
    ++unreadable_;
    return;
  }
  if (in_all_) gangs_named_.insert(name);
  group->metadata = {};
  group->metadata.namespace_ = name.substr(0, slash);
  group->metadata.name = name.substr(slash + 1);
  group->status = {};
  if (known != gangs_alive_.end()) {
    demand_.gangs[known->second].group = *std::move(group);
    return;
  }
  gangs_alive_[name] = demand_.gangs.size();
  demand_.gangs.push_back({.group = *std::move(group), .created = now_});
}

// Of an object without a namespace, as it is from here on.
template <class T>
void DemandReader::ReadNamed(const std::string& name, const Json& line,
                             std::map<std::string, T>& objects) {
  const auto object = line.find("object");
  if (object == line.end()) {
    objects.erase(name);
    return;
  }
  auto read = wire::FromJson<T>(object->dump());
  if (!read.ok()) {
    ++unreadable_;
    return;
  }
  T one = *std::move(read);
  one.metadata = {};
  one.metadata.name = name;
  if constexpr (requires { one.status; }) one.status = {};
  objects.insert_or_assign(name, std::move(one));
}

void DemandReader::ReadType(const std::string& name, const Json& line) {
  RecordedType type{.name = name,
                    .cpu_millis = static_cast<int64_t>(AmountAt(line, "cpu")),
                    .memory_bytes = static_cast<int64_t>(AmountAt(line, "memory")),
                    .gpus = static_cast<int64_t>(AmountAt(line, "gpus")),
                    .architecture = TextAt(line, "arch")};
  if (const auto zones = line.find("zones"); zones != line.end() && zones->is_array()) {
    for (const Json& zone : *zones) {
      if (zone.is_string()) type.zones.push_back(zone.get<std::string>());
    }
  }
  if (line.contains("price")) type.price = AmountAt(line, "price");
  if (line.contains("spot")) type.spot_price = AmountAt(line, "spot");
  types_.insert_or_assign(name, std::move(type));
}

void DemandReader::EndOfAll() {
  if (!first_all_) {
    std::vector<std::string> missed;
    for (const auto& [name, at_pod] : alive_) {
      if (!named_.contains(name)) missed.push_back(name);
    }
    for (const std::string& name : missed) Done(name);
    std::erase_if(gangs_alive_, [this](const auto& gang) {
      if (gangs_named_.contains(gang.first)) return false;
      demand_.gangs[gang.second].done = now_;
      return true;
    });
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
    gangs_named_.clear();
    budgets_.clear();
    pools_.clear();
    queues_.clear();
    priorities_.clear();
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
    Bound(found->second.pod, TextAt(line, "node"));
  } else if (const std::string done = TextAt(line, "done"); !done.empty()) {
    Done(done);
  } else if (const std::string budget = TextAt(line, "budget"); !budget.empty()) {
    ReadBudget(budget, line);
  } else if (const std::string pool = TextAt(line, "nodepool"); !pool.empty()) {
    ReadNamed(pool, line, pools_);
  } else if (const std::string gang = TextAt(line, "gang"); !gang.empty()) {
    ReadGang(gang, line);
  } else if (const std::string queue = TextAt(line, "queue"); !queue.empty()) {
    ReadNamed(queue, line, queues_);
  } else if (const std::string priority = TextAt(line, "priority"); !priority.empty()) {
    ReadNamed(priority, line, priorities_);
  } else if (const std::string type = TextAt(line, "type"); !type.empty()) {
    ReadType(type, line);
  } else if (const std::string node = TextAt(line, "node"); !node.empty()) {
    if (first_all_ && now_ == demand_.start)
      demand_.start_nodes[node] = {TextAt(line, "group"), TextAt(line, "pool")};
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
  for (auto& [name, pool] : pools_) demand_.pools.push_back(std::move(pool));
  for (auto& [name, queue] : queues_) demand_.queues.push_back(std::move(queue));
  for (auto& [name, one] : priorities_) demand_.priorities.push_back(std::move(one));
  for (auto& [name, type] : types_) demand_.types.push_back(std::move(type));
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

}  // namespace coppice::rehearse
