#include "drain/rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "test/support/must.h"

namespace coppice::drain {
namespace {

using model::Pod;

const TimePoint kNow{std::chrono::hours(500'000)};
constexpr const char* kOurs = "cluster-autoscaler.kubernetes.io/";

Pod OwnedBy(std::string kind, std::string api_version = "apps/v1") {
  Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "default";
  pod.metadata.creation_timestamp = model::Time{kNow - std::chrono::hours(3)};
  pod.metadata.owner_references = {{.api_version = std::move(api_version),
                                    .kind = std::move(kind),
                                    .name = "owner",
                                    .controller = true}};
  pod.status.phase = "Running";
  return pod;
}

Pod With(Pod pod, const std::function<void(Pod&)>& change) {
  change(pod);
  return pod;
}

Pod Annotated(std::string key, std::string value, Pod pod = OwnedBy("ReplicaSet")) {
  pod.metadata.annotations[key] = std::move(value);
  return pod;
}

Pod SafeToEvict(std::string value, Pod pod = OwnedBy("ReplicaSet")) {
  return Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", std::move(value),
                   std::move(pod));
}

Pod InSystem(std::chrono::minutes age) {
  return With(OwnedBy("ReplicaSet"), [&](Pod& pod) {
    pod.metadata.namespace_ = "kube-system";
    pod.metadata.creation_timestamp = model::Time{kNow - age};
  });
}

Pod WithVolume(model::Volume volume) {
  return With(OwnedBy("ReplicaSet"), [&](Pod& pod) { pod.spec.volumes = {std::move(volume)}; });
}

Pod Terminating(std::chrono::seconds ago, int64_t grace) {
  return With(OwnedBy("ReplicaSet"), [&](Pod& pod) {
    pod.metadata.deletion_timestamp = model::Time{kNow - ago};
    pod.spec.termination_grace_period_seconds = grace;
  });
}

ListedControllers Owners() {
  ListedControllers all;
  for (const char* namespace_ : {"default", "kube-system"}) {
    const model::ObjectMeta meta{.name = "owner", .namespace_ = namespace_};
    for (const char* kind : {"ReplicaSet", "ReplicationController"}) all.Add(kind, meta, 2);
    for (const char* kind : {"StatefulSet", "DaemonSet", "Job"}) all.Add(kind, meta);
  }
  return all;
}

struct Case {
  std::string name;
  Pod pod;
  Outcome outcome;
  std::string_view rule;
  BlockingReason reason = BlockingReason::kNone;
  RuleOptions options = {};
};

class DrainRulesTest : public testing::TestWithParam<Case> {};

TEST_P(DrainRulesTest, Decides) {
  const PdbTracker no_budgets;
  const ListedControllers owners = Owners();
  const Context context{.budgets = no_budgets, .controllers = &owners, .now = kNow};

  RuleOptions options = GetParam().options;
  options.annotation_prefix = kOurs;
  const Verdict verdict = JudgePod(DefaultRules(options), GetParam().pod, context);

  EXPECT_EQ(verdict.outcome, GetParam().outcome) << verdict.text;
  EXPECT_EQ(verdict.rule, GetParam().rule);
  EXPECT_EQ(ToString(verdict.reason), ToString(GetParam().reason));
  EXPECT_EQ(verdict.text.empty(), verdict.outcome != Outcome::kBlock);
}

using enum Outcome;
const model::Volume kEmptyDir{.name = "scratch", .empty_dir = model::EmptyDir{}};

INSTANTIATE_TEST_SUITE_P(
    Rows, DrainRulesTest,
    testing::ValuesIn(std::vector<Case>{
        {"OrdinaryPodMoves", OwnedBy("ReplicaSet"), kUndefined, ""},
        {"UnreadablePodBlocks",
         With(SafeToEvict("true"),
              [](Pod& p) { p.metadata.unreadable = model::Unreadable{.what = "spec: odd"}; }),
         kBlock, "Unreadable", BlockingReason::kUnreadable},
        {"MirrorPodStays", Annotated("kubernetes.io/config.mirror", ""), kSkip, "Mirror"},
        {"LongGoneIsIgnored", Terminating(std::chrono::seconds(61), 30), kSkip, "LongTerminating"},
        {"NotLongEnoughGoneMoves", Terminating(std::chrono::seconds(60), 30), kUndefined, ""},
        {"ControllerGone",
         With(OwnedBy("ReplicaSet"), [](Pod& p) { p.metadata.owner_references[0].name = "x"; }),
         kBlock, "ReplicaCount", BlockingReason::kControllerNotFound},
        {"OrphanedDaemonSetPodBlocks",
         With(OwnedBy("DaemonSet"), [](Pod& p) { p.metadata.owner_references[0].name = "x"; }),
         kBlock, "ReplicaCount", BlockingReason::kControllerNotFound},
        {"ForeignStatefulSetIsNotLookedUp",
         With(OwnedBy("StatefulSet", "apps.example.com/v1"),
              [](Pod& p) { p.metadata.owner_references[0].name = "x"; }),
         kUndefined, ""},
        {"ControllerOfNoReadableVersionIsNotLookedUp",
         With(OwnedBy("ReplicaSet", "apps//v1"),
              [](Pod& p) { p.metadata.owner_references[0].name = "x"; }),
         kUndefined, ""},
        {"TooFewReplicas",
         OwnedBy("ReplicationController", "v1"),
         kBlock,
         "ReplicaCount",
         BlockingReason::kMinReplicasReached,
         {.min_replica_count = 3}},
        {"EnoughReplicas",
         OwnedBy("ReplicaSet"),
         kUndefined,
         "",
         BlockingReason::kNone,
         {.min_replica_count = 2}},
        {"DaemonSetPod", OwnedBy("DaemonSet"), kOk, "DaemonSet"},
        {"SaidToBeDaemonSetPod",
         Annotated("cluster-autoscaler.kubernetes.io/daemonset-pod", "true",
                   OwnedBy("Custom", "x/v1")),
         kOk, "DaemonSet"},
        {"SafeToEvictWinsOverLocalStorage", SafeToEvict("true", WithVolume(kEmptyDir)), kOk,
         "SafeToEvict"},
        {"FailedPodIsOver", With(OwnedBy("ReplicaSet"), [](Pod& p) { p.status.phase = "Failed"; }),
         kOk, "Terminal"},
        {"SucceededPodThatRestartsIsNotOver",
         With(OwnedBy("ReplicaSet"),
              [](Pod& p) {
                p.status.phase = "Succeeded";
                p.spec.restart_policy = "Always";
              }),
         kUndefined, ""},
        {"OnCompletionWaits", SafeToEvict("on-completion"), kWaitForCompletion, "OnCompletion"},
        {"NakedPod", With(OwnedBy("Pod"), [](Pod& p) { p.metadata.owner_references.clear(); }),
         kBlock, "Replicated", BlockingReason::kNotReplicated},
        {"CustomController", OwnedBy("CloneSet"), kBlock, "Replicated",
         BlockingReason::kNotReplicated},
        {"CustomControllerIfAllowed",
         OwnedBy("CloneSet"),
         kUndefined,
         "",
         BlockingReason::kNone,
         {.skip_nodes_with_custom_controller_pods = false}},
        {"YoungSystemPod", InSystem(std::chrono::minutes(60)), kBlock, "System",
         BlockingReason::kUnmovableKubeSystemPod},
        {"OldSystemPodIsLetGoPastLaterRules",
         SafeToEvict("false", InSystem(std::chrono::minutes(61))), kOk, "System"},
        {"SystemPodIfAllowed",
         InSystem(std::chrono::minutes(1)),
         kUndefined,
         "",
         BlockingReason::kNone,
         {.skip_nodes_with_system_pods = false}},
        {"NotSafeToEvict", SafeToEvict("false"), kBlock, "NotSafeToEvict",
         BlockingReason::kNotSafeToEvictAnnotation},
        {"EmptyDirBlocks", WithVolume(kEmptyDir), kBlock, "LocalStorage",
         BlockingReason::kLocalStorageRequested},
        {"EmptyDirInMemoryDoesNot",
         WithVolume({.name = "m", .empty_dir = model::EmptyDir{.medium = "Memory"}}), kUndefined,
         ""},
        {"NamedVolumeIsSafe",
         Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "other,scratch",
                   WithVolume(kEmptyDir)),
         kUndefined, ""},
        {"NamesAreNotTrimmed",
         Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "other, scratch",
                   WithVolume(kEmptyDir)),
         kBlock, "LocalStorage", BlockingReason::kLocalStorageRequested},
    }),
    [](const auto& row) { return row.param.name; });

TEST(DrainRulesTest, ControllersThatAreNotKnownAreNotAskedFor) {
  const PdbTracker budgets;
  const Context context{.budgets = budgets, .controllers = nullptr, .now = kNow};
  EXPECT_EQ(
      JudgePod(DefaultRules({.annotation_prefix = kOurs}), OwnedBy("ReplicaSet"), context).outcome,
      kUndefined);
}

TEST(DrainRulesTest, EarlierVerdictMayOverrideALaterOne) {
  const PdbTracker budgets;
  const Context context{.budgets = budgets, .now = kNow};
  std::vector<Rule> rules = DefaultRules({.annotation_prefix = kOurs});
  rules.insert(rules.begin(), {"Ours", [](const Pod&, const Context&) {
                                 return Verdict{.outcome = kSkip, .overrides = {kBlock}};
                               }});
  EXPECT_EQ(JudgePod(rules, SafeToEvict("false"), context).rule, "Ours");
  EXPECT_EQ(JudgePod(rules, SafeToEvict("true"), context).rule, "SafeToEvict");
  EXPECT_EQ(JudgePod(rules, OwnedBy("ReplicaSet"), context).outcome, kUndefined);
}

TEST(DrainRulesTest, PodsAreGatheredUpToTheOneThatBlocks) {
  const PdbTracker budgets;
  const Context context{.budgets = budgets, .now = kNow};
  const Pod moves = OwnedBy("ReplicaSet");
  const Pod daemon = OwnedBy("DaemonSet");
  const Pod waits = SafeToEvict("on-completion");
  const Pod blocks = SafeToEvict("false");
  const PodsToMove result = FindPodsToMove(DefaultRules({.annotation_prefix = kOurs}),
                                           {&moves, &daemon, &waits, &blocks, &moves}, context);
  EXPECT_EQ(result.movable, std::vector<const Pod*>{&moves});
  EXPECT_EQ(result.daemon_set, std::vector<const Pod*>{&daemon});
  EXPECT_EQ(result.on_completion, std::vector<const Pod*>{&waits});
  EXPECT_EQ(result.blocking, &blocks);
  EXPECT_EQ(result.blocked_by.text, "pod default/pod is annotated as not safe to evict");
}

TEST(RulesTest, AnEngineHeedsItsOwnAnnotationsAndNobodyElses) {
  const PdbTracker no_budgets;
  const Context context{.budgets = no_budgets, .now = kNow};
  const Pod says_no = SafeToEvict("false");
  EXPECT_EQ(JudgePod(DefaultRules({.annotation_prefix = kOurs}), says_no, context).outcome,
            Outcome::kBlock);
  for (const char* prefix : {"other.example/", ""}) {
    EXPECT_EQ(JudgePod(DefaultRules({.annotation_prefix = prefix}), says_no, context).outcome,
              Outcome::kUndefined)
        << prefix;
  }
}

}  // namespace
}  // namespace coppice::drain
