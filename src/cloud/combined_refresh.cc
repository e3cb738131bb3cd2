// Refresh of several providers: all at once, none waiting for one that hangs.

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cloud/combined_node_groups.h"
#include "cloud/combined_routes.h"

namespace coppice::cloud {

namespace {

// A member keeps to its deadline; this is for one that does not.
constexpr Duration kGrace = std::chrono::seconds(1);

// What a provider that has just answered says of its groups. One that it lists and cannot answer
// for keeps its last answers; without any it is left out, or it would stop the loop of all others.
std::shared_ptr<const KeptGroups> Collect(NodeGroups& groups, const KeptGroups& before,
                                          std::vector<std::string>& left_out) {
  auto all = std::make_shared<KeptGroups>();
  for (GroupInfo& info : groups.Groups()) {
    const auto target = groups.TargetSize(info.id);
    auto instances = groups.Instances(info.id);
    if (target.ok() && instances.ok()) {
      all->push_back(std::make_shared<const KeptGroup>(KeptGroup{
          .info = std::move(info), .target = *target, .instances = std::move(*instances)}));
      continue;
    }
    const auto known =
        std::ranges::find_if(before, [&](const auto& group) { return group->info.id == info.id; });
    if (known != before.end()) {
      all->push_back(*known);
    } else {
      left_out.push_back(info.id);
    }
  }
  return all;
}

}  // namespace

Status CombinedNodeGroups::Refresh(Deadline deadline) {
  std::unique_lock one_at_a_time(refresh_mutex_, std::defer_lock);
  const Duration left =
      deadline.at == TimePoint::max() ? std::chrono::hours(1) : deadline.Left(context_.clock);
  if (!one_at_a_time.try_lock_for(left + kGrace)) {
    return DeadlineExceeded("another refresh of the providers has not ended yet");
  }
  for (const auto& provider : providers_) StartRefresh(*provider, deadline);
  AwaitRefreshes(deadline);
  TRY(Rebuild());
  return Verdict();
}

void CombinedNodeGroups::StartRefresh(Provider& provider, Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    if (provider.running) return;  // still the one before: it hangs
    provider.running = true;
  }
  const Status submitted = workers_.Submit([this, &provider, deadline] {
    const TimePoint began = context_.clock.Now();
    Status status = provider.groups->Refresh(deadline);
    std::shared_ptr<const KeptGroups> kept;
    std::vector<std::string> left_out;
    if (status.ok()) kept = Collect(*provider.groups, *provider.kept, left_out);
    for (const std::string& group : left_out) {
      context_.log.Warning("a group is left out, its provider cannot answer for it",
                           {{"provider", provider.name}, {"group", group}});
    }
    const MutexLock lock(mutex_);
    if (kept != nullptr) {
      provider.kept = std::move(kept);
      provider.answered = began;
    }
    if (status.ok() && !provider.failure.ok() && provider.tried) {
      context_.log.Info("a provider answers again", {{"provider", provider.name}});
    } else if (!status.ok() && (provider.failure.ok() || !provider.tried)) {
      context_.log.Error("a provider is broken, the others go on",
                         {{"provider", provider.name}, {"error", status.ToString()}});
    }
    provider.failure = std::move(status);
    provider.tried = true;
    provider.running = false;
    ended_.notify_all();
  });
  CHECK(submitted.ok());  // a thread and a place in the queue for each
}

// In real time whatever the clock says: what is waited for are threads.
void CombinedNodeGroups::AwaitRefreshes(Deadline deadline) {
  UniqueMutexLock lock(mutex_);
  const auto ended = [&](bool good_ones_only) {
    return std::ranges::none_of(providers_, [&](const auto& provider) {
      const bool good = provider->failure.ok() || !provider->tried;
      return provider->running && (good || !good_ones_only);
    });
  };
  const Duration left =
      deadline.at == TimePoint::max() ? std::chrono::hours(1) : deadline.Left(context_.clock);
  ended_.wait_for(lock.standard(), left + kGrace, [&] { return ended(true); });
  const Duration still =
      deadline.at == TimePoint::max() ? std::chrono::hours(1) : deadline.Left(context_.clock);
  ended_.wait_for(lock.standard(), std::min(context_.patience, still),
                  [&] { return ended(false); });
  for (const auto& provider : providers_) {
    if (!provider->running || (provider->tried && !provider->failure.ok())) continue;
    provider->failure = DeadlineExceeded("its refresh has not ended");
    provider->tried = true;
    context_.log.Error("a provider hangs, the others go on", {{"provider", provider->name}});
  }
}

