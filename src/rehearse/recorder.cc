#include "rehearse/recorder.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/strings.h"
#include "model/node_pool.h"
#include "model/requirement.h"
#include "wire/wire.h"

namespace coppice::rehearse {
namespace {

// Annotations that decisions read. Everything else may hold anything: kubectl keeps a whole
// manifest with its environment in one.
constexpr std::array<std::string_view, 5> kKept = {"cluster-autoscaler.kubernetes.io/",
                                                   "karpenter.sh/", "scheduling.k8s.io/",
                                                   "scheduling.volcano.sh/", "volcano.sh/"};
// A catalog has hundreds of types, whose prices change within hours: it is not read at every look.
constexpr uint64_t kLooksPerCatalog = 60;
// Labels that differ from pod to pod of one set.
constexpr std::array<std::string_view, 3> kOwnLabels = {"statefulset.kubernetes.io/pod-name",
                                                        "apps.kubernetes.io/pod-index",
                                                        "batch.kubernetes.io/job-completion-index"};

void Put(std::string& lines, std::string_view key, std::string_view text, bool first = false) {
  lines += first ? "{" : ",";
  AppendJsonString(lines, key);
  lines += ':';
  AppendJsonString(lines, text);
}

void PutRaw(std::string& lines, std::string_view key, std::string_view value, bool first = false) {
  lines += first ? "{" : ",";
  AppendJsonString(lines, key);
  lines += ':';
  lines += value;
}

std::string Milliseconds(TimePoint time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

bool Ended(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace

model::Pod Anonymous(const model::Pod& pod) {
  model::Pod shape;
  shape.metadata.namespace_ = pod.metadata.namespace_;
  for (const auto& [key, value] : pod.metadata.labels) {
    if (std::ranges::find(kOwnLabels, key) == kOwnLabels.end()) shape.metadata.labels[key] = value;
  }
  for (const auto& [key, value] : pod.metadata.annotations) {
    const auto kept = [&key](std::string_view prefix) { return key.starts_with(prefix); };
    if (std::ranges::any_of(kKept, kept)) shape.metadata.annotations[key] = value;
  }
  if (const model::OwnerReference* owner = model::ControllerOf(pod.metadata)) {
    shape.metadata.owner_references = {*owner};
  }
  shape.spec = pod.spec;
  shape.spec.node_name.clear();
  shape.spec.volumes.clear();
  return shape;
}

void Recorder::Forget() {
  shapes_.clear();
  pods_.clear();
  nodes_.clear();
  groups_.clear();
  budgets_.clear();
  pools_.clear();
  types_.clear();
}

int Recorder::ShapeOf(const model::Pod& pod, std::string& lines) {
  std::string json = wire::ToJson(Anonymous(pod));
  const auto [found, fresh] =
      shapes_.try_emplace(std::move(json), static_cast<int>(shapes_.size()));
  if (fresh) {
    PutRaw(lines, "shape", std::to_string(found->second), true);
    PutRaw(lines, "pod", found->first);
    lines += "}\n";
  }
  return found->second;
}

void Recorder::LookAtPods(std::string& lines) {
  for (const cluster::World::PodEntry* entry : world_.Pods()) {
    const model::Pod& pod = *entry->pod;
    std::string name = pod.metadata.namespace_ + "/" + pod.metadata.name;
    const auto found = pods_.find(name);
    const bool known = found != pods_.end() && found->second.pod->metadata.uid == pod.metadata.uid;
    if (found != pods_.end() && !known) {  // another pod of that name
      Put(lines, "done", name, true);
      lines += "}\n";
    }
    if (!known) {
      const int shape = Ended(pod) ? -1 : ShapeOf(pod, lines);
      Seen& seen = pods_[name];
      seen = {entry->pod, look_, !pod.spec.node_name.empty(), Ended(pod)};
      if (seen.done) continue;
      Put(lines, "add", name, true);
      PutRaw(lines, "shape", std::to_string(shape));
      if (pod.metadata.creation_timestamp) {
        PutRaw(lines, "created", Milliseconds(pod.metadata.creation_timestamp->at));
      }
      if (seen.bound) Put(lines, "node", pod.spec.node_name);
      lines += "}\n";
      continue;
    }
    Seen& seen = found->second;
    seen.look = look_;
    if (seen.pod == entry->pod) continue;
    seen.pod = entry->pod;
    if (!seen.bound && !pod.spec.node_name.empty()) {
      seen.bound = true;
      Put(lines, "bind", name, true);
      Put(lines, "node", pod.spec.node_name);
      lines += "}\n";
    }
    if (!seen.done && Ended(pod)) {
      seen.done = true;
      Put(lines, "done", name, true);
      lines += "}\n";
    }
  }
  for (auto it = pods_.begin(); it != pods_.end();) {
    if (it->second.look == look_) {
      ++it;
      continue;
    }
    if (!it->second.done) {
      Put(lines, "done", it->first, true);
      lines += "}\n";
    }
    it = pods_.erase(it);
  }
}

void Recorder::LookAtNodes(cloud::NodeGroups* groups, std::string& lines) {
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
      model::Node bare = **node;
      bare.metadata.annotations.clear();
      bare.metadata.creation_timestamp.reset();
      bare.status.conditions.clear();
      PutRaw(line, "template", wire::ToJson(bare));
    }
    line += "}\n";
    std::string& written = groups_[info.id];
    if (written == line) continue;
    lines += line;
    written = std::move(line);
  }
}

namespace {

// What is there now against what was written: a line for what is new or another, and for what is gone.
void PutChanges(std::string_view key, std::string_view value_key,
                std::map<std::string, std::string> now, std::map<std::string, std::string>& written,
                std::string& lines) {
  for (const auto& [name, json] : now) {
    const auto before = written.find(name);
    if (before != written.end() && before->second == json) continue;
    Put(lines, key, name, true);
    PutRaw(lines, value_key, json);
    lines += "}\n";
  }
  for (const auto& [name, json] : written) {
    if (now.contains(name)) continue;
    Put(lines, key, name, true);
    lines += "}\n";
  }
  written = std::move(now);
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
  std::map<std::string, std::string> now;
  world_.objects<model::PodDisruptionBudget>().ForEach([&](const auto& budget) {
    model::PodDisruptionBudget bare;
    bare.spec = budget->spec;
    now[budget->metadata.namespace_ + "/" + budget->metadata.name] = wire::ToJson(bare);
  });
  PutChanges("budget", "pdb", std::move(now), budgets_, lines);
}

void Recorder::LookAtPools(std::string& lines) {
  std::map<std::string, std::string> now;
  world_.objects<model::NodePool>().ForEach([&](const auto& pool) {
    model::NodePool bare;
    bare.spec = pool->spec;
    bare.spec.template_.annotations.clear();
    now[pool->metadata.name] = wire::ToJson(bare);
  });
  PutChanges("nodepool", "object", std::move(now), pools_, lines);
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
  const bool first = writer_->WantsSnapshot();
  std::string lines;
  if (first) {
    Forget();
    lines += "{\"coppice-log\":1}\n";
  }
  lines += "{\"at\":" + Milliseconds(now) + "}\n";
  const size_t before = lines.size();
  if (groups != nullptr) LookAtGroups(*groups, now, lines);
  LookAtNodes(groups, lines);
  LookAtBudgets(lines);
  LookAtPools(lines);
  if (claims != nullptr && (types_.empty() || look_ % kLooksPerCatalog == 0))
    LookAtTypes(*claims, lines);
  LookAtPods(lines);
  if (first) lines += "{\"all\":true}\n";
  if (lines.size() == before) return;
  (void)writer_->Write(std::move(lines), first, now);
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
    co_await executor.Sleep(kLookEvery);
  }
}

}  // namespace coppice::rehearse
