#include "rehearse/played_gangs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "batch/task.h"

namespace coppice::rehearse {

PlayedGangs::PlayedGangs(sim::Model& model, const Demand& demand, Outcome& outcome)
    : model_(model), demand_(demand), outcome_(outcome) {
  sim::Cluster& cluster = model_.cluster;
  cluster.pod_bound = [this, before = std::move(cluster.pod_bound)](const model::Pod& pod) {
    if (before) before(pod);
    Bound(pod);
  };
  cluster.pod_leaves = [this, before = std::move(cluster.pod_leaves)](const model::Pod& pod) {
    if (before) before(pod);
    Left(pod);
  };
}

Status PlayedGangs::Start() {
  for (model::Queue queue : demand_.queues) {
    queue.status.state = "Open";
    TRY(model_.api.objects.Put(queue));
  }
  for (const model::PriorityClass& priority : demand_.priorities) model_.cluster.Upsert(priority);
  CreateDue();
  return Status::Ok();
}

void PlayedGangs::CreateDue() {
  const TimePoint now = model_.agenda.Now();
  for (; next_ < demand_.gangs.size() && demand_.gangs[next_].created <= now; ++next_) {
    const GangLife& life = demand_.gangs[next_];
    const model::ObjectMeta& meta = life.group.metadata;
    const std::string name = meta.namespace_ + "/" + meta.name;
    gangs_[name] = {.life = &life, .came = now};
    ++outcome_.gangs;
    CHECK(model_.api.objects.Put(life.group).ok());
    if (!life.done) continue;
    model_.agenda.At(std::max(now, *life.done), [this, name, &life] {
      const auto gang = gangs_.find(name);
      if (gang == gangs_.end() || gang->second.life != &life) return;
      gangs_.erase(gang);
      model_.api.objects.Remove({std::string(model::kKind<model::PodGroup>.api_version),
                                 std::string(model::kKind<model::PodGroup>.resource),
                                 life.group.metadata.namespace_, life.group.metadata.name});
    });
  }
  if (next_ < demand_.gangs.size())
    model_.agenda.At(demand_.gangs[next_].created, [this] { CreateDue(); });
}

PlayedGangs::Gang* PlayedGangs::Of(const model::Pod& pod) {
  const auto gang = gangs_.find(batch::JobIdOf(pod));
  return gang == gangs_.end() ? nullptr : &gang->second;
}

void PlayedGangs::Bound(const model::Pod& pod) {
  Gang* const gang = Of(pod);
  if (gang == nullptr) return;
  gang->bound.insert(pod.metadata.name);
  const auto least = static_cast<size_t>(std::max(1, gang->life->group.spec.min_member));
  if (gang->started || gang->bound.size() < least) return;
  gang->started = true;
  ++outcome_.gangs_started;
  const Duration wait = model_.agenda.Now() - gang->came;
  waits_.push_back(wait);
  KeepLongest({wait, batch::JobIdOf(pod)}, outcome_.longest_gangs);
}

void PlayedGangs::Left(const model::Pod& pod) {
  if (Gang* const gang = Of(pod); gang != nullptr) gang->bound.erase(pod.metadata.name);
}

void PlayedGangs::SumUp() {
  if (waits_.empty()) return;
  std::ranges::sort(waits_);
  outcome_.median_gang_wait = waits_[waits_.size() / 2];
}

}  // namespace coppice::rehearse