Status CombinedNodeGroups::Rebuild() {
  const auto before = routes_.Load();
  auto routes = std::make_shared<Routes>();
  routes->version = before->version + 1;
  routes->complete = before->complete;
  std::map<std::string_view, std::vector<Provider*>> claims;
  std::vector<bool> broken;
  {
    const MutexLock lock(mutex_);
    for (const auto& provider : providers_) {
      routes->lists.push_back(provider->kept);
      broken.push_back(!provider->failure.ok());
      routes->complete |= provider->failure.ok();
    }
  }
  for (size_t i = 0; i < providers_.size(); ++i) {
    for (const auto& group : *routes->lists[i])
      claims[group->info.id].push_back(providers_[i].get());
  }
  // Who had an id keeps it as long as it lists it.
  const auto owner = [&](const std::string& id) {
    const std::vector<Provider*>& all = claims[id];
    const auto had = before->by_group.find(id);
    const bool keeps =
        had != before->by_group.end() && std::ranges::find(all, had->second) != all.end();
    return keeps ? had->second : all.front();
  };
  for (size_t i = 0; i < providers_.size(); ++i) {
    Provider* provider = providers_[i].get();
    for (const auto& group : *routes->lists[i]) {
      const std::string& id = group->info.id;
      Provider* has = owner(id);
      if (has != provider) {
        const std::string text = "group '" + id + "' is at provider '" + has->name +
                                 "' and at provider '" + provider->name +
                                 "'; rename one, or set group_prefix in the cloud-config of one";
        if (!before->complete) return FailedPrecondition(text);
        if (!before->left_out.contains(text)) {
          context_.log.Error("a group is left out, its id is taken",
                             {{"group", id}, {"provider", provider->name}, {"error", text}});
        }
        routes->left_out.insert(text);
        continue;
      }
      routes->groups.push_back(group->info);
      if (broken[i]) routes->groups.back().debug += " (stale)";
      routes->by_group.emplace(id, provider);
      routes->kept.emplace(id, group.get());
      for (const Instance& instance : group->instances) {
        routes->machines.try_emplace(instance.id, Routes::Machine{provider, group.get()});
      }
    }
  }
  routes_.Store(std::move(routes));
  return Status::Ok();
}

Status CombinedNodeGroups::Verdict() {
  std::vector<std::string> broken;
  Code code = Code::kOk;
  size_t good = 0;
  const TimePoint now = context_.clock.Now();
  for (const ProviderHealth& health : Health()) {
    const MetricLabels labels{{"provider", health.provider}};
    context_.metrics.GetGauge("coppice_provider_up", "Whether the provider answers.", labels)
        .Set(health.failure.ok() ? 1 : 0);
    context_.metrics.GetGauge("coppice_provider_groups", "Its node groups in use.", labels)
        .Set(static_cast<double>(health.groups));
    if (health.answered) {
      context_.metrics
          .GetGauge("coppice_provider_answer_age_seconds",
                    "How old its answers are, at the last refresh.", labels)
          .Set(std::chrono::duration<double>(now - *health.answered).count());
    }
    if (health.failure.ok()) {
      ++good;
    } else {
      if (code == Code::kOk) code = health.failure.code();
      broken.push_back("provider '" + health.provider + "': " + health.failure.message());
    }
  }
  if (good > 0) return Status::Ok();
  return Status(code, Join(broken, "; "));
}

}  // namespace coppice::cloud
