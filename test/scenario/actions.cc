// What a scenario puts on its stage and does to it.

#include <algorithm>

#include "base/go_duration.h"
#include "base/strings.h"
#include "sim/load.h"
#include "test/scenario/stage.h"

namespace coppice::scenario {
namespace {

// "k=v", "k", or "k=v:Effect".
model::Taint TaintFrom(const std::string& text) {
  model::Taint taint;
  const size_t colon = text.rfind(':');
  taint.effect = colon == std::string::npos ? "NoSchedule" : text.substr(colon + 1);
  const std::string pair = text.substr(0, colon);
  const size_t equal = pair.find('=');
  taint.key = pair.substr(0, equal);
  if (equal != std::string::npos) taint.value = pair.substr(equal + 1);
  return taint;
}

std::pair<std::string, std::string> PairFrom(const std::string& text) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos) return {text, ""};
  return {text.substr(0, equal), text.substr(equal + 1)};
}

std::string WorkloadOf(const model::Pod& pod) {
  const std::string* name = pod.metadata.labels.Find("app");
  return name == nullptr ? "" : *name;
}

}  // namespace

Status Stage::AddGroup(const Line& line) {
  cloud::GroupConfig group;
  group.name = line.word(1);
  group.min_size = line.Int("min", 0);
  group.max_size = line.Int("max", 10);
  group.flavor = line.Get("flavor", "flavor-" + group.name);
  group.zone = line.Get("zone", "zone1");
  group.eviction_hard.emplace();  // nothing: allocatable is what the file says
  for (const std::string& label : line.All("label")) group.labels.insert(PairFrom(label));
  for (const std::string& text : line.All("taint")) {
    const model::Taint taint = TaintFrom(text);
    group.taints.push_back({taint.key, taint.value, taint.effect});
  }
  if (line.Find("unneeded"))
    group.options.scale_down_unneeded_time = TRY(line.Time("unneeded", {}));
  if (line.Find("provision"))
    group.options.max_node_provision_time = TRY(line.Time("provision", {}));
  if (line.Get("atomic") == "yes") {
    group.options.zero_or_max_node_scaling = true;
  }
  cloud::Flavor flavor;
  flavor.name = group.flavor;
  flavor.cpu_millis = TRY(model::Quantity::Parse(line.Get("cpu", "4"))).MilliValue();
  flavor.memory_bytes = TRY(model::Quantity::Parse(line.Get("memory", "16Gi"))).Value();
  flavor.disk_bytes = 100LL << 30;
  flavor.zones = {group.zone};
  if (line.Find("price")) flavor.price_per_hour = std::atof(line.Get("price").c_str());
  if (line.Find("gpu")) {
    flavor.gpu_type = "fake";
    flavor.gpu_count = line.Int("gpu", 1);
  }
  flavors_.push_back(std::move(flavor));
  groups_.push_back(std::move(group));
  return Status::Ok();
}

// nodes NAME... group=G [age=1h]
Status Stage::AddNodes(const Line& line) {
  const Duration age = TRY(line.Time("age", std::chrono::hours(1)));
  for (size_t i = 1; i < line.words.size(); ++i) {
    if (line.Find("group")) {
      TRY(model_->AddNode(line.Get("group"), line.words[i], clock_.Now() - age));
      continue;
    }
    // A node of nobody: not from any group.
    model::Node node;
    node.metadata.name = line.words[i];
    node.metadata.creation_timestamp = model::Time{clock_.Now() - age};
    node.metadata.labels["kubernetes.io/hostname"] = line.words[i];
    node.spec.provider_id = "elsewhere://" + line.words[i];
    node.status.capacity["cpu"] = TRY(model::Quantity::Parse(line.Get("cpu", "4")));
    node.status.capacity["memory"] = TRY(model::Quantity::Parse(line.Get("memory", "16Gi")));
    node.status.capacity["pods"] = TRY(model::Quantity::Parse("110"));
    node.status.allocatable = node.status.capacity;
    node.status.conditions.push_back({.type = "Ready",
                                      .status = "True",
                                      .last_transition_time = model::Time{clock_.Now() - age}});
    model_->cluster.UpsertNode(std::move(node));
  }
  return Status::Ok();
}

