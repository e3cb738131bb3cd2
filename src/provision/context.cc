#include "provision/context.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cluster/view_age.h"
#include "provision/tolerance.h"

namespace coppice::provision {

namespace {

// Upstream's buckets for durations.
const std::vector<double>& DurationBuckets() {
  static const std::vector<double> kBuckets = {
      .005, .01, .025, .05,  .1,  .15,  .2, .25, .3, .35, .4,  .45, .5,  .6,  .7,
      .8,   .9,  1,    1.25, 1.5, 1.75, 2,  2.5, 3,  3.5, 4,   4.5, 5,   6,   7,
      8,    9,   10,   15,   20,  25,   30, 40,  50, 60,  120, 150, 300, 450, 600};
  return kBuckets;
}

std::string ClassLabelOf(const cloud::NodeClassKind& kind) {
  return kind.group + "/" + Lower(kind.kind);
}

RepairPolicies RepairPoliciesOf(const EngineParts& parts) {
  auto policies = RepairPolicies::Create(parts.claims.RepairPolicies());
  if (policies.ok()) return *std::move(policies);
  parts.log.Error("no node is repaired", {{"error", policies.status()}});
  return {};
}

std::shared_ptr<const EphemeralTaints> EphemeralTaintsOf(const cloud::NodeClaimsTraits& traits) {
  return std::make_shared<const EphemeralTaints>(EphemeralTaints{
      .taints = traits.ephemeral_taints, .prefixes = traits.ephemeral_taint_prefixes});
}

}  // namespace

Context::Context(EngineParts engine_parts)
    : parts(std::move(engine_parts)),
      node_pods(parts.world),
      repair(RepairPoliciesOf(parts)),
      kinds_(parts.claims.SupportedNodeClasses()),
      ephemeral_(EphemeralTaintsOf(parts.claims.Traits())) {
  for (const cloud::NodeClassKind& kind : kinds_) class_labels_.push_back(ClassLabelOf(kind));
}

std::string Context::Stale() const {
  return cluster::ViewAge{options().max_view_age, "--pool-max-view-age", parts.view_age,
                          parts.oldest_kind}
      .Stale("nothing is bought or taken away");
}

void Context::Spawn(Task<void> task) {
  ++under_way_;
  parts.executor.Spawn(Counted(std::move(task)));
}

Task<void> Context::Counted(Task<void> task) {
  co_await std::move(task);
  --under_way_;
  Wake();
}

void Context::Wake() { WakeAt(Now()); }

void Context::WakeAt(TimePoint when) {
  if (when >= wake_at_) return;
  wake_at_ = when;
  if (parts.wake) parts.wake();
}

bool Context::Manages(const model::Node& node) const {
  return std::ranges::any_of(class_labels_, [&](const std::string& label) {
    return node.metadata.labels.contains(label);
  });
}

std::optional<NodeClassFacts> Context::ClassOf(const model::NodeClassReference& reference) const {
  const auto it = classes.find(reference.group + "/" + reference.kind + "/" + reference.name);
  return it == classes.end() ? std::nullopt : std::optional(it->second);
}

std::vector<NodePtr> Context::NodesOf(std::string_view provider_id) const {
  std::vector<NodePtr> found;
  if (provider_id.empty()) return found;
  parts.world.ForEachNode([&](const NodePtr& node) {
    if (node->spec.provider_id == provider_id) found.push_back(node);
  });
  return found;
}

const Context::NodeIndexById& Context::NodesById() {
  const uint64_t version = parts.world.nodes_version();
  if (nodes_indexed_ == version) return nodes_by_id_;
  nodes_indexed_ = version;
  nodes_by_id_.clear();
  parts.world.ForEachNode([&](const NodePtr& node) {
    if (!node->spec.provider_id.empty()) nodes_by_id_[node->spec.provider_id].push_back(node);
  });
  return nodes_by_id_;
}

void Context::Tell(const About& about, std::string_view type, std::string_view reason,
                   std::string text, Duration again) {
  const TimePoint now = Now();
  std::string key = about.kind + "/" + about.namespace_ + "/" + about.name + "/" + about.uid + "/" +
                    std::string(reason) + "/" + text;
  const auto [it, is_new] = told_.try_emplace(std::move(key), now);
  if (!is_new && now < it->second) return;
  it->second = Later(now, again);
  if (told_.size() > 10'000) {
    std::erase_if(told_, [&](const auto& entry) { return entry.second <= now; });
  }
  parts.writer.Emit({about.kind, about.namespace_, about.name, about.uid, std::string(type),
                     std::string(reason), std::move(text)});
}

void Context::SetOfPool(const std::string& pool, std::string_view name, std::string_view help,
                        double value, MetricLabels labels) {
  labels["nodepool"] = pool;
  Set(name, help, value, labels);
  auto& of_pool = of_pools_[pool];
  auto it = of_pool.find(name);
  if (it == of_pool.end()) it = of_pool.emplace(std::string(name), std::set<MetricLabels>()).first;
  it->second.insert(std::move(labels));
}

void Context::KeepOfPool(const std::string& pool, std::string_view name,
                         const std::set<MetricLabels>& these) {
  const auto of_pool = of_pools_.find(pool);
  if (of_pool == of_pools_.end()) return;
  const auto series = of_pool->second.find(name);
  if (series == of_pool->second.end()) return;
  std::erase_if(series->second, [&](const MetricLabels& labels) {
    if (these.contains(labels)) return false;
    parts.metrics.RemoveGauge(name, labels);
    return true;
  });
}

void Context::ForgetPools(const std::set<std::string>& there) {
  std::erase_if(of_pools_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    for (const auto& [name, series] : entry.second) {
      for (const MetricLabels& labels : series) parts.metrics.RemoveGauge(name, labels);
    }
    return true;
  });
}

void Context::Observe(std::string_view name, std::string_view help, double value,
                      const MetricLabels& labels) {
  parts.metrics.GetHistogram(name, help, DurationBuckets(), labels).Observe(value);
}

std::string LabelOr(const model::Labels& labels, std::string_view key, std::string_view other) {
  const std::string* value = labels.Find(key);
  return std::string(value == nullptr ? other : std::string_view(*value));
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string SnakeCase(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !snake.empty()) snake += '_';
    snake += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return snake;
}

std::string TerminationMode(const std::optional<Duration>& grace) {
  if (!grace) return "graceful";
  return *grace > Duration::zero() ? "eventual" : "forceful";
}

bool IsReadyNode(const model::Node& node) {
  const auto& conditions = node.status.conditions;
  const auto ready = std::ranges::find(conditions, "Ready", &model::NodeCondition::type);
  return ready != conditions.end() && ready->status == "True";
}

}  // namespace coppice::provision
