// Every slot of the engine, filled with a processor that notes when it is asked: the order is
// upstream's loop. And what some of them can change. Long because there are fifteen slots, and each is
// filled by a processor of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/support/opened_engine_rig.h"

namespace coppice::autoscale {
namespace {

using namespace autoscale;  // NOLINT: the slots' names are what this test is about
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Calls = std::vector<std::string>;

struct Custom final : CustomResourcesProcessor {
  explicit Custom(Calls& c) : calls(c) {}
  bool DevicesMissing(const model::Node& node,
                      const std::function<bool(const model::Node&)>& standard) override {
    calls.push_back("custom-resources");
    return standard(node);
  }
  Calls& calls;
};
struct Actionable final : ActionableClusterProcessor {
  explicit Actionable(Calls& c) : calls(c) {}
  Result<std::string> ShouldAbort(const std::vector<ListedNode>&, const PassView&) override {
    calls.push_back("actionable-cluster");
    return abort;
  }
  Calls& calls;
  std::string abort;
};
struct LoopStart final : LoopStartObserver {
  explicit LoopStart(Calls& c) : calls(c) {}
  void Refresh(const PassView& view) override {
    calls.push_back("loop-start");
    EXPECT_TRUE(view.extra.empty());
    view.extra["from"] = std::string("loop-start");
  }
  Calls& calls;
};
struct NodeInfo final : TemplateProcessor {
  explicit NodeInfo(Calls& c) : calls(c) {}
  Result<TemplatesByGroup> Process(TemplatesByGroup standard, const std::vector<ListedNode>&,
                                   const PassView&) override {
    calls.push_back("node-info");
    return standard;
  }
  Calls& calls;
};
struct PodList final : PodListProcessor {
  explicit PodList(Calls& c) : calls(c) {}
  Result<Pods> Process(Pods pods, const std::function<Pods(Pods)>& standard,
                       const PassView& view) override {
    calls.push_back("pod-list");
    EXPECT_EQ(std::any_cast<std::string>(view.extra.at("from")), "loop-start");
    return standard(std::move(pods));
  }
  Calls& calls;
};
struct Enforcer final : ScaleUpEnforcer {
  explicit Enforcer(Calls& c) : calls(c) {}
  bool ForceScaleUp(const Pods&, const PassView&) override {
    calls.push_back("scale-up-enforcer");
    return false;
  }
  Calls& calls;
};
struct GroupList final : NodeGroupListProcessor {
  explicit GroupList(Calls& c) : calls(c) {}
  Result<List> Process(List list, const Pods&) override {
    calls.push_back("node-group-list");
    return list;
  }
  Calls& calls;
};
struct Limiter final : BinpackingLimiter {
  explicit Limiter(Calls& c) : calls(c) {}
  void Begin(const std::vector<std::string>&) override { calls.push_back("limiter begins"); }
  bool Stop(std::string_view, const std::vector<expand::Option>&) override {
    calls.push_back("limiter asked");
    return false;
  }
  void End(std::vector<expand::Option>&) override { calls.push_back("limiter ends"); }
  Calls& calls;
};
struct GroupSet final : NodeGroupSetProcessor {
  explicit GroupSet(Calls& c) : calls(c) {}
  Result<std::vector<std::string>> FindSimilar(const std::string&,
                                               const TemplatesByGroup&) override {
    return std::vector<std::string>{};
  }
  Result<std::vector<GroupSize>> Balance(std::vector<GroupSize> groups, int nodes) override {
    calls.push_back("node-group-set");
    return autoscale::Balance(std::move(groups), nodes);
  }
  Calls& calls;
};
struct UpStatus final : ScaleUpStatusProcessor {
  explicit UpStatus(Calls& c) : calls(c) {}
  void Process(const report::ScaleUp& status,
               const std::function<void(const report::ScaleUp&)>& standard,
               const PassView&) override {
    calls.push_back("scale-up-status");
    standard(status);
  }
  Calls& calls;
};
struct DownNode final : ScaleDownNodeProcessor {
  explicit DownNode(Calls& c) : calls(c) {}
  Result<Names> Candidates(Names standard, const std::vector<ListedNode>&,
                           const PassView&) override {
    calls.push_back("scale-down-node");
    return standard;
  }
  Calls& calls;
};
struct DownStatus final : ScaleDownStatusProcessor {
  explicit DownStatus(Calls& c) : calls(c) {}
  void Process(const report::ScaleDown&, const PassView&) override {
    calls.push_back("scale-down-status");
  }
  Calls& calls;
};
struct OverallStatus final : AutoscalingStatusProcessor {
  explicit OverallStatus(Calls& c) : calls(c) {}
  void Process(const report::ClusterStatus& status, const PassView&) override {
    calls.push_back("autoscaling-status");
    EXPECT_EQ(status.groups.size(), 1U);
  }
  Calls& calls;
};
struct CandidatesSeen final : ScaleDownCandidatesObserver {
  explicit CandidatesSeen(Calls& c) : calls(c) {}
  void UpdateCandidates(const std::vector<std::string>&, TimePoint) override {
    calls.push_back("scale-down-candidates");
  }
  Calls& calls;
};
struct StateSeen final : ScaleStateObserver {
  explicit StateSeen(Calls& c) : calls(c) {}
  void ScaledUp(std::string_view group, int delta, TimePoint) override {
    calls.push_back("scaled up " + std::string(group) + " by " + std::to_string(delta));
  }
  void ScaledDown(std::string_view, TimePoint) override {}
  void ScaleUpFailed(std::string_view, const cloud::MachineError&, TimePoint) override {}
  void ScaleDownFailed(std::string_view, TimePoint) override {}
  Calls& calls;
};

class ProcessorSlotsTest : public test::OpenedEngineRig {
 protected:
  ProcessorSlotsTest() { config_ = dir_.Write("groups.yaml", kGroups); }

