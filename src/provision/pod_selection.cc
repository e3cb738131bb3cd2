#include "provision/pod_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/go_duration.h"
#include "base/strings.h"
#include "model/requirements.h"
#include "model/selector.h"
#include "provision/tolerance.h"

namespace coppice::provision {
namespace {

constexpr std::string_view kDoNotDisrupt = "karpenter.sh/do-not-disrupt";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

using Reasons = std::vector<std::string>;

void NoteTerm(const model::NodeSelectorTerm& term, const model::LabelRules& labels,
              Reasons& reasons) {
  if (!term.match_fields.empty())
    reasons.emplace_back("node selector term with matchFields is not supported");
  for (const model::NodeSelectorRequirement& expression : term.match_expressions) {
    std::string wrong = model::WrongWithRequirement(
        {.key = expression.key, .operator_ = expression.operator_, .values = expression.values},
        labels);
    if (!wrong.empty()) reasons.push_back(std::move(wrong));
  }
}

// What the peer puts behind a sentence: its facts, sorted by name.
struct Fact {
  std::string_view name;
  std::string value;
};
std::string WithFacts(std::string_view sentence, const std::vector<Fact>& facts) {
  std::string text = fmt::format("{} (", sentence);
  for (const Fact& fact : facts)
    text += fmt::format("{}{}={}", &fact == &facts.front() ? "" : ", ", fact.name, fact.value);
  return text + ")";
}

std::string WrongWithBound(const model::PersistentVolumeClaim& claim, const std::string& full_name,
                           const StorageIndex& storage) {
  const std::string& name = claim.spec.volume_name;
  const auto failed = [&](std::string_view why) {
    return WithFacts(fmt::format("failed to validate pvc, {}", why),
                     {{"PersistentVolume", name},
                      {"PersistentVolumeClaim", full_name},
                      {"StorageClass", claim.spec.storage_class_name.value_or("")}});
  };
  const model::PersistentVolume* volume = storage.Volume(name);
  if (volume == nullptr) return failed(fmt::format("persistentvolumes \"{}\" not found", name));
  if (volume->metadata.deletion_timestamp) return failed("persistentvolume is being deleted");
  if (!claim.metadata.annotations.contains(kBindCompleted)) {
    return WithFacts("pvc is considered unbound because it does not contain annotation",
                     {{"PersistentVolume", name},
                      {"PersistentVolumeClaim", claim.metadata.name},
                      {"annotation", std::string(kBindCompleted)}});
  }
  return "";
}

std::string WrongWithUnbound(const model::PersistentVolumeClaim& claim,
                             const std::string& full_name, const StorageIndex& storage,
                             const StorageRules& rules) {
  const std::string class_name = claim.spec.storage_class_name.value_or("");
  const auto failed = [&](std::string_view why) {
    return WithFacts(why, {{"PersistentVolumeClaim", full_name}, {"StorageClass", class_name}});
  };
  if (class_name.empty()) return failed("unbound pvc must define a storage class");
  const model::StorageClass* of = storage.Class(class_name);
  if (of == nullptr) {
    return failed(
        fmt::format("failed to validate pvc, failed to get storage class, "
                    "storageclasses.storage.k8s.io \"{}\" not found",
                    class_name));
  }
  if (of->volume_binding_mode == "Immediate")
    return failed("failed to validate pvc, pvc with immediate volume binding mode must be bound");
  for (const model::TopologySelectorTerm& term : of->allowed_topologies) {
    for (const auto& expression : term.match_label_expressions) {
      if (std::ranges::find(rules.unsupported_topology_keys, expression.key) ==
          rules.unsupported_topology_keys.end()) {
        continue;
      }
      return WithFacts("failed to validate pvc, storage class uses unsupported topology key",
                       {{"PersistentVolumeClaim", full_name},
                        {"StorageClass", class_name},
                        {"TopologyKey", expression.key}});
    }
  }
  return "";
}

std::string WrongWithVolume(const model::Pod& pod, const model::Volume& volume,
                            const StorageIndex& storage, const StorageRules& rules) {
  const auto found = storage.ClaimOf(pod, volume);
  if (!found.ok()) return found.status().message();
  if (*found == nullptr) return "";
  const model::PersistentVolumeClaim& claim = **found;
  const std::string full_name = claim.metadata.namespace_ + "/" + claim.metadata.name;
  if (claim.metadata.deletion_timestamp) {
    return WithFacts("persistentvolumeclaim is being deleted",
                     {{"PersistentVolumeClaim", full_name}});
  }
  if (claim.status.phase == "Lost") {
    return WithFacts(
        "persistentvolumeclaim bound to non-existent persistentvolume",
        {{"PersistentVolume", claim.spec.volume_name}, {"PersistentVolumeClaim", full_name}});
  }
  std::string wrong = claim.spec.volume_name.empty()
                          ? WrongWithUnbound(claim, full_name, storage, rules)
                          : WrongWithBound(claim, full_name, storage);
  if (!wrong.empty()) return wrong;
  const auto driver = storage.DriverOf(claim);
  if (driver.ok() && std::ranges::find(rules.unsupported_provisioners, *driver) !=
                         rules.unsupported_provisioners.end()) {
    return WithFacts("failed to validate pvc, provisioner is not supported",
                     {{"PersistentVolumeClaim", full_name},
                      {"Provisioner", *driver},
                      {"StorageClass", claim.spec.storage_class_name.value_or("")}});
  }
  return "";
}

}  // namespace

bool IsTerminal(const model::Pod& pod) {
  return pod.status.phase == "Failed" || pod.status.phase == "Succeeded";
}
bool IsTerminating(const model::Pod& pod) { return pod.metadata.deletion_timestamp.has_value(); }
bool IsActive(const model::Pod& pod) { return !IsTerminal(pod) && !IsTerminating(pod); }

bool IsOwnedBy(const model::Pod& pod, std::string_view api_version, std::string_view kind) {
  return std::ranges::any_of(pod.metadata.owner_references,
                             [&](const model::OwnerReference& owner) {
                               return owner.api_version == api_version && owner.kind == kind;
                             });
}

bool IsProvisionable(const model::Pod& pod) {
  const bool given_up =
      std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& condition) {
        return condition.type == "PodScheduled" && condition.reason == "Unschedulable";
      });
  // What an unreadable one asks for is not known: nothing is bought for it.
  return given_up && !pod.metadata.unreadable && pod.spec.node_name.empty() &&
         pod.status.nominated_node_name.empty() && !IsOwnedBy(pod, "apps/v1", "DaemonSet") &&
         !IsOwnedBy(pod, "v1", "Node");
}