Result<model::Pod> Stage::PodFrom(const Line& line) const {
  model::Pod pod = sim::PodAsking(line.Get("cpu", "100m"), line.Get("memory", "64Mi"));
  if (line.Find("gpu")) {
    auto& resources = pod.spec.containers[0].resources;
    resources.requests["nvidia.com/gpu"] = TRY(model::Quantity::Parse(line.Get("gpu")));
    resources.limits = resources.requests;
  }
  for (const std::string& text : line.All("label")) {
    const auto [key, value] = PairFrom(text);
    pod.metadata.labels[key] = value;
  }
  for (const std::string& text : line.All("annotation")) {
    const auto [key, value] = PairFrom(text);
    pod.metadata.annotations[key] = value;
  }
  if (const std::string* safe = line.Find("safe-to-evict"))
    pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = *safe;
  for (const std::string& text : line.All("select")) {
    const auto [key, value] = PairFrom(text);
    pod.spec.node_selector[key] = value;
  }
  for (const std::string& key : line.All("tolerate"))
    pod.spec.tolerations.push_back({.key = key == "everything" ? "" : key, .operator_ = "Exists"});
  if (line.Find("priority")) pod.spec.priority = line.Int("priority", 0);
  if (line.Find("scheduler")) pod.spec.scheduler_name = line.Get("scheduler");
  if (line.Find("grace")) {
    const Duration grace = TRY(line.Time("grace", {}));
    pod.spec.termination_grace_period_seconds = grace / std::chrono::seconds(1);
  }
  if (line.Find("age")) {
    const Duration age = TRY(line.Time("age", {}));
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - age};
  }
  const std::string volume = line.Get("volume");
  if (volume == "hostPath") pod.spec.volumes.push_back({.name = "data", .host_path = "/data"});
  if (volume == "projected")
    pod.spec.volumes.push_back({.name = "kube-api-access", .projected = true});
  if (volume == "emptyDir" || volume == "memory") {
    model::Volume scratch{.name = "data"};
    scratch.empty_dir.emplace();
    if (volume == "memory") scratch.empty_dir->medium = "Memory";
    pod.spec.volumes.push_back(std::move(scratch));
  }
  model::LabelSelector own;
  own.match_labels["app"] = line.word(1);
  if (line.Find("counts")) {  // pods of other workloads, too
    const auto [key, value] = PairFrom(line.Get("counts"));
    own.match_labels = {};
    own.match_labels[key] = value;
  }
  if (line.Get("apart") == "host") {
    model::PodAffinityTerm term;
    term.label_selector = own;
    term.topology_key = "kubernetes.io/hostname";
    pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(std::move(term));
  }
  if (const std::string* spread = line.Find("spread")) {
    model::TopologySpreadConstraint constraint;
    constraint.max_skew = line.Int("skew", 1);
    constraint.topology_key =
        *spread == "zone" ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname";
    constraint.when_unsatisfiable = "DoNotSchedule";
    constraint.label_selector = own;
    pod.spec.topology_spread_constraints.push_back(std::move(constraint));
  }
  return pod;
}