  // Registers a processor of type P under the name "test" and asks for it.
  template <class P, class Registry>
  void Use(Registry& registry, const std::string& slot) {
    registry.Add("test", [this](const ProcessorContext&) {
      using Made = decltype(registry.Make("", std::declval<const ProcessorContext&>()));
      return Made(std::make_unique<P>(calls_));
    });
    flags_.push_back("--processor=" + slot + "=test");
  }
  void UseAll() {
    ProcessorRegistry& r = plugins_.processors;
    Use<Custom>(r.custom_resources, "custom-resources");
    Use<Actionable>(r.actionable_cluster, "actionable-cluster");
    Use<LoopStart>(r.loop_start, "loop-start");
    Use<NodeInfo>(r.node_info, "node-info");
    Use<PodList>(r.pod_list, "pod-list");
    Use<Enforcer>(r.scale_up_enforcer, "scale-up-enforcer");
    Use<GroupList>(r.node_group_list, "node-group-list");
    Use<Limiter>(r.binpacking_limiter, "binpacking-limiter");
    Use<GroupSet>(r.node_group_set, "node-group-set");
    Use<UpStatus>(r.scale_up_status, "scale-up-status");
    Use<DownNode>(r.scale_down_node, "scale-down-node");
    Use<DownStatus>(r.scale_down_status, "scale-down-status");
    Use<OverallStatus>(r.autoscaling_status, "autoscaling-status");
    Use<CandidatesSeen>(r.scale_down_candidates, "scale-down-candidates");
    Use<StateSeen>(r.scale_state, "scale-state");
  }

  std::shared_ptr<const report::PassReport> Pass() {
    std::vector<std::string> args = {"--cloud-provider=simulated", "--cloud-config=" + config_,
                                     "--upstream-exact"};
    std::ranges::copy(flags_, std::back_inserter(args));
    assembly_.reset();
    assembly_ = MUST(Make(std::move(args)));
    return PassOf(*assembly_);
  }

