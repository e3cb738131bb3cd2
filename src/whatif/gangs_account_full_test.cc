// What a run tells of gangs, line by line.

#include "whatif/gangs_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/main.h"
#include "base/fake_clock.h"
#include "test/support/must.h"
#include "whatif/model_batch.h"

namespace coppice::whatif {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using GangState = report::WaitingGang::State;

class GangsAccountTest : public testing::Test {
 protected:
  GangsAccountTest() {
    app::RegisterDiscoveredPlugins(plugins_);
    filters_.emplace(MUST(fit::Chain::Create(plugins_.filters, {})));
    yaml::Problems problems;
    model_ =
        MUST(sim::Model::Create({.clock = clock_,
                                 .filters = *filters_,
                                 .cloud = MUST(plugins_.clouds.Make(
                                     "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_,
                                                                      yaml::Node(), problems})),
                                 .groups = {}}));
    KeepBatchKinds(model_->api.objects);
    load_.emplace(*model_, GangLoadOptions{.gangs_per_hour = 2, .hopeless = 1}, 3);
    account_.emplace(
        *model_, *load_,
        GangsAccount::Print{.line =
                                [this](char mark, const std::string& what, const std::string& why) {
                                  lines_.push_back(std::string(1, mark) + " " + what + ": " + why);
                                },
                            .table = [this](const std::string& line) { table_.push_back(line); },
                            .ordered = [this](int machines) { ordered_ += machines; }});
  }
  static report::SessionReport Waits(GangState state, std::string why) {
    report::SessionReport session;
    session.gangs = {{.gang = "research/train", .state = state, .why = std::move(why)}};
    if (state == GangState::kOrdered)
      session.gangs[0].lots = {{.seller = "node groups", .source = "general", .machines = 3}};
    return session;
  }
  std::vector<std::string> Told(const report::SessionReport& session) {
    lines_.clear();
    account_->Tell(session);
    return lines_;
  }
  void Advance(Duration by) {
    const TimePoint end = clock_.Now() + by;
    while (model_->agenda.next().value_or(TimePoint::max()) <= end) {
      clock_.Set(*model_->agenda.next());
      model_->agenda.RunDue();
    }
    clock_.Set(end);
  }

  app::Plugins plugins_;
  FakeClock clock_;
  SeededRng rng_{1};
  Metrics metrics_;
  const Log log_ = Log::Null();
  std::optional<fit::Chain> filters_;
  std::unique_ptr<sim::Model> model_;
  std::optional<GangLoad> load_;
  std::optional<GangsAccount> account_;
  std::vector<std::string> lines_;
  std::vector<std::string> table_;
  int ordered_ = 0;
};

TEST_F(GangsAccountTest, AReasonIsToldOnceUntilItIsAnother) {
  EXPECT_THAT(Told(Waits(GangState::kRefused, "nobody sells it")),
              ElementsAre(". gang research/train waits: nobody sells it"));
  EXPECT_THAT(Told(Waits(GangState::kRefused, "nobody sells it")), IsEmpty());
  EXPECT_THAT(Told(Waits(GangState::kBlocked, "its queue is full")),
              ElementsAre(". gang research/train waits: its queue is full"));
  EXPECT_THAT(Told({}), IsEmpty());
  EXPECT_EQ(Told(Waits(GangState::kBlocked, "its queue is full")).size(), 1u)
      << "it did not wait meanwhile";
}

TEST_F(GangsAccountTest, APurchaseIsCountedOnce) {
  EXPECT_THAT(Told(Waits(GangState::kOrdered, "")),
              ElementsAre("+ 3 of general: for gang research/train"));
  EXPECT_THAT(Told(Waits(GangState::kOrdered, "")), IsEmpty());
  EXPECT_EQ(ordered_, 3);
}

TEST_F(GangsAccountTest, WhoHadToMakeRoomIsOneLinePerGangAndReason) {
  report::SessionReport session;
  session.evictions = {{"research/g7-w-0", "preempted"},
                       {"research/g7-w-1", "preempted"},
                       {"shop/web-1", "preempted"}};
  EXPECT_THAT(Told(session), ElementsAre("! shop/web-1 evicted: preempted",
                                         "! 2 pods of gang g7 evicted: preempted"));
}

TEST_F(GangsAccountTest, GangsAreFollowedFromTheirComingToTheirEnd) {
  load_->Start();
  Advance(std::chrono::hours(6));
  load_->Stop();
  Advance(std::chrono::hours(3));
  ASSERT_FALSE(lines_.empty());
  EXPECT_THAT(lines_.front(), AllOf(HasSubstr("> gang g1 comes"), HasSubstr("in queue")));
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("< gang g1 is given up: has waited for")));
  account_->Summary();
  EXPECT_THAT(table_.front(), AllOf(HasSubstr(std::to_string(load_->ever()) + " came, 0 started"),
                                    HasSubstr("0 have run")));
}

TEST_F(GangsAccountTest, QueuesAreATable) {
  account_->Table();
  EXPECT_THAT(table_, IsEmpty()) << "no session has run";
  report::SessionReport session;
  session.queues = {{.name = "gold",
                     .weight = 3,
                     .running = 2,
                     .share = 0.25,
                     .amounts = {{.resource = "cpu", .held = 1'500, .deserved = 6'000}}}};
  session.waiting = {{.job = "research/a", .queue = "gold"}};
  account_->Tell(session);
  account_->Tell({});
  account_->Table();
  EXPECT_THAT(table_.at(1), testing::MatchesRegex(" +gold +3 +2 +1 +1.5 +6 +25%"))
      << "the last that is known of them";
}

}  // namespace
}  // namespace coppice::whatif
