#include "drain/rules.h"

#include <algorithm>

#include "base/strings.h"
#include "model/pod_kinds.h"

namespace coppice::drain {
namespace {

using model::IsDaemonSetPod;
using model::IsMirrorPod;
using model::OwnerReference;
using model::Pod;

constexpr auto kLongTerminatingMargin = std::chrono::seconds(30);

Verdict Undefined() { return {}; }
Verdict Ok() { return {.outcome = Outcome::kOk}; }
Verdict Skip() { return {.outcome = Outcome::kSkip}; }
Verdict Block(BlockingReason reason, std::string text) {
  return {.outcome = Outcome::kBlock, .reason = reason, .text = std::move(text)};
}

std::string FullName(const Pod& pod) { return pod.metadata.namespace_ + "/" + pod.metadata.name; }

bool Annotated(const Pod& pod, std::string_view key, std::string_view value) {
  const std::string* said = pod.metadata.annotations.Find(key);
  return said != nullptr && *said == value;
}

// "apps" of "apps/v1", "" of "v1", nothing of what is neither.
std::optional<std::string_view> GroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == api_version.npos) return "";
  if (api_version.find('/', slash + 1) != api_version.npos) return std::nullopt;
  return api_version.substr(0, slash);
}

Verdict Unreadable(const Pod& pod, const Context&) {
  if (!pod.metadata.unreadable) return Undefined();
  return Block(BlockingReason::kUnreadable,
               "pod " + FullName(pod) + " cannot be read, so nobody knows whether it may go: " +
                   pod.metadata.unreadable->what);
}

Verdict Mirror(const Pod& pod, const Context&) { return IsMirrorPod(pod) ? Skip() : Undefined(); }

Verdict LongTerminating(const Pod& pod, const Context& context) {
  return IsLongTerminating(pod, context.now) ? Skip() : Undefined();
}

Verdict ReplicaCount(const Pod& pod, const Context& context, int min_replicas) {
  const OwnerReference* owner = model::ControllerOf(pod.metadata);
  if (context.controllers == nullptr || owner == nullptr) return Undefined();
  const auto group = GroupOf(owner->api_version);
  if (!group) return Undefined();
  const std::string& kind = owner->kind;
  const bool counts = kind == "ReplicationController" || kind == "ReplicaSet";
  if (kind != "ReplicationController" && IsDaemonSetPod(pod)) {
    // A pod that is only said to be a DaemonSet's has a controller that we do not list.
    if (*group != "apps" || kind != "DaemonSet") return Undefined();
  } else if (kind == "StatefulSet") {
    if (*group != "apps") return Undefined();
  } else if (!counts && kind != "Job") {
    return Undefined();
  }
  const auto found = context.controllers->Find(kind, pod.metadata.namespace_, owner->name);
  if (!found) {
    return Block(BlockingReason::kControllerNotFound,
                 kind + " " + owner->name + " of pod " + FullName(pod) + " does not exist");
  }
  if (counts && found->replicas && *found->replicas < min_replicas) {
    return Block(BlockingReason::kMinReplicasReached,
                 kind + " " + owner->name + " of pod " + FullName(pod) + " has " +
                     std::to_string(*found->replicas) + " replicas, below the minimum of " +
                     std::to_string(min_replicas));
  }
  return Undefined();
}

Verdict DaemonSet(const Pod& pod, const Context&) {
  return IsDaemonSetPod(pod) ? Ok() : Undefined();
}

Verdict SafeToEvict(const Pod& pod, const std::string& annotation) {
  return Annotated(pod, annotation, "true") ? Ok() : Undefined();
}

Verdict Terminal(const Pod& pod, const Context&) {
  const std::string& restart = pod.spec.restart_policy;
  const bool over =
      pod.status.phase == "Failed" ||
      (pod.status.phase == "Succeeded" && (restart == "Never" || restart == "OnFailure"));
  return over ? Ok() : Undefined();
}

Verdict OnCompletion(const Pod& pod, const std::string& annotation) {
  if (!Annotated(pod, annotation, "on-completion")) return Undefined();
  return {.outcome = Outcome::kWaitForCompletion};
}