  std::string config_;
  Calls calls_;
  std::vector<std::string> flags_;
  std::unique_ptr<Assembled> assembly_;
};

TEST_F(ProcessorSlotsTest, SlotsAreAskedInTheOrderOfTheLoop) {
  UseAll();
  AddPendingPod();
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.resizes.size(), 1U);
  EXPECT_THAT(
      calls_,
      ElementsAre("actionable-cluster", "loop-start", "node-info", "pod-list", "scale-up-enforcer",
                  "node-group-list", "limiter begins", "limiter asked", "limiter ends",
                  "node-group-set", "scaled up web by 1", "scale-up-status", "scale-down-node",
                  "scale-down-candidates", "scale-down-status", "autoscaling-status"));
}

// As when the scheduler binds a pod while the pass waits for the cloud.
TEST_F(ProcessorSlotsTest, APassSeesOneWorldWhateverComesMeanwhile) {
  struct Binds final : LoopStartObserver {
    explicit Binds(Calls&) {}
    void Refresh(const PassView& view) override {
      model::Pod pod = *view.world.FindPod("default", "web-1");
      pod.spec.node_name = "n";
      view.world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
    }
  };
  Use<Binds>(plugins_.processors.loop_start, "loop-start");
  model::Node node;
  node.metadata.name = "n";
  node.status.allocatable["cpu"] = model::Quantity::FromUnits(4);
  node.status.allocatable["pods"] = model::Quantity::FromUnits(110);
  node.status.conditions.push_back({.type = "Ready", .status = "True"});
  world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  AddPendingPod();
  EXPECT_THAT(Pass()->scale_up.resizes, IsEmpty());  // it fits on the node
  EXPECT_EQ(world_.BoundTo("n").size(), 1U);
}

TEST_F(ProcessorSlotsTest, AnEmptyClusterCanBeLeftAlone) {
  struct Abort final : ActionableClusterProcessor {
    explicit Abort(Calls&) {}
    Result<std::string> ShouldAbort(const std::vector<ListedNode>& nodes,
                                    const PassView&) override {
      return nodes.empty() ? "there is no node yet" : "";
    }
  };
  Use<Abort>(plugins_.processors.actionable_cluster, "actionable-cluster");
  AddPendingPod();
  EXPECT_THAT(Pass()->scale_up.resizes, IsEmpty());
  ASSERT_EQ(writer_.events.size(), 1U);
  EXPECT_EQ(writer_.events[0].text, "there is no node yet");
}

TEST_F(ProcessorSlotsTest, APodListThatFailsBuysNothing) {
  struct Fails final : PodListProcessor {
    explicit Fails(Calls&) {}
    Result<Pods> Process(Pods, const std::function<Pods(Pods)>&, const PassView&) override {
      return Unavailable("no");
    }
  };
  Use<Fails>(plugins_.processors.pod_list, "pod-list");
  AddPendingPod();
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kNotNeeded);
}

TEST_F(ProcessorSlotsTest, AnEnforcerBuysForAPodThatIsTooNew) {
  struct Force final : ScaleUpEnforcer {
    explicit Force(Calls&) {}
    bool ForceScaleUp(const Pods& pods, const PassView&) override { return !pods.empty(); }
  };
  AddPendingPod(std::chrono::seconds(1));
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kInCooldown);
  Use<Force>(plugins_.processors.scale_up_enforcer, "scale-up-enforcer");
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
}

TEST_F(ProcessorSlotsTest, AGroupThatTheListLeavesOutIsNotBought) {
  struct None final : NodeGroupListProcessor {
    explicit None(Calls&) {}
    Result<List> Process(List list, const Pods&) override {
      list.groups.clear();
      return list;
    }
  };
  Use<None>(plugins_.processors.node_group_list, "node-group-list");
  AddPendingPod();
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kNoOptionsAvailable);
}

// The list offers a group that the provider does not have; the manager makes it (here: it is told
// which existing one takes its place).
TEST_F(ProcessorSlotsTest, AGroupThatDoesNotExistIsMadeWhenItIsChosen) {
  struct Offers final : NodeGroupListProcessor {
    explicit Offers(Calls&) {}
    Result<List> Process(List list, const Pods&) override {
      list.templates["fresh"] = list.templates.at("web");
      list.groups = {{.id = "fresh", .min_size = 0, .max_size = 1}};
      return list;
    }
  };
  struct Makes final : NodeGroupManager {
    explicit Makes(Calls& c) : calls(c) {}
    Result<std::string> Create(const std::string& group) override {
      calls.push_back("made " + group);
      return std::string("web");
    }
    Result<std::vector<std::string>> RemoveUnneeded() override {
      return std::vector<std::string>{};
    }
    Calls& calls;
  };
  Use<Offers>(plugins_.processors.node_group_list, "node-group-list");
  Use<Makes>(plugins_.processors.node_group_manager, "node-group-manager");
  AddPendingPod();
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
  EXPECT_THAT(calls_, ElementsAre("made fresh"));
  EXPECT_EQ(MUST(assembly_->groups().TargetSize("web")), 1);
}

TEST_F(ProcessorSlotsTest, AGroupThatDoesNotExistIsDearerThanOneThatDoes) {
  struct Offers final : NodeGroupListProcessor {
    explicit Offers(Calls&) {}
    Result<List> Process(List list, const Pods&) override {
      list.templates["fresh"] = list.templates.at("web");
      list.groups.insert(list.groups.begin(), {.id = "fresh", .min_size = 0, .max_size = 3});
      return list;
    }
  };
  Use<Offers>(plugins_.processors.node_group_list, "node-group-list");
  flags_.push_back("--expander=price");
  AddPendingPod();
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.options.size(), 2U);
  EXPECT_EQ(report->scale_up.chosen, "web");
}

