#include "provision/pool_lack.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "model/resources.h"
#include "model/taints.h"

namespace coppice::provision {

namespace {

using LackKind = report::PoolMiss::What;

constexpr std::string_view kNodesLimit = "nodes";

// As columns count: cpu in thousandths, the rest in units.
int64_t CountOf(std::string_view resource, const model::Quantity& amount) {
  return resource == "cpu" ? amount.MilliValue() : amount.Value();
}

PoolLack RequirementLack(const std::string& key, const model::Pod& pod,
                         const SolverOptions& options) {
  if (key.empty()) {
    return {.text = "it demands labels that no machine of the pool has",
            .would_take_if = "it demanded none of the labels that no machine of the pool has"};
  }
  const auto demands = model::RequirementsOf(pod, model::PodDemands::kRequired, options.labels);
  const std::string demand = demands.Get(key).ToString();
  return {.text = "it demands " + demand + ", which no machine of the pool has",
          .would_take_if = "it did not demand " + demand};
}

// The most that a machine of the pool has for pods, of one resource.
model::Quantity MostOf(const cloud::InstanceTypes& types, const std::string& resource) {
  model::Quantity most;
  for (const cloud::InstanceType& type : types) {
    for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(type)) {
      const auto* has = group.allocatable.Find(resource);
      if (has != nullptr && most.Compare(*has) < 0) most = *has;
    }
  }
  return most;
}

// The text names the resource that is furthest from what the largest type has.
PoolLack ResourceLack(const PoolView& view, const model::Pod& pod) {
  PoolLack lack{.text = "it asks for more than any machine of the pool has",
                .would_take_if = "it asked for no more than a machine of the pool has"};
  double worst = 0;
  std::vector<std::string> bounds;
  for (const auto& [resource, amount] : model::RequestList(pod)) {
    const model::Quantity most = MostOf(*view.types, resource);
    if (amount.Compare(most) <= 0) continue;
    const int64_t has = CountOf(resource, most);
    lack.shortfalls.push_back(
        {.what = resource, .asked = CountOf(resource, amount), .free = has, .capacity = has});
    bounds.push_back(fmt::format("{} of {}", most.ToString(), resource));
    const double ratio = static_cast<double>(amount.MilliValue()) /
                         static_cast<double>(std::max<int64_t>(1, most.MilliValue()));
    if (ratio <= worst) continue;
    worst = ratio;
    lack.text = fmt::format("it asks for {} of {}, and the largest machine of the pool has {}",
                            amount.ToString(), resource, most.ToString());
  }
  if (!bounds.empty()) lack.would_take_if = "it asked for no more than " + Join(bounds, " and ");
  return lack;
}

PoolLack TaintLack(const PoolView& view, const model::Pod& pod) {
  std::vector<std::string> taints;
  for (const model::Taint& taint : view.pool->spec.template_.spec.taints) {
    if (!model::Tolerates(pod.spec.tolerations, taint)) taints.push_back(model::ToString(taint));
  }
  const std::string all = Join(taints, ", ");
  return {.text = "it does not tolerate " + all, .would_take_if = "it tolerated " + all};
}

// Whether a machine of that type, empty, has what the pod asks for.
bool IsBigEnough(const cloud::InstanceType& type, const model::ResourceList& asks) {
  return std::ranges::any_of(cloud::AllocatableGroups(type), [&](const auto& group) {
    return std::ranges::all_of(asks, [&](const auto& ask) {
      const auto* has = group.allocatable.Find(ask.first);
      return ask.second.IsZero() || (has != nullptr && ask.second.Compare(*has) <= 0);
    });
  });
}

// What the smallest machine that is big enough takes from a limit; absent: none is.
std::optional<model::Quantity> LeastOf(const PoolView& view, const model::Pod& pod,
                                       const std::string& resource) {
  if (resource == kNodesLimit) return model::Quantity::FromUnits(1);
  const model::ResourceList asks = model::RequestList(pod);
  std::optional<model::Quantity> least;
  for (const cloud::InstanceType& type : *view.types) {
    const auto* takes = type.capacity.Find(resource);
    if (takes == nullptr || !IsBigEnough(type, asks)) continue;
    if (!least || takes->Compare(*least) < 0) least = *takes;
  }
  return least;
}

PoolLack LimitLack(const PoolView& view, const model::Pod& pod) {
  PoolLack lack;
  std::vector<std::string> limits;
  std::vector<std::string> raised;
  for (const auto& [resource, limit] : view.pool->spec.limits) {
    const auto* known = view.pool->status.resources.Find(resource);
    const model::Quantity used = known == nullptr ? model::Quantity() : *known;
    limits.push_back(fmt::format("{} {} of {}", resource, used.ToString(), limit.ToString()));
    const auto takes = LeastOf(view, pod, resource);
    if (!takes) continue;
    model::Quantity left = limit;
    left.Sub(used);
    if (takes->Compare(left) <= 0) continue;
    lack.shortfalls.push_back({.what = resource,
                               .asked = CountOf(resource, *takes),
                               .free = CountOf(resource, left),
                               .capacity = CountOf(resource, limit)});
    model::Quantity needed = used;
    needed.Add(*takes);
    raised.push_back(
        fmt::format("its limit of {} {} were {}", limit.ToString(), resource, needed.Canonical()));
  }
  lack.text = "the limits of the pool are reached: " + Join(limits, ", ");
  lack.would_take_if = raised.empty() ? "its limits were higher" : Join(raised, " and ");
  return lack;
}

}  // namespace

PoolLack LackOf(LackKind what, const std::string& key, const PoolView& view, const model::Pod& pod,
                const SolverOptions& options) {
  switch (what) {
    case LackKind::kRequirement:
      return RequirementLack(key, pod, options);
    case LackKind::kResource:
      return ResourceLack(view, pod);
    case LackKind::kTopology:
      return {.text = "its spread or affinity rules leave it no place",
              .would_take_if = "its spread or affinity rules were not there"};
    case LackKind::kTaint:
      return TaintLack(view, pod);
    case LackKind::kOffering:
      return {.text = "nothing of what would do is available now",
              .would_take_if = "what would do were available"};
    case LackKind::kLimit:
      return LimitLack(view, pod);
    default:
      return {};
  }
}

}  // namespace coppice::provision
