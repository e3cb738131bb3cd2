#include "provision/condition_times.h"

#include <algorithm>
#include <utility>

namespace coppice::provision {

namespace {

// From half a second, doubled fourteen times; and those of series without a kind.
const std::vector<double>& Buckets() {
  static const std::vector<double> kBuckets = {0.5, 1,   2,   4,    8,    16,   32,  64,
                                               128, 256, 512, 1024, 2048, 4096, 8192};
  return kBuckets;
}
const std::vector<double>& DeprecatedBuckets() {
  static const std::vector<double> kBuckets = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
  return kBuckets;
}

std::string PrometheusName(std::string_view label) {
  std::string name(label);
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == '.' || c == '-'; }, '_');
  return name;
}

MetricLabels Chosen(const std::vector<std::string>& class_labels, const model::Labels& labels,
                    std::initializer_list<std::string_view> others) {
  MetricLabels made;
  for (const std::string& label : class_labels)
    made[PrometheusName(label)] = LabelOr(labels, label);
  for (const std::string_view label : others) made[PrometheusName(label)] = LabelOr(labels, label);
  return made;
}

MetricLabels With(MetricLabels labels, const MetricLabels& more) {
  labels.insert(more.begin(), more.end());
  return labels;
}

template <class C>
const C* Find(const std::vector<C>& conditions, const std::string& type) {
  const auto found = std::ranges::find(conditions, type, &C::type);
  return found == conditions.end() ? nullptr : &*found;
}

constexpr char kTransitionsHelp[] = "How often a condition of that type came to that status.";
constexpr char kTransitionHelp[] = "How long a condition had a status before it got another.";
constexpr char kTerminationHelp[] = "How long objects took to go once they were deleted.";

}  // namespace

template <>
const StatusFamily& StatusFamilyOf<model::NodeClaim>() {
  static const StatusFamily kFamily = {"NodeClaim", "karpenter.sh", "operator_nodeclaim"};
  return kFamily;
}
template <>
const StatusFamily& StatusFamilyOf<model::NodePool>() {
  static const StatusFamily kFamily = {"NodePool", "karpenter.sh", "operator_nodepool"};
  return kFamily;
}
template <>
const StatusFamily& StatusFamilyOf<model::Node>() {
  static const StatusFamily kFamily = {"Node", "", "operator_node", false};
  return kFamily;
}

MetricLabels StatusLabels(const std::vector<std::string>& class_labels,
                          const model::NodeClaim& claim) {
  return Chosen(class_labels, claim.metadata.labels, {model::kNodePoolLabel});
}
MetricLabels StatusLabels(const std::vector<std::string>&, const model::NodePool&) { return {}; }
MetricLabels StatusLabels(const std::vector<std::string>& class_labels, const model::Node& node) {
  return Chosen(class_labels, node.metadata.labels,
                {model::kNodePoolLabel, model::kInitializedLabel});
}

template <class T>
void ConditionTimes::Compare(const std::vector<std::shared_ptr<const T>>& objects, Seen<T>& seen,
                             TimePoint now) {
  const StatusFamily& family = StatusFamilyOf<T>();
  const MetricLabels kind{{"group", family.group}, {"kind", family.kind}};
  Metrics& metrics = context_.parts.metrics;
  const auto observe = [&](const std::string& name, const char* help, double value,
                           const MetricLabels& labels, const MetricLabels& own) {
    metrics.GetHistogram(family.name + name, help, Buckets(), With(labels, own)).Observe(value);
    if (!family.is_deprecated_too) return;
    metrics.GetHistogram("operator" + name, help, DeprecatedBuckets(), With(labels, kind))
        .Observe(value);
  };
  if (objects == seen.last) return;
  seen.last = objects;
  ++seen.looks;
  size_t there = 0;
  for (const auto& object : objects) {
    auto& entry = seen.objects[object->metadata.uid];
    there += std::exchange(entry.look, seen.looks) == seen.looks ? 0 : 1;
    if (entry.object == object) continue;
    const auto before = std::exchange(entry.object, object);
    const MetricLabels own = StatusLabels(context_.class_labels(), *object);
    for (const auto& condition : object->status.conditions) {
      const auto* old =
          before == nullptr ? nullptr : Find(before->status.conditions, condition.type);
      if (old != nullptr && old->status == condition.status) continue;
      const MetricLabels labels{
          {"type", condition.type}, {"status", condition.status}, {"reason", condition.reason}};
      const std::string counted = "_status_condition_transitions_total";
      metrics.GetCounter(family.name + counted, kTransitionsHelp, With(labels, own)).Increment();
      if (family.is_deprecated_too)
        metrics.GetCounter("operator" + counted, kTransitionsHelp, With(labels, kind)).Increment();
      if (old == nullptr || !old->last_transition_time || !condition.last_transition_time) continue;
      observe("_status_condition_transition_seconds", kTransitionHelp,
              Seconds(condition.last_transition_time->at - old->last_transition_time->at),
              {{"type", condition.type}, {"status", old->status}, {"to_status", condition.status}},
              own);
    }
  }
  if (there == seen.objects.size()) return;
  std::erase_if(seen.objects, [&](const auto& entry) {
    const auto& [object, look] = entry.second;
    if (look == seen.looks) return false;
    if (object->metadata.deletion_timestamp) {
      observe("_termination_duration_seconds", kTerminationHelp,
              Seconds(now - object->metadata.deletion_timestamp->at), {},
              StatusLabels(context_.class_labels(), *object));
    }
    return true;
  });
}

void ConditionTimes::Look(const std::vector<ClaimPtr>& claims, TimePoint now) {
  Compare(claims, claims_, now);
}
void ConditionTimes::Look(const std::vector<NodePoolPtr>& pools, TimePoint now) {
  Compare(pools, pools_, now);
}
void ConditionTimes::Look(const std::vector<NodePtr>& nodes, TimePoint now) {
  Compare(nodes, nodes_, now);
}

}  // namespace coppice::provision
