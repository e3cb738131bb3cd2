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
