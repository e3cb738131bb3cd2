#include "rehearse/recorder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/batch.h"
#include "model/node_pool.h"
#include "model/requirement.h"
#include "rehearse/log_lines.h"
#include "wire/wire.h"

namespace coppice::rehearse {
namespace {

// A catalog has hundreds of types, whose prices change within hours: it is not read at every look.
constexpr uint64_t kLooksPerCatalog = 60;

}  // namespace

void Recorder::Forget() {
  pods_.BeginFile();
  nodes_.clear();
  node_set_.reset();
  groups_.clear();
  budgets_ = {};
  pools_ = {};
  gangs_ = {};
  queues_ = {};
  priorities_ = {};
  types_.clear();
}

void Recorder::LookAtNodes(cloud::NodeGroups* groups, std::string& lines) {
  if (node_set_ == world_.node_set_version()) return;
  node_set_ = world_.node_set_version();
  world_.ForEachNode([&](const cluster::NodePtr& node) {
    const auto [seen, fresh] = nodes_.try_emplace(node->metadata.name);
    seen->second = look_;
    if (!fresh) return;
    Put(lines, "node", node->metadata.name, true);
    if (groups != nullptr) {
      const auto group = groups->GroupOf({node->spec.provider_id, node->metadata.name});
      if (group.ok() && group->has_value()) Put(lines, "group", **group);
    }
    const std::string* pool = node->metadata.labels.Find(model::kNodePoolLabel);
    if (pool != nullptr) Put(lines, "pool", *pool);
    lines += "}\n";
  });
  std::erase_if(nodes_, [&](const auto& item) {
    if (item.second == look_) return false;
    Put(lines, "gone", item.first, true);
    lines += "}\n";
    return true;
  });
}

void Recorder::LookAtGroups(cloud::NodeGroups& groups, TimePoint now, std::string& lines) {
  for (const cloud::GroupInfo& info : groups.Groups()) {
    std::string line;
    Put(line, "group", info.id, true);
    PutRaw(line, "min", std::to_string(info.min_size));
    PutRaw(line, "max", std::to_string(info.max_size));
    if (const auto target = groups.TargetSize(info.id); target.ok()) {
      PutRaw(line, "target", std::to_string(*target));
    }
    if (const auto node = groups.Template(info.id); node.ok() && *node != nullptr) {
      std::map<std::string, std::string> labels;
      for (const auto& [key, value] : (*node)->metadata.labels) labels[key] = value;
      const auto price = groups.NodePrice({(*node)->spec.provider_id, (*node)->metadata.name},
                                          labels, now, now + std::chrono::hours(1));
      if (price.ok()) PutRaw(line, "price", std::to_string(*price));
      Template& known = templates_[info.id];
      if (known.node != *node) {
        model::Node bare = **node;
        bare.metadata.annotations.clear();
        bare.metadata.creation_timestamp.reset();
        bare.status.conditions.clear();
        known = {*node, wire::ToJson(bare)};
      }
      PutRaw(line, "template", known.json);
    }
    line += "}\n";
    std::string& written = groups_[info.id];
    if (written == line) continue;
    lines += line;
    written = std::move(line);
  }
}

namespace {

// A line for each object that is new or another, or gone. Nothing is made JSON of but objects that
// have changed since they were looked at last.
template <class T, class Bare>
void PutChanges(std::string_view key, std::string_view value_key,
                const cluster::ObjectStore<T>& store, Bare bare, KeptObjects& kept,
                std::string& lines) {
  if (kept.version == store.version()) return;
  kept.version = store.version();
  for (auto& [name, known] : kept.by_name) known.there = false;
  store.ForEachByName([&](const std::shared_ptr<const T>& object) {
    const model::ObjectMeta& meta = object->metadata;
    KeptObjects::Kept& known =
        kept.by_name[meta.namespace_.empty() ? meta.name : meta.namespace_ + "/" + meta.name];
    known.there = true;
    if (known.object == object) return;
    known.object = object;
    std::string json = wire::ToJson(bare(*object));
    if (known.json == json) return;
    known.json = std::move(json);
    Put(lines, key, meta.namespace_.empty() ? meta.name : meta.namespace_ + "/" + meta.name, true);
    PutRaw(lines, value_key, known.json);
    lines += "}\n";
  });
  std::erase_if(kept.by_name, [&](const auto& item) {
    if (item.second.there) return false;
    Put(lines, key, item.first, true);
    lines += "}\n";
    return true;
  });
}

std::string TypeLine(const cloud::InstanceType& type) {
  const model::ResourceList kept = type.overhead.Total();
  const auto left = [&](const char* resource, bool milli) {
    const auto amount = [&](const model::ResourceList& list) -> int64_t {
      const auto* found = list.Find(resource);
      return found == nullptr ? 0 : milli ? found->MilliValue() : found->Value();
    };
    return std::to_string(std::max<int64_t>(0, amount(type.capacity) - amount(kept)));
  };
  std::string line;
  Put(line, "type", type.name, true);
  PutRaw(line, "cpu", left("cpu", true));
  PutRaw(line, "memory", left("memory", false));
  PutRaw(line, "gpus", left("nvidia.com/gpu", false));
  if (type.requirements.Has(model::kArchLabel))
    Put(line, "arch", type.requirements.Get(model::kArchLabel).Any());
  std::set<std::string> zones;
  std::map<std::string, double> cheapest;  // by capacity type
  for (const cloud::Offering& offering : type.offerings) {
    if (const std::string zone = offering.Zone(); !zone.empty()) zones.insert(zone);
    const auto [price, fresh] = cheapest.try_emplace(offering.CapacityType(), offering.price);
    if (!fresh) price->second = std::min(price->second, offering.price);
  }
  std::string list;
  for (const std::string& zone : zones) {
    list += list.empty() ? "[" : ",";
    AppendJsonString(list, zone);
  }
  if (!list.empty()) PutRaw(line, "zones", list + "]");
  for (const auto& [way, key] : {std::pair("on-demand", "price"), std::pair("spot", "spot")}) {
    if (cheapest.contains(way)) PutRaw(line, key, std::to_string(cheapest[way]));
  }
  return line + "}\n";
}

}  // namespace

void Recorder::LookAtBudgets(std::string& lines) {
  const auto bare = [](const model::PodDisruptionBudget& budget) {
    model::PodDisruptionBudget made;
    made.spec = budget.spec;
    return made;
  };
  PutChanges("budget", "pdb", world_.objects<model::PodDisruptionBudget>(), bare, budgets_, lines);
}

void Recorder::LookAtPools(std::string& lines) {
  const auto bare = [](const model::NodePool& pool) {
    model::NodePool made;
    made.spec = pool.spec;
    made.spec.template_.annotations.clear();
    return made;
  };
  PutChanges("nodepool", "object", world_.objects<model::NodePool>(), bare, pools_, lines);
}

// Groups of pods that start together, and what decides among them. Nothing where no batch scheduler
// is looked after.
void Recorder::LookAtGangs(std::string& lines) {
  const auto group = [](const model::PodGroup& one) {
    model::PodGroup made;
    made.spec = one.spec;
    return made;
  };
  const auto queue = [](const model::Queue& one) {
    model::Queue made;
    made.spec = one.spec;
    return made;
  };
  const auto priority = [](const model::PriorityClass& one) {
    model::PriorityClass made;
    made.value = one.value;
    made.preemption_policy = one.preemption_policy;
    return made;
  };
  PutChanges("gang", "object", world_.objects<model::PodGroup>(), group, gangs_, lines);
  PutChanges("queue", "object", world_.objects<model::Queue>(), queue, queues_, lines);
  PutChanges("priority", "object", world_.objects<model::PriorityClass>(), priority, priorities_,
             lines);
}

void Recorder::LookAtTypes(const cloud::NodeClaims& claims, std::string& lines) {
  world_.objects<model::NodePool>().ForEach([&](const auto& pool) {
    const auto types = claims.InstanceTypesFor(*pool, {});
    if (!types.ok()) return;
    for (const cloud::InstanceType& type : **types) {
      std::string line = TypeLine(type);
      std::string& written = types_[type.name];
      if (written == line) continue;
      lines += line;
      written = std::move(line);
    }
  });
}

void Recorder::Look(cloud::NodeGroups* groups, TimePoint now, const cloud::NodeClaims* claims) {
  ++look_;
  // A file that is large before it has everything gets the rest all the same, or none ever would.
  const bool first = writer_->WantsSnapshot() && (whole_ || lost_);
  std::string lines;
  if (first) {
    Forget();
    whole_ = false;
    lines += "{\"coppice-log\":1}\n";
  }
  lines += "{\"at\":" + Milliseconds(now) + "}\n";
  const size_t before = lines.size();
  if (groups != nullptr) LookAtGroups(*groups, now, lines);
  LookAtNodes(groups, lines);
  LookAtBudgets(lines);
  LookAtPools(lines);
  LookAtGangs(lines);
  if (claims != nullptr && (types_.empty() || look_ % kLooksPerCatalog == 0))
    LookAtTypes(*claims, lines);
  pods_.Look(lines);
  if (!whole_ && pods_.whole()) {
    lines += "{\"all\":true}\n";
    whole_ = true;
  }
  if (lines.size() == before) return;
  lost_ = !writer_->Write(std::move(lines), first, now);
}

Result<std::unique_ptr<Recorder>> OpenRecorder(const std::string& directory,
                                               const cluster::World& world, Workers& workers,
                                               const Log& log) {
  if (directory.empty()) return std::unique_ptr<Recorder>();
  return std::make_unique<Recorder>(
      TRY(LogWriter::Open({.directory = directory}, workers, log).Context("--record")), world);
}

Task<void> Record(std::string directory, Recorded what, Executor& executor, Workers& workers,
                  const Log& log, std::function<void()> looked) {
  const auto recorder = OpenRecorder(directory, what.world, workers, log);
  if (!recorder.ok()) log.Error("nothing is recorded", {{"error", recorder.status()}});
  while (recorder.ok() && *recorder != nullptr) {
    (*recorder)->Look(what.groups, executor.clock().Now(), what.claims);
    looked();
    co_await executor.Sleep((*recorder)->whole() ? kLookEvery : kLookSoon);
  }
}

}  // namespace coppice::rehearse
