#include "batch/scheduler_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::batch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Table {
  Table() { AddSchedulerFlags(set, flags); }
  SchedulerFlags flags;
  FlagSet set;
};

TEST(SchedulerFlagsTest, DefaultsAreVolcanosAndChangeNothing) {
  const Table shown;
  for (const coppice::Flag& flag : shown.set.flags()) {
    Table table;
    EXPECT_OK(table.set.Parse({"--" + flag.name + "=" + flag.default_text})) << flag.name;
    EXPECT_THAT(table.set.notes(), IsEmpty()) << flag.name;
    EXPECT_THAT(table.flags.engine.session.scheduler_names, ElementsAre("volcano"));
    EXPECT_EQ(table.flags.engine.schedule_period, std::chrono::seconds(1));
    EXPECT_EQ(table.flags.engine.session.default_queue, "default");
    EXPECT_FALSE(table.flags.controllers.any());
    EXPECT_TRUE(table.flags.default_conf);
  }
}

TEST(SchedulerFlagsTest, ANameOfASchedulerReplacesTheDefaultAndFurtherOnesAreAdded) {
  Table table;
  ASSERT_OK(table.set.Parse({"--scheduler-name=a", "--scheduler-name=volcano"}));
  EXPECT_THAT(table.flags.engine.session.scheduler_names, ElementsAre("a", "volcano"));
}

TEST(SchedulerFlagsTest, ControllersAreNamed) {
  Table table;
  ASSERT_OK(table.set.Parse({"--batch-controllers=queue,job"}));
  EXPECT_FALSE(table.flags.controllers.pod_groups);
  EXPECT_TRUE(table.flags.controllers.queues);
  EXPECT_TRUE(table.flags.controllers.jobs);
  EXPECT_THAT(table.set.Parse({"--batch-controllers=cron"}).message(),
              HasSubstr("one of podgroup, queue, job and all"));
}

TEST(SchedulerFlagsTest, WhoBuysReadsVolcanoJobsWhoeverMakesTheirPods) {
  SchedulerFlags flags;
  EXPECT_TRUE(ReadsVolcanoJobs(flags, false, true));
  EXPECT_FALSE(ReadsVolcanoJobs(flags, false, false));
  EXPECT_FALSE(ReadsVolcanoJobs(flags, true, true));
  flags.buys = false;
  EXPECT_FALSE(ReadsVolcanoJobs(flags, false, true));
  flags.controllers.jobs = true;
  EXPECT_TRUE(ReadsVolcanoJobs(flags, false, false));
}

TEST(SchedulerFlagsTest, HowMachinesAreBoughtIsSaidByFlags) {
  Table table;
  ASSERT_OK(table.set.Parse({"--gang-prefer=price", "--gang-preempt-above=2.5", "--gang-hold=5m",
                             "--gang-most-per-hour=40", "--gang-attempts=2", "--gangs-at-once=7",
                             "--gang-ask-again=1s", "--gang-ask-again-at-most=30s"}));
  const BuyingOptions& buying = table.flags.buying;
  EXPECT_EQ(buying.prefer, Prefer::kByPrice);
  EXPECT_EQ(buying.preempt_above, 2.5);
  EXPECT_EQ(buying.hold, std::chrono::minutes(5));
  EXPECT_EQ(buying.most_per_hour, 40);
  EXPECT_EQ(buying.attempts, 2);
  EXPECT_EQ(buying.most_at_once, 7);
  EXPECT_EQ(buying.ask_again, std::chrono::seconds(1));
  EXPECT_EQ(buying.ask_again_at_most, std::chrono::seconds(30));
  EXPECT_TRUE(table.flags.buys);
  ASSERT_OK(table.set.Parse({"--gang-buying=false", "--gang-prefer=preempting"}));
  EXPECT_FALSE(table.flags.buys);
  EXPECT_EQ(buying.prefer, Prefer::kPreempting);
  EXPECT_THAT(table.set.Parse({"--gang-prefer=luck"}).message(),
              HasSubstr("one of buying, preempting and price"));
  EXPECT_FALSE(table.set.Parse({"--gang-hold=0s"}).ok());
  EXPECT_FALSE(table.set.Parse({"--gangs-at-once=0"}).ok());
}

TEST(SchedulerFlagsTest, WhatCannotBeIsRefusedWithWhatToDoInstead) {
  Table table;
  for (const char* wrong :
       {"--schedule-period=0s", "--percentage-nodes-to-find=101", "--minimum-feasible-nodes=-1",
        "--kube-api-qps=nan", "--scheduler-name="}) {
    EXPECT_EQ(table.set.Parse({wrong}).code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_THAT(table.set.Parse({"--plugins-dir=/x"}).message(), HasSubstr("as a folder"));
  ASSERT_OK(table.set.Parse({"--node-worker-threads=3"}));
  EXPECT_THAT(table.set.notes(), ElementsAre(HasSubstr("--node-worker-threads=3 has no effect")));
}

}  // namespace
}  // namespace coppice::batch