// pods NAME [count=N] [on=NODE*N,NODE] [kind=...] ...
Status Stage::AddPods(const Line& line) {
  sim::WorkloadSpec spec;
  spec.name = line.word(1);
  spec.namespace_ = line.Get("namespace", "default");
  spec.kind = line.Get("kind", "ReplicaSet");
  if (spec.kind == "none") spec.kind.clear();
  spec.pod = TRY(PodFrom(line));
  spec.runs_for = TRY(line.Time("runs", {}));
  spec.ends_in = line.Get("ends") == "never" ? Duration::max()
                                             : TRY(line.Time("ends", std::chrono::seconds(5)));
  if (line.Find("budget-max"))
    spec.budget_max = model::IntOrString{.number = line.Int("budget-max", 0)};
  if (line.Find("budget-min"))
    spec.budget_min = model::IntOrString{.number = line.Int("budget-min", 0)};
  const std::string on = line.Get("on");
  spec.replicas = spec.kind == "DaemonSet" || !on.empty() ? 0 : line.Int("count", 1);
  if (spec.kind == "DaemonSet") spec.pod.spec.tolerations = {{.operator_ = "Exists"}};
  model_->controllers.Add(std::move(spec));
  for (const std::string& place : on.empty() ? std::vector<std::string>{} : Split(on, ',')) {
    const size_t star = place.find('*');
    const int count = star == std::string::npos ? 1 : std::atoi(place.c_str() + star + 1);
    const std::string node = place.substr(0, star);
    if (model_->cluster.objects().FindNode(node) == nullptr) return NotFound("no node " + node);
    for (int i = 0; i < count; ++i) model_->controllers.Place(line.word(1), node);
  }
  return Status::Ok();
}

// node NAME WHAT [ARGUMENT]
Status Stage::ChangeNode(const Line& line) {
  const std::string name = line.word(1);
  const std::string what = line.word(2);
  const sim::NodePtr found = model_->cluster.objects().FindNode(name);
  if (found == nullptr) return NotFound("no node " + name);
  if (what == "ready" || what == "not-ready") {
    model_->machines.SetReady(name, what == "ready");
    return Status::Ok();
  }
  if (what == "lost") {
    model_->cloud.Vanish(found->spec.provider_id);
    return Status::Ok();
  }
  model::Node node = *found;
  if (what == "cordoned" || what == "uncordoned") {
    node.spec.unschedulable = what == "cordoned";
  } else if (line.Find("annotation")) {
    const auto [key, value] = PairFrom(line.Get("annotation"));
    node.metadata.annotations[key] = value;
  } else if (line.Find("no-annotation")) {
    node.metadata.annotations.erase(line.Get("no-annotation"));
  } else if (line.Find("taint")) {
    node.spec.taints.push_back(TaintFrom(line.Get("taint")));
  } else if (line.Find("no-taint")) {
    std::erase_if(node.spec.taints, [&](const auto& t) { return t.key == line.Get("no-taint"); });
  } else if (what == "without-gpus") {
    node.status.allocatable.erase("nvidia.com/gpu");
  } else {
    return InvalidArgument("what is to become of node " + name + "?");
  }
  model_->cluster.UpsertNode(std::move(node));
  return Status::Ok();
}

// cloud WHAT [GROUP] ["TEXT"]
Status Stage::TellCloud(const Line& line) {
  const std::string what = line.word(1);
  const std::string group = line.word(2);
  const std::string text = line.word(3).empty() ? "the cloud says no" : line.word(3);
  if (what == "refuses") {
    refuse_[group] = FailedPrecondition(text);
  } else if (what == "sold-out") {
    refuse_[group] = ResourceExhausted(text);
  } else if (what == "accepts") {
    refuse_.erase(group);
    fail_boots_.erase(group);
    never_join_.erase(group);
    joins_left_.erase(group);
    never_ready_.erase(group);
  } else if (what == "fails-boots") {
    fail_boots_.insert(group);
  } else if (what == "fails-boots-of") {  // so many of the next ones
    bad_boots_left_[group] = std::atoi(line.word(3).c_str());
  } else if (what == "never-joins") {
    never_join_.insert(group);
  } else if (what == "joins-only") {
    joins_left_[group] = std::atoi(line.word(3).c_str());
  } else if (what == "hides-flavors") {
    hide_flavors_ = true;
  } else if (what == "never-ready") {
    never_ready_.insert(group);
  } else if (what == "registers-with") {
    registers_with_[group] = line.word(3);
  } else if (what == "away" || what == "back") {
    away_ = what == "away";
  } else if (what == "keeps-machines") {
    keep_machines_ = FailedPrecondition("the cloud keeps its machines");
  } else if (what == "deletes-machines") {
    keep_machines_ = Status::Ok();
  } else if (what == "gains") {  // somebody else orders one: cloud gains GROUP NAME
    const auto config = std::ranges::find(groups_, group, &cloud::GroupConfig::name);
    if (config == groups_.end()) return NotFound("no group " + group);
    cloud::MachineSpec spec{.name = line.word(3), .flavor = config->flavor, .zone = config->zone};
    spec.tags = {{cloud::kGroupTag, group}, {cloud::kClusterTag, sim::kClusterName}};
    return model_->cloud.Plant(spec).status();
  } else {
    return InvalidArgument("what is the cloud to do?");
  }
  return Status::Ok();
}