bool IsReschedulable(const model::Pod& pod) {
  return (IsActive(pod) || (IsOwnedBy(pod, "apps/v1", "StatefulSet") && IsTerminating(pod))) &&
         !IsOwnedBy(pod, "apps/v1", "DaemonSet") && !IsOwnedBy(pod, "v1", "Node");
}

Protection ProtectionOf(const model::Pod& pod, TimePoint now) {
  using enum Protection::What;
  const std::string* value = pod.metadata.annotations.Find(kDoNotDisrupt);
  if (value == nullptr) return {};
  if (*value == "true") return {.what = kAlways};
  const auto duration = ParseGoDuration(*value);
  if (!duration.ok()) {
    return {.what = kInvalid,
            .wrong = fmt::format("failed to parse \"{}\" as a duration: {}", *value,
                                 duration.status().message())};
  }
  if (*duration <= Duration::zero())
    return {.what = kInvalid, .wrong = fmt::format("duration \"{}\" must be positive", *value)};
  if (!pod.status.start_time) return {.what = kUntil};
  const TimePoint until = Later(pod.status.start_time->at, *duration);
  return {.what = now < until ? kUntil : kElapsed, .until = until};
}

bool IsDoNotDisruptActive(const model::Pod& pod, TimePoint now) {
  if (pod.metadata.unreadable) return true;  // what it says about that may be what is missing
  return ProtectionOf(pod, now).active();
}

