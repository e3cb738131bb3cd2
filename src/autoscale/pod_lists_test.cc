#include "autoscale/pod_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PodListsTest : public testing::Test {
 protected:
  static model::Pod Unschedulable(const std::string& name) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.status.phase = "Pending";
    pod.status.conditions = {
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"}};
    return pod;
  }
  void Add(model::Pod pod) { world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod))); }
  std::vector<std::string> Pending() {
    std::vector<std::string> names;
    for (const auto& pod : ListPending(options, options.deviations, world))
      names.push_back(pod.pod->metadata.name);
    return names;
  }

  Options options;
  cluster::World world{
      {.counts = [this](const model::Pod& pod) { return CountsAsPod(options, pod); }, .marks = {}}};
};

TEST_F(PodListsTest, APodThatItsSchedulerCouldNotPlaceIsPending) {
  Add(Unschedulable("b"));
  Add(Unschedulable("a"));
  EXPECT_THAT(Pending(), ElementsAre("b", "a")) << "in list order";
}

TEST_F(PodListsTest, OneThatIsGoingNominatedOrUnreadableIsNot) {
  model::Pod going = Unschedulable("going");
  going.metadata.deletion_timestamp = model::Time{};
  Add(std::move(going));
  model::Pod nominated = Unschedulable("nominated");
  nominated.status.nominated_node_name = "node";
  Add(std::move(nominated));
  model::Pod odd = Unschedulable("odd");
  odd.metadata.unreadable = model::Unreadable{.what = "spec", .reason = "malformed"};
  Add(std::move(odd));
  EXPECT_THAT(Pending(), IsEmpty());
}

TEST_F(PodListsTest, OfABypassedSchedulerThoseThatItHasNotLookedAtComeLast) {
  options.bypassed_scheduler_names = {"default-scheduler", "slow"};
  model::Pod silent = Unschedulable("silent");
  silent.status.conditions.clear();
  silent.spec.scheduler_name = "slow";
  Add(silent);
  silent.metadata.name = "of-nobody-in-particular";
  silent.spec.scheduler_name = "";
  Add(silent);
  silent.metadata.name = "foreign";
  silent.spec.scheduler_name = "other";
  Add(silent);
  model::Pod gated = Unschedulable("gated");
  gated.status.conditions.front().reason = "SchedulingGated";
  Add(std::move(gated));
  Add(Unschedulable("seen"));
  EXPECT_THAT(Pending(), ElementsAre("seen", "silent", "of-nobody-in-particular"));
}

TEST_F(PodListsTest, WhatTheSchedulerHasNotGotToCountsWithKinThatItCouldNotPlace) {
  const auto of = [](model::Pod pod, const std::string& owner, int64_t cpus) {
    pod.metadata.owner_references = {
        {.kind = "ReplicaSet", .name = owner, .uid = owner, .controller = true}};
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromUnits(cpus);
    pod.spec.containers = {container};
    return pod;
  };
  const auto silent = [](const std::string& name) {
    model::Pod pod = Unschedulable(name);
    pod.status.conditions.clear();
    return pod;
  };
  Add(of(silent("not-yet"), "web", 1));
  Add(of(Unschedulable("marked"), "web", 1));
  Add(of(silent("another-shape"), "web", 2));
  Add(of(silent("of-another"), "api", 1));
  Add(silent("of-nobody"));
  model::Pod gated = of(Unschedulable("gated"), "web", 1);
  gated.status.conditions.front().reason = "SchedulingGated";
  Add(std::move(gated));
  EXPECT_THAT(Pending(), ElementsAre("marked", "not-yet"));
  options.deviations.unmarked_kin = false;
  EXPECT_THAT(Pending(), ElementsAre("marked"));
}

TEST_F(PodListsTest, WhatIsOverForeignOrExpendableDoesNotCount) {
  options.allowed_scheduler_names = {"default-scheduler"};
  options.expendable_pods_priority_cutoff = -10;
  model::Pod pod;
  EXPECT_TRUE(CountsAsPod(options, pod));
  pod.spec.scheduler_name = "other";
  EXPECT_FALSE(CountsAsPod(options, pod));
  pod.spec.scheduler_name = "default-scheduler";
  pod.spec.priority = -10;
  EXPECT_TRUE(CountsAsPod(options, pod));
  pod.spec.priority = -11;
  EXPECT_FALSE(CountsAsPod(options, pod));
  pod.metadata.unreadable = model::Unreadable{.what = "spec", .reason = "malformed"};
  EXPECT_TRUE(CountsAsPod(options, pod)) << "nobody knows how important it is";
  for (const char* phase : {"Succeeded", "Failed"}) {
    pod.status.phase = phase;
    EXPECT_FALSE(CountsAsPod(options, pod)) << phase;
  }
}

}  // namespace
}  // namespace coppice::autoscale
