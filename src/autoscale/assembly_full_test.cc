// What an autoscaler is put together from, and what is refused in a sentence before it begins.

#include "autoscale/assembly.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AssemblyTest : public test::EngineRig {
 protected:
  Status Refusal(const std::vector<std::string>& args) {
    return Assembly::Create({.flags = MUST(ParseFlags(args)),
                             .plugins = plugins_,
                             .world = world_,
                             .writer = writer_,
                             .executor = executor_,
                             .workers = inline_,
                             .rng = rng_,
                             .log = log_,
                             .metrics = metrics_,
                             .groups = groups_})
        .status();
  }
  static std::string SchedulerConfig(const std::string& text) {
    const std::string path = testing::TempDir() + "/assembly-scheduler.yaml";
    std::ofstream(path) << text;
    return path;
  }
  // A node that is full, and a pod that would need another one.
  void FillTheCluster() {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
    AddPod("big", "cpu", 4, "web-1");
    AddPod("waits", "cpu", 1);
  }
};

TEST_F(AssemblyTest, WhatIsNotRegisteredIsRefusedWithTheFlagThatNamesIt) {
  EXPECT_THAT(Refusal({"--expander=nobody"}).message(),
              AllOf(HasSubstr("--expander"), HasSubstr("nobody")));
  EXPECT_THAT(Refusal({"--processor=pod-list=nobody"}).message(), HasSubstr("nobody"));
  EXPECT_THAT(Refusal({"--scheduler-config-file=/does/not/exist"}).message(),
              HasSubstr("--scheduler-config-file=/does/not/exist"));
}

TEST_F(AssemblyTest, FiltersAreAskedAsTheSchedulersFileSays) {
  FillTheCluster();
  const std::string path = SchedulerConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled:\n"
      "      - name: NodeResourcesFit\n");
  Assemble({"--scheduler-config-file=" + path}, inline_, writer_);
  Pass();
  EXPECT_EQ(CallsOf("Increase"), 0U) << "nobody asks for room: the full node takes it";
  Assemble({}, inline_, writer_);
  Pass();
  EXPECT_EQ(CallsOf("Increase"), 1U);
}

TEST_F(AssemblyTest, AnExpanderFindsItsOwnFlagsAndTheProviderInItsContext) {
  struct KeepsAll final : expand::Expander {
    expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
      return options;
    }
  };
  std::string url;
  const cloud::NodeGroups* groups = nullptr;
  plugins_.expanders.Add("curious", [&](const expand::ExpanderContext& context) {
    url = context.settings.at("grpc-expander-url");
    groups = context.groups;
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<KeepsAll>());
  });
  const Status refusal = Refusal({"--expander=curious", "--grpc-expander-url=here:1"});
  EXPECT_TRUE(refusal.ok()) << refusal.message();
  EXPECT_EQ(url, "here:1");
  EXPECT_EQ(groups, &groups_);
}

TEST_F(AssemblyTest, ProcessorsOfTheFlagsAreInTheirSlots) {
  FillTheCluster();
  Assemble({"--processor=pod-list=skip-namespaces:default"}, inline_, writer_);
  Pass();
  EXPECT_EQ(CallsOf("Increase"), 0U) << "the pod is of a namespace that is skipped";
}

TEST_F(AssemblyTest, WhatWasLeftUnderWayIsHeardOfAfterThePass) {
  bool woken = false;
  wake_ = [&woken] { woken = true; };
  BeginDeletion({"--fuses=false"}, writer_);
  executor_.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(CallsOf("Delete"), 1U);
  EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace coppice::autoscale
