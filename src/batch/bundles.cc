#include "batch/bundles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace coppice::batch {
namespace {

// How much a job, its roles and its sub-groups have beyond their minimums.
class Surplus {
 public:
  explicit Surplus(const Job& job) : job_(job), of_job_(job.counts.Ready() - job.min_available) {
    if (job.min_available >= job.role_min_total) {
      for (const Role& role : job.roles) {
        if (!role.min_available) continue;
        of_role_[role.name] =
            role.counts.Ready() + role.counts.pending_best_effort - *role.min_available;
      }
    }
    for (const auto& sub_job : job.sub_jobs) {
      if (sub_job->IsReady()) {
        ++of_group_[sub_job->group_id];
      } else {
        broken_.insert(sub_job.get());
      }
    }
    for (const auto& [group, least] : job.min_sub_jobs) of_group_[group] -= least;
  }

  bool below_minimum() const { return of_job_ < 0; }

  // Whether the task can go without breaking anything; then it is counted as gone.
  bool Take(const Task& task) {
    const auto role = of_role_.find(task.role);
    if (of_job_ <= 0 || (role != of_role_.end() && role->second <= 0)) return false;
    if (!job_.min_sub_jobs.empty() && !broken_.contains(task.sub_job)) {
      if (of_group_[task.sub_job->group_id] <= 0) return false;
      broken_.insert(task.sub_job);
      --of_group_[task.sub_job->group_id];
    }
    --of_job_;
    if (role != of_role_.end()) --role->second;
    return true;
  }

 private:
  const Job& job_;
  int32_t of_job_;
  std::map<std::string_view, int32_t> of_role_;
  std::map<std::string_view, int32_t> of_group_;
  std::set<const SubJob*> broken_;
};

double AgainstNeed(const Resource& resource, const Resource& need, bool capped) {
  double score = 0;
  const auto add = [&](double have, double wanted) {
    if (wanted < kEpsilon) return;
    score += (capped ? std::min(have, wanted) : have) / wanted;
  };
  add(resource.cpu, need.cpu);
  add(resource.memory, need.memory);
  for (const auto& [key, wanted] : need.scalars()) add(resource.Get(key), wanted);
  return score;
}

double GainForLoss(const Bundle& bundle, const Resource& need) {
  const double lost = AgainstNeed(bundle.global, need, false);
  if (lost == 0) return std::numeric_limits<double>::infinity();
  return AgainstNeed(bundle.local, need, true) / lost;
}

}  // namespace

Resource SumOfRequests(std::span<Task* const> tasks) {
  Resource sum;
  for (const Task* task : tasks) sum.Add(task->req());
  return sum;
}

std::vector<Bundle> MakeBundles(Job& job, std::vector<Task*> tasks) {
  std::ranges::sort(tasks, [](const Task* a, const Task* b) {
    return a->priority != b->priority ? a->priority < b->priority : a->uid < b->uid;
  });
  Surplus surplus(job);
  Bundle safe{.kind = Bundle::Kind::kSafe, .job = &job};
  Bundle whole{.kind = Bundle::Kind::kWhole, .job = &job};
  for (Task* task : tasks) {
    const bool goes = surplus.below_minimum() || surplus.Take(*task);
    (goes ? safe : whole).tasks.push_back(task);
  }
  std::vector<Bundle> bundles;
  if (!safe.tasks.empty()) {
    safe.local = SumOfRequests(safe.tasks);
    bundles.push_back(std::move(safe));
  }
  if (!whole.tasks.empty()) {
    whole.local = SumOfRequests(whole.tasks);
    whole.global = SumOfRequests(job.tasks);
    bundles.push_back(std::move(whole));
  }
  return bundles;
}

std::vector<Bundle> OnlyAllowed(std::vector<Bundle> bundles, const std::vector<Task*>& allowed) {
  const std::set<const Task*> allowed_set(allowed.begin(), allowed.end());
  std::vector<Bundle> kept;
  for (Bundle& bundle : bundles) {
    std::vector<Task*> approved;
    for (Task* task : bundle.tasks) {
      if (allowed_set.contains(task)) approved.push_back(task);
    }
    if (approved.empty()) continue;
    if (bundle.kind == Bundle::Kind::kWhole && approved.size() != bundle.tasks.size()) continue;
    bundle.tasks = std::move(approved);
    bundle.local = SumOfRequests(bundle.tasks);
    kept.push_back(std::move(bundle));
  }
  return kept;
}

void SortBundles(std::vector<Bundle>& bundles, const Resource& need,
                 const std::function<bool(const Job&, const Job&)>& before) {
  std::vector<size_t> order(bundles.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto less = [&](const Bundle& l, const Bundle& r) {
    if (l.kind != r.kind) return l.kind < r.kind;
    if (l.job != r.job) {
      const bool left = before(*l.job, *r.job);
      if (left != before(*r.job, *l.job)) return left;
    }
    const double gain_l = GainForLoss(l, need);
    const double gain_r = GainForLoss(r, need);
    if (gain_l != gain_r) return gain_l > gain_r;
    if (l.job != r.job) return l.job->id < r.job->id;
    return l.tasks.front()->uid < r.tasks.front()->uid;
  };
  // Insertion: `before` is somebody else's, and a sort must not depend on its being an order.
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i; j > 0 && less(bundles[order[j]], bundles[order[j - 1]]); --j) {
      std::swap(order[j], order[j - 1]);
    }
  }
  std::vector<Bundle> sorted;
  for (const size_t i : order) sorted.push_back(std::move(bundles[i]));
  bundles = std::move(sorted);
}

}  // namespace coppice::batch
