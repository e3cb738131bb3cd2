#include "whatif/live_pools.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/resources.h"

namespace coppice::whatif {
namespace {

// Half a minute is there for the answer, two runs of all engines; what pools would still move after
// this time is left out.
constexpr Duration kConsolidateFor = std::chrono::seconds(5);

// Of the pods that wait, each measure once.
cloud::WaitingShapes ShapesOf(const Listed<model::Pod>& pods, const model::Pod* another) {
  cloud::WaitingShapes waiting;
  std::set<std::string> known;
  const auto ask_for = [&](const model::Pod& pod) {
    model::ResourceList requests = model::RequestList(pod);
    std::string text;
    for (const auto& [name, amount] : requests) text += name + "=" + amount.Canonical() + ",";
    if (known.insert(std::move(text)).second) waiting.requests.push_back(std::move(requests));
  };
  if (another != nullptr) ask_for(*another);
  for (const auto& pod : pods)
    if (pod->spec.node_name.empty()) ask_for(*pod);
  return waiting;
}

void ChangePool(const LiveChange& change, const std::vector<std::string>& forbidden,
                model::NodePool& pool) {
  const std::string& name = pool.metadata.name;
  if (const auto max = change.max_sizes.find(name); max != change.max_sizes.end())
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(max->second);
  if (const auto limits = change.limits.find(name); limits != change.limits.end()) {
    for (const auto& [resource, amount] : limits->second) pool.spec.limits[resource] = amount;
  }
  if (forbidden.empty()) return;
  pool.spec.template_.spec.requirements.push_back(
      {.key = std::string(model::kInstanceTypeLabel), .operator_ = "NotIn", .values = forbidden});
}

}  // namespace

TakenClaims::TakenClaims(const cloud::NodeClaims& of, const Listed<model::NodePool>& pools,
                         const cloud::WaitingShapes& waiting)
    : name_(of.Name()), traits_(of.Traits()), kinds_(of.SupportedNodeClasses()) {
  for (const auto& pool : pools) {
    if (IsOurs(*pool)) types_.emplace(pool->metadata.name, of.InstanceTypesFor(*pool, waiting));
  }
}

bool TakenClaims::IsOurs(const model::NodePool& pool) const {
  return cloud::IsManaged(pool.spec.template_.spec.node_class_ref, kinds_);
}

Result<std::shared_ptr<const cloud::InstanceTypes>> TakenClaims::InstanceTypesFor(
    const model::NodePool& pool, const cloud::WaitingShapes&) const {
  const auto found = types_.find(pool.metadata.name);
  if (found == types_.end()) return NotFound("there was no pool " + pool.metadata.name);
  return found->second;
}

bool TakenClaims::Sells(std::string_view type) const {
  return std::ranges::any_of(types_, [type](const auto& of_pool) {
    return of_pool.second.ok() && *of_pool.second != nullptr &&
           std::ranges::find(**of_pool.second, type, &cloud::InstanceType::name) !=
               (*of_pool.second)->end();
  });
}

void TakePools(const cloud::NodeClaims& claims, const model::Pod* pod, LiveMoment& moment) {
  moment.claims = std::make_shared<TakenClaims>(claims, moment.objects.node_pools,
                                                ShapesOf(moment.objects.pods, pod));
}

bool HasPool(const LiveMoment& moment, std::string_view name) {
  return moment.claims && std::ranges::any_of(moment.objects.node_pools, [&](const auto& pool) {
           return pool->metadata.name == name && moment.claims->IsOurs(*pool);
         });
}

bool IsOfPool(const LiveMoment& moment, std::string_view name) {
  for (const auto& node : moment.objects.nodes) {
    if (node->metadata.name != name) continue;
    const std::string* pool = node->metadata.labels.Find(model::kNodePoolLabel);
    return pool != nullptr && HasPool(moment, *pool);
  }
  return false;
}

PoolsWhatIf PoolsQuestion(const LiveMoment& moment, const ClusterObjects& objects,
                          const provision::Settings& settings, std::function<bool()> stop) {
  PoolsWhatIf question{.cluster = objects,
                       .options = settings.options,
                       .consolidate = settings.options.disruption,
                       .live = true,
                       .consolidate_for = kConsolidateFor,
                       .stop = std::move(stop),
                       .now = moment.now};
  if (moment.claims) {
    // Those of others are theirs to play.
    std::erase_if(question.cluster.node_pools,
                  [&](const auto& pool) { return !moment.claims->IsOurs(*pool); });
  }
  return question;
}

void ChangePools(const LiveMoment& moment, const LiveChange& change, Listed<model::NodePool>& pools,
                 std::set<std::string>& used) {
  if (!moment.claims) return;
  std::vector<std::string> forbidden;
  for (const std::string& type : change.forbid_types)
    if (moment.claims->Sells(type)) forbidden.push_back(type);
  used.insert(forbidden.begin(), forbidden.end());
  for (auto& pool : pools) {
    model::NodePool changed = *pool;
    ChangePool(change, forbidden, changed);
    pool = std::make_shared<const model::NodePool>(std::move(changed));
  }
}

Result<PoolsPlan> PlayPools(PoolsWhatIf what_if, TakenClaims& claims,
                            const provision::Settings& settings) {
  const std::vector<std::string>& gangs = settings.gang_scheduler_names;
  const auto of_gangs = [&](const std::shared_ptr<const model::Pod>& pod) {
    return pod->spec.node_name.empty() &&
           std::ranges::find(gangs, pod->spec.scheduler_name) != gangs.end();
  };
  Listed<model::Pod> left_alone;
  std::ranges::copy_if(what_if.cluster.pods, std::back_inserter(left_alone), of_gangs);
  std::erase_if(what_if.cluster.pods, of_gangs);
  const SystemClock clock;
  PoolsPlan plan = TRY(RunPoolsWhatIf(std::move(what_if), claims, clock));
  plan.pods_after.insert(plan.pods_after.end(), left_alone.begin(), left_alone.end());
  return plan;
}

std::vector<std::string> NotesOfPools(const LiveAnswer& answer) {
  std::vector<std::string> notes = {
      "node pools: machines that are bought are up at once, and consolidateAfter counts as over"};
  if (answer.with.groups)
    notes.emplace_back(
        "node pools are asked first, as in life: what they do not take is left to the groups");
  if (!answer.with.pools->settled || !answer.without.pools->settled)
    notes.emplace_back("node pools would move more than was looked at in the time that there is");
  for (const std::string& problem : answer.with.pools->problems) notes.push_back(problem);
  return notes;
}

}  // namespace coppice::whatif