bool HasDeviceClaims(const model::Pod& pod) {
  const auto claims = [](const model::Container& container) {
    return !container.resources.claims.empty();
  };
  return !pod.spec.resource_claims.empty() || std::ranges::any_of(pod.spec.containers, claims) ||
         std::ranges::any_of(pod.spec.init_containers, claims);
}

bool IsEvictable(const model::Pod& pod, TimePoint now) {
  static const std::vector<model::Taint> kDisrupted = {
      {.key = "karpenter.sh/disrupted", .effect = "NoSchedule"}};
  return IsActive(pod) && !ToleratesAll(kDisrupted, pod.spec.tolerations) &&
         !IsOwnedBy(pod, "v1", "Node") && !IsDoNotDisruptActive(pod, now);
}

namespace {

bool BlocksForGood(const model::PodDisruptionBudget& budget) {
  const auto& most = budget.spec.max_unavailable;
  const auto& least = budget.spec.min_available;
  return (most && (most->is_string ? most->text == "0%" : most->number == 0)) ||
         (least && least->is_string && least->text == "100%");
}

// More than one budget, or one that never allows anything.
bool IsBlockedForGood(const model::Pod& pod, const Budgets& budgets, TimePoint now) {
  if (!IsEvictable(pod, now)) return false;
  std::vector<const model::PodDisruptionBudget*> matching;
  for (const auto& budget : budgets) {
    if (budget->metadata.namespace_ != pod.metadata.namespace_) continue;
    const auto selector = model::Selector::From(budget->spec.selector);
    if (selector.ok() && selector->Matches(pod.metadata.labels)) matching.push_back(budget.get());
  }
  if (matching.size() != 1) return matching.size() > 1;
  const model::PodDisruptionBudget& budget = *matching.front();
  const bool unhealthy =
      std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& condition) {
        return condition.type == "Ready" && condition.status == "False";
      });
  if (unhealthy && budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow") return false;
  return BlocksForGood(budget);
}

}  // namespace

bool IsCurrentlyReschedulable(const model::Pod& pod, const Budgets& budgets, TimePoint now) {
  const bool disruptable = !IsActive(pod) || !IsDoNotDisruptActive(pod, now);
  return IsReschedulable(pod) && disruptable && !IsBlockedForGood(pod, budgets, now);
}

std::optional<PodRefusal> Validate(const model::Pod& pod, const StorageIndex& storage,
                                   const model::LabelRules& labels, const StorageRules& rules) {
  Reasons reasons;
  bool silent = false;
  const auto demands = model::RequirementsOf(pod, model::PodDemands::kPreferred, labels);
  const auto* pool = demands.Find(model::kNodePoolLabel);
  if (pool != nullptr && pool->op() == model::NodeRequirement::Operator::kDoesNotExist) {
    silent = true;
    reasons.push_back(
        "configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool "
        "DoesNotExist)");
  }
  for (const auto& [label, value] : pod.spec.node_selector) {
    NoteTerm({.match_expressions = {{.key = label, .operator_ = "In", .values = {value}}}}, labels,
             reasons);
  }
  if (pod.spec.affinity && pod.spec.affinity->node_affinity &&
      pod.spec.affinity->node_affinity->required) {
    for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms)
      NoteTerm(term, labels, reasons);
  }
  for (const model::Volume& volume : pod.spec.volumes) {
    std::string wrong = WrongWithVolume(pod, volume, storage, rules);
    if (wrong.empty()) continue;
    reasons.push_back(std::move(wrong));
    break;
  }
  if (reasons.empty()) return std::nullopt;
  return PodRefusal{.text = Join(reasons, "; "), .silent = silent};
}

}  // namespace coppice::provision