Verdict Replicated(const Pod& pod, bool only_known_kinds) {
  const OwnerReference* owner = model::ControllerOf(pod.metadata);
  if (owner == nullptr) {
    return Block(BlockingReason::kNotReplicated,
                 "pod " + FullName(pod) + " has no controller to bring it back");
  }
  constexpr std::string_view kKinds[] = {"ReplicationController", "Job", "ReplicaSet",
                                         "StatefulSet"};
  if (only_known_kinds && std::ranges::find(kKinds, owner->kind) == std::end(kKinds)) {
    return Block(BlockingReason::kNotReplicated, "pod " + FullName(pod) + " belongs to a " +
                                                     owner->kind +
                                                     ", which is not known to bring it back");
  }
  return Undefined();
}

Verdict System(const Pod& pod, const Context& context, Duration timeout) {
  if (pod.metadata.namespace_ != "kube-system" || context.budgets.HasBudget(pod))
    return Undefined();
  const auto& created = pod.metadata.creation_timestamp;
  if (created && context.now > created->at + timeout) return Ok();  // and later rules are not asked
  return Block(BlockingReason::kUnmovableKubeSystemPod,
               "pod " + FullName(pod) + " belongs to the system and has no disruption budget");
}

Verdict NotSafeToEvict(const Pod& pod, const std::string& annotation) {
  if (!Annotated(pod, annotation, "false")) return Undefined();
  return Block(BlockingReason::kNotSafeToEvictAnnotation,
               "pod " + FullName(pod) + " is annotated as not safe to evict");
}

Verdict LocalStorage(const Pod& pod, const std::string& safe_volumes) {
  std::vector<std::string> safe;
  if (const std::string* listed = pod.metadata.annotations.Find(safe_volumes);
      listed != nullptr && !listed->empty()) {
    safe = Split(*listed, ',');  // blanks are part of the names, as upstream has it
  }
  for (const model::Volume& volume : pod.spec.volumes) {
    const bool local =
        volume.host_path || (volume.empty_dir && volume.empty_dir->medium != "Memory");
    if (local && std::ranges::find(safe, volume.name) == safe.end()) {
      return Block(BlockingReason::kLocalStorageRequested,
                   "pod " + FullName(pod) + " keeps data on the machine in volume " + volume.name);
    }
  }
  return Undefined();
}

Verdict Pdb(const Pod& pod, const Context& context) {
  const std::string* budget = context.budgets.ExhaustedBudget(pod);
  if (budget == nullptr) return Undefined();
  return Block(BlockingReason::kNotEnoughPdb,
               "disruption budget " + *budget + " allows no disruption of pod " + FullName(pod));
}

}  // namespace

std::string_view ToString(BlockingReason reason) {
  switch (reason) {
    case BlockingReason::kNone:
      return "NoReason";
    case BlockingReason::kControllerNotFound:
      return "ControllerNotFound";
    case BlockingReason::kMinReplicasReached:
      return "MinReplicasReached";
    case BlockingReason::kNotReplicated:
      return "NotReplicated";
    case BlockingReason::kLocalStorageRequested:
      return "LocalStorageRequested";
    case BlockingReason::kNotSafeToEvictAnnotation:
      return "NotSafeToEvictAnnotation";
    case BlockingReason::kUnmovableKubeSystemPod:
      return "UnmovableKubeSystemPod";
    case BlockingReason::kNotEnoughPdb:
      return "NotEnoughPdb";
    case BlockingReason::kUnexpectedError:
      return "UnexpectedError";
    case BlockingReason::kUnreadable:
      return "Unreadable";
  }
  return "";
}

namespace {
std::string KeyOf(std::string_view kind, std::string_view namespace_, std::string_view name) {
  std::string key;
  key.reserve(kind.size() + namespace_.size() + name.size() + 2);
  return key.append(kind).append("/").append(namespace_).append("/").append(name);
}
}  // namespace

void ListedControllers::Add(std::string_view kind, const model::ObjectMeta& meta,
                            std::optional<int32_t> replicas) {
  by_key_[KeyOf(kind, meta.namespace_, meta.name)] = {.replicas = replicas};
}

std::optional<Controllers::Found> ListedControllers::Find(std::string_view kind,
                                                          std::string_view namespace_,
                                                          std::string_view name) const {
  const auto it = by_key_.find(KeyOf(kind, namespace_, name));
  if (it == by_key_.end()) return std::nullopt;
  return it->second;
}