TEST_F(ProcessorSlotsTest, AListOfGroupsThatFailsIsAnErrorAndBuysNothing) {
  struct Fails final : NodeGroupListProcessor {
    explicit Fails(Calls&) {}
    Result<List> Process(List, const Pods&) override { return Unavailable("no"); }
  };
  Use<Fails>(plugins_.processors.node_group_list, "node-group-list");
  AddPendingPod();
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kError);
  EXPECT_EQ(report->scale_up.error, "node group list: no");
}

TEST_F(ProcessorSlotsTest, AnOptionThatTheLimiterEmptiesIsNotBought) {
  struct Empties final : BinpackingLimiter {
    explicit Empties(Calls&) {}
    void Begin(const std::vector<std::string>&) override {}
    bool Stop(std::string_view, const std::vector<expand::Option>&) override { return true; }
    void End(std::vector<expand::Option>& options) override { options.front().node_count = 0; }
  };
  Use<Empties>(plugins_.processors.binpacking_limiter, "binpacking-limiter");
  AddPendingPod();
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kNoOptionsAvailable);
  EXPECT_EQ(report->scale_up.chosen, "");
}

// Of two groups in different zones, by a processor's word.
TEST_F(ProcessorSlotsTest, WhichGroupsAreSimilarIsAProcessorsWordAndItsFailureMeansNone) {
  struct Set : NodeGroupSetProcessor {
    explicit Set(Calls&) {}
    Result<std::vector<std::string>> FindSimilar(const std::string& group,
                                                 const TemplatesByGroup&) override {
      return std::vector<std::string>{group == "web" ? "more" : "web"};
    }
    Result<std::vector<GroupSize>> Balance(std::vector<GroupSize> groups, int nodes) override {
      return autoscale::Balance(std::move(groups), nodes);
    }
  };
  struct Fails final : Set {
    using Set::Set;
    Result<std::vector<std::string>> FindSimilar(const std::string&,
                                                 const TemplatesByGroup&) override {
      return Unavailable("no");
    }
  };
  config_ = dir_.Write("groups.yaml",
                       "clusterTag: a\ncloud: {kind: simulated, seed: 1}\n"
                       "nodeGroups: [{name: web, maxSize: 5, flavor: small-2-4, zone: north1},\n"
                       "             {name: more, maxSize: 5, flavor: small-2-4, zone: north2}]\n");
  flags_.push_back("--balance-similar-node-groups");
  AddPendingPod(std::chrono::minutes(1), "web-1", "1500m");
  AddPendingPod(std::chrono::minutes(1), "web-2", "1500m");
  const auto flags = flags_;
  Use<Set>(plugins_.processors.node_group_set, "node-group-set");
  EXPECT_EQ(Pass()->scale_up.resizes.size(), 2U);
  flags_ = flags;
  plugins_.processors.node_group_set.Add("failing", [this](const ProcessorContext&) {
    using Made = decltype(plugins_.processors.node_group_set.Make(
        "", std::declval<const ProcessorContext&>()));
    return Made(std::make_unique<Fails>(calls_));
  });
  flags_.push_back("--processor=node-group-set=failing");
  const auto report = Pass();
  ASSERT_EQ(report->scale_up.resizes.size(), 1U);
  EXPECT_EQ(report->scale_up.resizes[0].to, 2);
}

TEST_F(ProcessorSlotsTest, OptionsOfAGroupCanComeFromAProcessor) {
  struct ToTheMax final : NodeGroupConfigProcessor {
    explicit ToTheMax(Calls&) {}
    cloud::ScalingOptions OptionsOf(std::string_view,
                                    const cloud::ScalingOptions& standard) override {
      cloud::ScalingOptions options = standard;
      options.zero_or_max_node_scaling = true;
      return options;
    }
  };
  Use<ToTheMax>(plugins_.processors.node_group_config, "node-group-config");
  AddPendingPod();
  const auto report = Pass();
  ASSERT_EQ(report->scale_up.resizes.size(), 1U);
  EXPECT_EQ(report->scale_up.resizes[0].to, 5);
}

}  // namespace
}  // namespace coppice::autoscale
