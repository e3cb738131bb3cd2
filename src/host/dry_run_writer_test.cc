#include "host/dry_run_writer.h"

#include <gmock/gmock.h>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "cluster/fake_writer.h"
#include "test/support/must.h"

namespace coppice::host {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DryRunWriterTest : public testing::Test {
 protected:
  static cluster::LivePod Pod(const std::string& name, const std::string& uid) {
    model::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    pod.metadata.uid = uid;
    pod.spec.node_name = "n1";
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  static cluster::NodeChange SoftMark() {
    cluster::NodeChange change;
    change.add_taints.push_back({.key = "candidate", .effect = "PreferNoSchedule"});
    return change;
  }

  FakeClock clock;
  Executor executor{clock};
  cluster::FakeWriter real{clock};
  std::vector<std::string> lines;
  Log log{clock, [this](std::string_view line) { lines.emplace_back(line); }, LogFormat::kText,
          LogLevel::kInfo};
  DryRunWriter writer{real, log};
};

TEST_F(DryRunWriterTest, APodThatWouldHaveBeenEvictedCountsAsGoneAndIsNotTouched) {
  real.where = {{"web", "n1"}, {"other", "n1"}};
  real.pods_on = [](const std::string&) {
    return std::vector<cluster::LivePod>{Pod("web", "1"), Pod("other", "2")};
  };
  EXPECT_OK(executor.BlockOn(writer.Evict({"default", "web", "1"}, 30)));
  EXPECT_EQ(MUST(executor.BlockOn(writer.WhereIs({"default", "web", "1"}))), std::nullopt);
  EXPECT_EQ(MUST(executor.BlockOn(writer.WhereIs({"default", "other", "2"}))), "n1");
  EXPECT_THAT(MUST(executor.BlockOn(writer.PodsOn("n1"))), SizeIs(1));
  EXPECT_THAT(real.evictions, IsEmpty());
  EXPECT_THAT(lines, SizeIs(1));
}

TEST_F(DryRunWriterTest, ASoftMarkIsToldOnceThoughEveryPassAsksForIt) {
  for (int i = 0; i < 3; ++i) EXPECT_OK(executor.BlockOn(writer.ChangeNode("n1", SoftMark())));
  EXPECT_THAT(lines, SizeIs(1));
  cluster::NodeChange off;
  off.remove_taints.emplace_back("candidate");
  EXPECT_OK(executor.BlockOn(writer.ChangeNode("n1", off)));
  EXPECT_OK(executor.BlockOn(writer.ChangeNode("n1", SoftMark())));
  EXPECT_THAT(lines, SizeIs(3));
  EXPECT_THAT(real.changes, IsEmpty());
}

TEST_F(DryRunWriterTest, BindingsDeletionsAndObjectsAreToldAndNotDone) {
  const cluster::ObjectName claim{"karpenter.sh/v1", "nodeclaims", "", "web-1"};
  EXPECT_OK(executor.BlockOn(writer.Bind({"default", "a", "u"}, "n1", {})));
  EXPECT_OK(executor.BlockOn(writer.DeletePod({"default", "a", "u"}, 0)));
  EXPECT_EQ(MUST(executor.BlockOn(writer.CreateObject(claim, "{\"x\":1}"))),
            R"({"metadata":{"uid":"dry-run-1"},"x":1})");
  EXPECT_OK(executor.BlockOn(writer.ChangeFinalizers(claim, {.add = {"f"}, .remove = {"g"}})));
  EXPECT_OK(executor.BlockOn(writer.DeleteObject(claim)));
  // The answers of these are the real object's, and the fake knows none.
  EXPECT_EQ(executor.BlockOn(writer.UpdateObject(claim, "{}")).code(), Code::kUnimplemented);
  EXPECT_EQ(executor.BlockOn(writer.UpdateStatus(claim, "{}")).code(), Code::kUnimplemented);
  ASSERT_THAT(lines, SizeIs(7));
  EXPECT_THAT(lines[0], testing::HasSubstr("would have been bound"));
  EXPECT_THAT(lines[3], testing::HasSubstr("+f,-g"));
  EXPECT_THAT(lines[6], testing::HasSubstr("update status"));
  EXPECT_THAT(real.evictions, IsEmpty());
}

TEST_F(DryRunWriterTest, EachObjectThatWouldBeCreatedIsAnotherOne) {
  const cluster::ObjectName first{"karpenter.sh/v1", "nodeclaims", "", "web-1"};
  const cluster::ObjectName second{"karpenter.sh/v1", "nodeclaims", "", "web-2"};
  EXPECT_NE(MUST(executor.BlockOn(writer.CreateObject(first, "{}"))),
            MUST(executor.BlockOn(writer.CreateObject(second, "{}"))));
  EXPECT_EQ(executor.BlockOn(writer.CreateObject(first, "no object")).code(),
            Code::kInvalidArgument);
}

TEST_F(DryRunWriterTest, WhatIsAskedForAgainAndAgainIsToldOnce) {
  const cluster::ObjectName group{"scheduling.volcano.sh/v1beta1", "podgroups", "ns", "g"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(executor.BlockOn(writer.Bind({"default", "a", "u"}, "n1", {})));
    const std::string patch = R"({"status":{"lastTransitionTime":"2026-01-0)" + std::to_string(i) +
                              R"(T00:00:00Z","phase":"Running"}})";
    EXPECT_EQ(executor.BlockOn(writer.UpdateStatus(group, patch)).code(), Code::kUnimplemented);
    writer.Emit({.kind = "Pod", .name = "a", .reason = "Scheduled", .text = "to n1"});
  }
  EXPECT_THAT(lines, SizeIs(3));
  EXPECT_OK(executor.BlockOn(writer.Bind({"default", "a", "u"}, "n2", {})));
  EXPECT_OK(executor.BlockOn(writer.Bind({"default", "a", "u"}, "n1", {})));
  EXPECT_THAT(lines, SizeIs(5)) << "another decision is news, and so is the first one after it";
}

}  // namespace
}  // namespace coppice::host