std::vector<Rule> DefaultRules(const RuleOptions& options) {
  const bool known_kinds = options.skip_nodes_with_custom_controller_pods;
  const auto replica_count = [min = options.min_replica_count](const Pod& pod,
                                                               const Context& context) {
    return ReplicaCount(pod, context, min);
  };
  const auto replicated = [known_kinds](const Pod& pod, const Context&) {
    return Replicated(pod, known_kinds);
  };
  const auto system = [timeout = options.blocking_system_pod_timeout](const Pod& pod,
                                                                      const Context& context) {
    return System(pod, context, timeout);
  };

  // What a pod says of itself, by the engine's own annotations.
  using Said = Verdict (*)(const Pod&, const std::string&);
  const auto by = [&options](Said judge, std::string_view annotation) {
    std::string name;
    if (!options.annotation_prefix.empty())
      name.append(options.annotation_prefix).append(annotation);
    return [judge, name](const Pod& pod, const Context&) { return judge(pod, name); };
  };

  struct Entry {
    Rule rule;
    bool applies = true;
  };
  const Entry all[] = {
      {{"Unreadable", Unreadable}},            // first: the others judge by fields that it may lack
      {{"Mirror", Mirror}},                    // the kubelet owns it: nothing below may judge it
      {{"LongTerminating", LongTerminating}},  // as good as gone, whatever it was
      {{"ReplicaCount", replica_count},
       known_kinds},               // before DaemonSet: a DaemonSet pod can be an orphan, too
      {{"DaemonSet", DaemonSet}},  // not moved, so nothing below can mind
      {{"SafeToEvict",
        by(SafeToEvict, "safe-to-evict")}},  // the owner's word, above every doubt below
      {{"Terminal", Terminal}},              // nothing left to lose
      {{"OnCompletion", by(OnCompletion, "safe-to-evict")}},  // waits instead of blocking
      {{"Replicated", replicated}},  // from here on: reasons to keep the node
      {{
           "System",
           system,
       },
       options.skip_nodes_with_system_pods},  // an old one is let go, past the rules below
      {{"NotSafeToEvict", by(NotSafeToEvict, "safe-to-evict")}},
      {{"LocalStorage", by(LocalStorage, "safe-to-evict-local-volumes")},
       options.skip_nodes_with_local_storage},
      {{"PDB", Pdb}},  // last, for it is the only one that changes by itself from minute to minute
  };
  std::vector<Rule> rules;
  for (const Entry& entry : all) {
    if (!entry.applies) continue;
    rules.push_back(entry.rule);
    rules.back().lasts = entry.rule.name != "PDB";
  }
  return rules;
}

Verdict JudgePod(const std::vector<Rule>& rules, const Pod& pod, const Context& context) {
  std::vector<Verdict> waiting;
  for (const Rule& rule : rules) {
    Verdict verdict = rule.judge(pod, context);
    verdict.rule = rule.name;
    if (!verdict.overrides.empty()) {
      waiting.push_back(std::move(verdict));
      continue;
    }
    for (Verdict& earlier : waiting) {
      if (std::ranges::find(earlier.overrides, verdict.outcome) != earlier.overrides.end())
        return std::move(earlier);
    }
    if (verdict.outcome != Outcome::kUndefined) return verdict;
  }
  return Undefined();
}

PodsToMove FindPodsToMove(const std::vector<Rule>& rules, const std::vector<const Pod*>& pods,
                          const Context& context) {
  PodsToMove result;
  for (const Pod* pod : pods) {
    Verdict verdict = JudgePod(rules, *pod, context);
    switch (verdict.outcome) {
      case Outcome::kUndefined:
      case Outcome::kOk:
        (IsDaemonSetPod(*pod) ? result.daemon_set : result.movable).push_back(pod);
        break;
      case Outcome::kSkip:
        break;
      case Outcome::kWaitForCompletion:
        result.on_completion.push_back(pod);
        break;
      case Outcome::kBlock:
        result.blocking = pod;
        result.blocked_by = std::move(verdict);
        return result;
    }
  }
  return result;
}

bool IsLongTerminating(const Pod& pod, TimePoint now) {
  if (!pod.metadata.deletion_timestamp) return false;
  // The deletion timestamp already contains the grace period; upstream adds it once more.
  const std::chrono::seconds grace(
      pod.spec.termination_grace_period_seconds.value_or(model::kDefaultGraceSeconds));
  return pod.metadata.deletion_timestamp->at + grace + kLongTerminatingMargin < now;
}

}  // namespace coppice::drain
