#include "whatif/gang_load.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "batch/controllers/job_objects.h"
#include "batch/controllers/volcano_job.h"
#include "batch/ended_pod.h"
#include "batch/task.h"
#include "model/batch.h"
#include "sim/load.h"

namespace coppice::whatif {
namespace {

constexpr char kGangLabel[] = "gang";
constexpr char kTask[] = "w";
constexpr Duration kLookEvery = std::chrono::seconds(20);
constexpr int64_t kBytesPerCore = 1LL << 30;
constexpr int64_t kTooManyMillis = 48'000;  // no machine has so many

struct Importance {
  const char* name;
  int32_t value;
};
constexpr Importance kImportances[] = {{"whenever", 10}, {"usual", 100}, {"urgent", 1000}};

std::string ClassOf(int32_t priority) {
  for (const Importance& one : kImportances) {
    if (one.value == priority) return one.name;
  }
  return "";
}

cluster::ObjectName GroupObject(const std::string& name) {
  constexpr model::Kind kind = model::kKind<model::PodGroup>;
  return {std::string(kind.api_version), std::string(kind.resource), GangLoad::kNamespace, name};
}

cluster::ObjectName JobObject(const std::string& name) {
  return {std::string(batch::kVolcanoJobApi), std::string(batch::kVolcanoJobResource),
          GangLoad::kNamespace, name};
}

bool IsEnding(const model::Pod& pod) { return pod.metadata.deletion_timestamp.has_value(); }

}  // namespace

GangLoad::GangLoad(sim::Model& model, GangLoadOptions options, uint64_t seed)
    : model_(model), options_(std::move(options)), rng_(seed) {
  // The disruption controller: what its budget says is true at every moment.
  const auto recount = [this](const model::Pod& pod) {
    if (const PlayedGang* gang = Of(pod); gang != nullptr && gang->min < gang->size)
      AddBudget(*gang);
  };
  sim::Cluster& cluster = model_.cluster;
  cluster.pod_bound = [recount, before = cluster.pod_bound](const model::Pod& pod) {
    if (before) before(pod);
    recount(pod);
  };
  cluster.pod_leaves = [recount, before = cluster.pod_leaves](const model::Pod& pod) {
    if (before) before(pod);
    recount(pod);
  };
}

Duration GangLoad::Until(double per_hour) {
  const double hours = -std::log(1 - rng_.Unit()) / per_hour;
  return std::chrono::seconds(1 + std::llround(hours * 3600));
}

void GangLoad::Start() {
  on_ = true;
  for (const GangQueue& queue : options_.queues) {
    model::Queue object;
    object.metadata.name = queue.name;
    object.spec.weight = queue.weight;
    object.spec.reclaimable = true;
    if (queue.most_cores > 0)
      object.spec.capability["cpu"] = model::Quantity::FromUnits(queue.most_cores);
    object.status.state = "Open";
    CHECK(model_.api.objects.Put(object).ok());
  }
  for (const Importance& one : kImportances) {
    model::PriorityClass object;
    object.metadata.name = one.name;
    object.value = one.value;
    model_.cluster.Upsert(std::move(object));
  }
  model_.agenda.In(Until(options_.gangs_per_hour), [this] { NextGang(); });
  model_.agenda.In(kLookEvery, [this] { Look(); });
}

// Sizes are even by their logarithm: there are as many gangs of 2 to 4 as of 128 to 256.
void GangLoad::NextGang() {
  if (!on_) return;
  model_.agenda.In(Until(options_.gangs_per_hour), [this] { NextGang(); });
  if (gangs_.size() >= options_.most_at_once) return;
  PlayedGang gang;
  gang.name = fmt::format("g{}", ++number_);
  const double spread = std::log2(static_cast<double>(options_.largest) / options_.smallest);
  gang.size = static_cast<int>(std::lround(options_.smallest * std::exp2(rng_.Unit() * spread)));
  const bool small = gang.size <= 32;
  gang.cpu_millis = (small ? 1000 : 500) << rng_.Below(2);
  gang.min = rng_.Chance(options_.elastic) ? (gang.size + 1) / 2 : gang.size;
  gang.priority = kImportances[rng_.Below(std::size(kImportances))].value;
  gang.as_job = rng_.Chance(options_.as_jobs);
  gang.asks = !options_.asks_for.empty() && gang.size <= 8;
  const auto longest = static_cast<uint64_t>(options_.longest / std::chrono::minutes(1));
  gang.runs_for = std::chrono::minutes(3 + rng_.Below(std::max<uint64_t>(1, longest - 2)));
  gang.hopeless = rng_.Chance(options_.hopeless);
  const GangQueue* queue = &options_.queues[rng_.Below(options_.queues.size())];
  const auto least = [&] { return gang.min * gang.cpu_millis; };
  if (gang.hopeless && queue->most_cores > 0) {
    gang.min = gang.size = static_cast<int>(queue->most_cores * 1000 / gang.cpu_millis) + 1;
  } else if (gang.hopeless) {
    gang.cpu_millis = kTooManyMillis;
    gang.min = gang.size = std::min(gang.size, 8);
  } else if (queue->most_cores > 0 && least() > queue->most_cores * 1000) {
    queue = &options_.queues.front();
    gang.hopeless = queue->most_cores > 0 && least() > queue->most_cores * 1000;
  }
  gang.queue = queue->name;
  Add(std::move(gang));
}

void GangLoad::Add(PlayedGang gang) {
  gang.came = model_.agenda.Now();
  const PlayedGang& kept = gangs_.emplace(gang.name, gang).first->second;
  if (kept.as_job) {
    AddJob(kept);
  } else {
    AddGroup(kept);
    MakeMissing(kept);
  }
  if (kept.min < kept.size) AddBudget(kept);
  if (came) came(kept);
}

void GangLoad::AddGroup(const PlayedGang& gang) {
  model::PodGroup group;
  group.metadata.namespace_ = kNamespace;
  group.metadata.name = gang.name;
  group.spec.min_member = gang.min;
  group.spec.queue = gang.queue;
  group.spec.priority_class_name = ClassOf(gang.priority);
  group.spec.min_resources.emplace()["cpu"] =
      model::Quantity::FromMillis(gang.cpu_millis * gang.min);
  CHECK(model_.api.objects.Put(group).ok());
}

void GangLoad::AddJob(const PlayedGang& gang) {
  const std::string json = fmt::format(
      R"({{"apiVersion":"{}","kind":"Job","metadata":{{"namespace":"{}","name":"{}"}},"spec":{{)"
      R"("minAvailable":{},"queue":"{}","priorityClassName":"{}","schedulerName":"volcano",)"
      R"("ttlSecondsAfterFinished":60,"maxRetry":1000,"tasks":[{{"name":"{}","replicas":{},)"
      R"("minAvailable":{},"template":{{"metadata":{{"labels":{{"{}":"{}"}}}},"spec":{{)"
      R"("priority":{},"containers":[{{"name":"main","resources":{{"requests":{{)"
      R"("cpu":"{}m","memory":"{}"}}{}}}}}]}}}}}}]}}}})",
      batch::kVolcanoJobApi, kNamespace, gang.name, gang.min, gang.queue, ClassOf(gang.priority),
      kTask, gang.size, gang.min, kGangLabel, gang.name, gang.priority, gang.cpu_millis,
      kBytesPerCore, gang.asks ? fmt::format(R"(,"limits":{{"{}":"0"}})", options_.asks_for) : "");
  CHECK(model_.api.objects.PutJson(JobObject(gang.name), json).ok());
}

void GangLoad::AddPod(const PlayedGang& gang, int index) {
  model::Pod pod = sim::PodAsking(fmt::format("{}m", gang.cpu_millis), "1Gi");
  pod.metadata.namespace_ = kNamespace;
  pod.metadata.name = fmt::format("{}-{}-{}", gang.name, kTask, index);
  pod.metadata.labels[kGangLabel] = gang.name;
  pod.metadata.annotations[std::string(batch::kGroupNameKey)] = gang.name;
  pod.metadata.annotations["volcano.sh/task-spec"] = kTask;
  pod.spec.scheduler_name = "volcano";
  pod.spec.priority = gang.priority;
  pod.spec.restart_policy = "Never";
  if (gang.asks) pod.spec.containers[0].resources.limits[options_.asks_for] = model::Quantity();
  model_.cluster.CreatePod(std::move(pod));
}

void GangLoad::AddBudget(const PlayedGang& gang) {
  model::PodDisruptionBudget budget;
  budget.metadata.namespace_ = kNamespace;
  budget.metadata.name = gang.name;
  budget.spec.min_available = model::IntOrString{.number = gang.min};
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels[kGangLabel] = gang.name;
  const int healthy = BoundOf(gang);
  budget.status.current_healthy = healthy;
  budget.status.desired_healthy = gang.min;
  budget.status.expected_pods = gang.size;
  budget.status.disruptions_allowed = std::max(0, healthy - gang.min);
  model_.cluster.Upsert(std::move(budget));
}

const PlayedGang* GangLoad::Of(const model::Pod& pod) const {
  const std::string* name = pod.metadata.labels.Find(kGangLabel);
  const auto found = name == nullptr ? gangs_.end() : gangs_.find(*name);
  return found == gangs_.end() ? nullptr : &found->second;
}

std::string GangLoad::GroupOf(const PlayedGang& gang) const {
  std::string name = gang.name;
  if (gang.as_job) {
    const auto* job = model_.cluster.objects().objects<batch::VolcanoJob>().Find(kNamespace, name);
    if (job != nullptr) name = batch::GroupNameOf(*job);
  }
  return std::string(kNamespace) + "/" + name;
}

std::vector<sim::PodPtr> GangLoad::PodsOf(const PlayedGang& gang) const {
  std::vector<sim::PodPtr> pods;
  for (int i = 0; i < gang.size; ++i) {
    sim::PodPtr pod =
        model_.cluster.objects().FindPod(kNamespace, fmt::format("{}-{}-{}", gang.name, kTask, i));
    if (pod != nullptr) pods.push_back(std::move(pod));
  }
  return pods;
}

int GangLoad::BoundOf(const PlayedGang& gang) const {
  const auto pods = PodsOf(gang);
  return static_cast<int>(std::ranges::count_if(pods, [](const sim::PodPtr& pod) {
    return !pod->spec.node_name.empty() && !IsEnding(*pod);
  }));
}

void GangLoad::MakeMissing(const PlayedGang& gang) {
  for (int i = 0; i < gang.size; ++i) {
    const std::string name = fmt::format("{}-{}-{}", gang.name, kTask, i);
    if (model_.cluster.objects().FindPod(kNamespace, name) == nullptr) AddPod(gang, i);
  }
}

void GangLoad::Look() {
  model_.agenda.In(kLookEvery, [this] { Look(); });
  std::vector<std::string> names;
  for (const auto& [name, gang] : gangs_) names.push_back(name);
  for (const std::string& name : names) LookAt(gangs_.at(name));
  Collect();
}

// What belongs to nobody any more goes, as the garbage collector has it: somebody may have been
// making pods for a gang when it went.
void GangLoad::Collect() {
  std::vector<sim::PodPtr> orphans;
  for (const auto* entry : model_.cluster.objects().Pods()) {
    if (entry->pod->metadata.labels.Find(kGangLabel) != nullptr && Of(*entry->pod) == nullptr)
      orphans.push_back(entry->pod);
  }
  for (const sim::PodPtr& pod : orphans) model_.cluster.RemovePod(kNamespace, pod->metadata.name);
  for (const auto& group : model_.cluster.objects().objects<model::PodGroup>().List()) {
    const std::string& name = group->metadata.name;
    if (!gangs_.contains(name.substr(0, name.find('-'))))
      model_.api.objects.Remove(GroupObject(name));
  }
}

void GangLoad::LookAt(PlayedGang& gang) {
  const TimePoint now = model_.agenda.Now();
  if (!gang.started && BoundOf(gang) >= gang.min) {
    gang.started = now;
    if (started) started(gang);
  }
  const bool done = gang.started && now >= *gang.started + gang.runs_for;
  const bool given_up = gang.hopeless && now >= gang.came + options_.patience;
  if (done || given_up || over_.contains(gang.name)) {
    if (!End(gang)) return;
    const PlayedGang gone = gang;
    over_.erase(gone.name);
    gangs_.erase(gone.name);
    if (ended) ended(gone);
    return;
  }
  if (!gang.as_job) MakeMissing(gang);
}

// A Job's pods end well, and its controller does the rest; what belongs to it is collected when it
// is gone. One that its owner gives up is deleted.
bool GangLoad::End(const PlayedGang& gang) {
  sim::Cluster& cluster = model_.cluster;
  const auto pods = PodsOf(gang);
  const bool by_controller = gang.as_job && gang.started.has_value();
  const std::string group = GroupOf(gang);
  if (by_controller && !over_.contains(gang.name)) {
    over_.emplace(gang.name, cluster.Now());
    for (const sim::PodPtr& pod : pods) {
      batch::EndedPod done;
      static_cast<model::Pod&>(done) = *pod;
      done.status.phase = "Succeeded";
      cluster.RemovePod(kNamespace, pod->metadata.name);
      cluster.Upsert(std::move(done));
    }
    return false;
  }
  const auto& jobs = cluster.objects().objects<batch::VolcanoJob>();
  const bool there = gang.as_job && jobs.Find(kNamespace, gang.name) != nullptr;
  constexpr Duration kLongEnough = std::chrono::hours(1);
  if (by_controller && there && cluster.Now() < over_.at(gang.name) + kLongEnough) return false;
  for (const sim::PodPtr& pod : pods) cluster.RemovePod(kNamespace, pod->metadata.name);
  for (int i = 0; i < gang.size; ++i)
    cluster.Erase<batch::EndedPod>(kNamespace, fmt::format("{}-{}-{}", gang.name, kTask, i));
  if (gang.as_job) {
    model_.api.objects.Remove(JobObject(gang.name));
    // The group's name ends with the Job's uid, which is gone with it.
    for (const auto& object : cluster.objects().objects<model::PodGroup>().List()) {
      if (object->metadata.name.starts_with(gang.name + "-"))
        model_.api.objects.Remove(GroupObject(object->metadata.name));
    }
  }
  model_.api.objects.Remove(GroupObject(group.substr(group.find('/') + 1)));
  cluster.Erase<model::PodDisruptionBudget>(kNamespace, gang.name);
  return true;
}

void GangLoad::EndAll() {
  on_ = false;
  for (auto& [name, gang] : gangs_) {
    if (gang.started) {
      gang.runs_for = Duration::zero();
    } else {
      gang.hopeless = true;
      gang.came = TimePoint();
    }
  }
}

}  // namespace coppice::whatif