Status Stage::TellEvictions(const Line& line) {
  const std::string what = line.word(1);
  const std::string of = line.word(2);
  if (what == "refused") {
    refuse_evictions_.insert(of);
  } else if (what == "hang") {
    hang_.insert(of);
  } else if (what == "work") {
    refuse_evictions_.erase(of);
    hang_.erase(of);
  } else {
    return InvalidArgument("evictions refused|hang|work NAME");
  }
  return Status::Ok();
}

void Stage::Hook() {
  const auto group_of = [](const cloud::Tags& tags) {
    const auto tag = tags.find(cloud::kGroupTag);
    return tag == tags.end() ? std::string() : tag->second;
  };
  auto& cloud = model_->cloud.hooks;
  cloud.before_list = [this]() -> Status {
    return away_ ? Unavailable("the cloud is away") : Status::Ok();
  };
  cloud.before_create = [this, group_of](const cloud::MachineSpec& spec) -> Status {
    const auto no = refuse_.find(group_of(spec.tags));
    return no == refuse_.end() ? Status::Ok() : no->second;
  };
  cloud.fails_to_boot = [this, group_of](const cloud::MachineSpec& spec) {
    const auto bad = bad_boots_left_.find(group_of(spec.tags));
    if (bad != bad_boots_left_.end() && bad->second-- > 0) return true;
    return fail_boots_.contains(group_of(spec.tags));
  };
  cloud.before_delete = [this](const cloud::ProviderId&) -> Status { return keep_machines_; };
  cloud.deleted = [this](const cloud::ProviderId& id) { deleted_machines_.insert(id); };
  model_->machines.joins_after =
      [this, group_of](const cloud::Machine& machine) -> std::optional<Duration> {
    if (never_join_.contains(group_of(machine.tags))) return std::nullopt;
    const auto left = joins_left_.find(group_of(machine.tags));
    if (left != joins_left_.end() && left->second-- <= 0) return std::nullopt;
    return times_.joins_after;
  };
  model_->machines.ready_after =
      [this, group_of](const cloud::Machine& machine) -> std::optional<Duration> {
    if (never_ready_.contains(group_of(machine.tags))) return std::nullopt;
    return times_.ready_after;
  };
  model_->machines.dress = [this](model::Node& node) {
    for (const auto& [group, taint] : registers_with_) {
      if (node.metadata.name.starts_with(group + "-")) node.spec.taints.push_back(TaintFrom(taint));
    }
  };
  auto& api = model_->api.hooks;
  api.before_change = [this](const std::string&) -> Status {
    return refuse_changes_ ? Unavailable("the API server refuses") : Status::Ok();
  };
  api.before_evict = [this](const model::Pod& pod) -> Status {
    return refuse_evictions_.contains(WorkloadOf(pod)) ? ResourceExhausted("not now")
                                                       : Status::Ok();
  };
  api.hangs = [this](const model::Pod& pod) { return hang_.contains(WorkloadOf(pod)); };
  api.evicted = [this](const model::Pod& pod) { evicted_.insert(WorkloadOf(pod)); };
  api.event = [this](const cluster::Event& event) { events_.push_back(event); };
}

}  // namespace coppice::scenario
