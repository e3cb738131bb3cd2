#include "expand/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "base/on_worker.h"
#include "test/support/must.h"
#include "test/support/option_set.h"
#include "test/support/step_workers.h"

namespace coppice::expand {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Rule = std::function<Options(const Options&, const Surroundings&)>;

class Scripted final : public Expander {
 public:
  Scripted(Rule rule, bool picks_one, bool blocks)
      : rule_(std::move(rule)), picks_one_(picks_one), blocks_(blocks) {}
  Options Narrow(const Options& options, const Surroundings& around) override {
    return rule_(options, around);
  }
  bool PicksOne() const override { return picks_one_; }
  bool Blocks() const override { return blocks_; }

 private:
  Rule rule_;
  bool picks_one_;
  bool blocks_;
};

class ChainTest : public testing::Test {
 protected:
  void Add(const std::string& name, Rule rule, bool picks_one = false, bool blocks = false) {
    registry_.Add(name, [=](const ExpanderContext&) {
      return Result<std::unique_ptr<Expander>>(std::make_unique<Scripted>(rule, picks_one, blocks));
    });
  }
  Result<Chain> Make(const std::vector<std::string>& names) {
    return Chain::Create(names, registry_,
                         {.clock = clock_, .rng = rng_, .log = log_, .metrics = metrics_});
  }
  // All but the first that it is given.
  static Options DropFirst(const Options& options, const Surroundings&) {
    return {options.begin() + (options.empty() ? 0 : 1), options.end()};
  }
  static Options Keep(const Options& options, const Surroundings&) { return options; }
  static Options None(const Options&, const Surroundings&) { return {}; }

  FakeClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  ExpanderRegistry registry_{"expander"};
  test::OptionSet set_{{{.group = "a"}, {.group = "b"}, {.group = "c"}}};
};

TEST_F(ChainTest, LinksRunInOrderUntilOneIsLeft) {
  Add("drop", DropFirst);
  Add("drop-too", DropFirst);
  Add("never", [](const Options&, const Surroundings&) -> Options {
    ADD_FAILURE() << "one was left";
    return {};
  });
  auto chain = MUST(Make({"drop", "drop-too", "never"}));
  const Choice choice = chain.Choose(set_.options(), {});
  ASSERT_NE(choice.chosen, nullptr);
  EXPECT_EQ(choice.chosen->group, "c");
  EXPECT_FALSE(choice.by_lot);
  ASSERT_EQ(choice.steps.size(), 2U);
  EXPECT_THAT(choice.steps[0].survivors, ElementsAre("b", "c"));
  EXPECT_EQ(choice.steps[1].expander, "drop-too");
  EXPECT_THAT(choice.steps[1].survivors, ElementsAre("c"));
}

TEST_F(ChainTest, TiesAreDrawnFromAllSurvivors) {
  Add("keep", Keep);
  auto chain = MUST(Make({"keep"}));
  std::map<std::string, int> drawn;
  for (int i = 0; i < 300; ++i) {
    const Choice choice = chain.Choose(set_.options(), {});
    EXPECT_TRUE(choice.by_lot);
    ++drawn[choice.chosen->group];
  }
  EXPECT_EQ(drawn.size(), 3U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(chain.Choose(set_.options(), {}, true).chosen->group, "a");
}

TEST_F(ChainTest, NothingLeftIsNoChoiceAndLaterLinksAreStillAsked) {
  Add("none", None);
  int asked = 0;
  Add("after", [&asked](const Options& options, const Surroundings&) {
    ++asked;
    return options;
  });
  auto chain = MUST(Make({"none", "after"}));
  const Choice choice = chain.Choose(set_.options(), {});
  EXPECT_EQ(choice.chosen, nullptr);
  EXPECT_THAT(choice.survivors, IsEmpty());
  EXPECT_EQ(asked, 1) << "as upstream";
}

TEST_F(ChainTest, RefusesWhatCanNeverWork) {
  Add("keep", Keep);
  Add("one", Keep, true);
  EXPECT_THAT(Make({"keep", "keep"}).status().message(), HasSubstr("specified multiple times"));
  EXPECT_THAT(Make({"one", "keep"}).status().message(), HasSubstr("will never be used"));
  EXPECT_THAT(Make({"other"}).status().message(), HasSubstr("not supported; there are: keep, one"));
  EXPECT_OK(Make({"keep", "one"}));
  registry_.Add("broken", [](const ExpanderContext&) -> Result<std::unique_ptr<Expander>> {
    return FailedPrecondition("no certificate");
  });
  const Status broken = Make({"broken"}).status();
  EXPECT_EQ(broken.code(), Code::kFailedPrecondition);
  EXPECT_THAT(broken.message(), HasSubstr("broken"));
  EXPECT_THAT(broken.message(), HasSubstr("no certificate"));
}

TEST_F(ChainTest, NotesAndMeasurementsOfALinkAreInItsStep) {
  Add("talks", [](const Options& options, const Surroundings& around) {
    around.note("kept all for a reason");
    around.measured(*options[1], 0.5, "wastes half");
    return options;
  });
  Add("silent", Keep);
  auto chain = MUST(Make({"talks", "silent"}));
  const Choice choice = chain.Choose(set_.options(), {});
  EXPECT_EQ(choice.steps[0].note, "kept all for a reason");
  ASSERT_EQ(choice.steps[0].measured.size(), 1U);
  EXPECT_EQ(choice.steps[0].measured[0].group, "b");
  EXPECT_EQ(choice.steps[1].note, "");
}

// Links that block, elsewhere.
class ElsewhereTest : public ChainTest {
 protected:
  Elsewhere On(Workers& workers) {
    return [this, &workers](std::function<void()> work) {
      return OnWorker(workers, executor_, std::move(work));
    };
  }

  SystemClock real_clock_;
  Executor executor_{real_clock_};
};

TEST_F(ElsewhereTest, OnlyLinksThatBlockLeaveTheThread) {
  std::thread::id blocking;
  std::thread::id plain;
  Add(
      "blocks",
      [&blocking](const Options& options, const Surroundings&) {
        blocking = std::this_thread::get_id();
        return options;
      },
      false, true);
  Add("plain", [&plain](const Options& options, const Surroundings& around) {
    plain = std::this_thread::get_id();
    return DropFirst(options, around);
  });
  auto chain = MUST(Make({"blocks", "plain"}));
  EXPECT_TRUE(chain.Blocks());
  Pool pool(1, 4);
  const Elsewhere elsewhere = On(pool);
  const Options options = set_.options();
  const Surroundings around;
  const Choice choice = executor_.BlockOn(chain.ChooseElsewhere(options, around, elsewhere, true));
  EXPECT_NE(blocking, std::this_thread::get_id());
  EXPECT_EQ(plain, std::this_thread::get_id());
  EXPECT_EQ(choice.chosen->group, "b");
  ASSERT_EQ(choice.steps.size(), 2U);
  EXPECT_EQ(choice.steps[0].expander, "blocks");
}

TEST_F(ElsewhereTest, TheThreadServesOthersMeanwhile) {
  Add("blocks", DropFirst, false, true);
  auto chain = MUST(Make({"blocks"}));
  test::StepWorkers workers;
  const Elsewhere elsewhere = On(workers);
  const Options options = set_.options();
  const Surroundings around;
  std::optional<Choice> choice;
  executor_.Spawn([](Chain& c, const Options& o, const Surroundings& s, const Elsewhere& e,
                     std::optional<Choice>& out) -> Task<void> {
    out = co_await c.ChooseElsewhere(o, s, e, true);
  }(chain, options, around, elsewhere, choice));
  int served = 0;
  for (int i = 0; i < 3; ++i) executor_.Post([&served] { ++served; });
  executor_.RunUntilIdle();
  EXPECT_EQ(served, 3);
  EXPECT_FALSE(choice.has_value());
  workers.StepAll();
  executor_.RunUntilIdle();
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->chosen->group, "b");
}

TEST_F(ElsewhereTest, WhatBelongsToTheThreadStaysThere) {
  std::thread::id warned_on;
  Status config_map;
  Add(
      "blocks",
      [&config_map](const Options& options, const Surroundings& around) {
        around.warn("Reason", "text");
        around.note("a word");
        config_map = around.config_map("map", "key").status();
        return options;
      },
      false, true);
  auto chain = MUST(Make({"blocks"}));
  Pool pool(1, 4);
  const Elsewhere elsewhere = On(pool);
  const Options options = set_.options();
  Surroundings around;
  around.warn = [&warned_on](std::string_view reason, const std::string& text) {
    EXPECT_EQ(reason, "Reason");
    EXPECT_EQ(text, "text");
    warned_on = std::this_thread::get_id();
  };
  around.config_map = [](std::string_view, std::string_view) -> Result<std::string> {
    ADD_FAILURE() << "read off the thread";
    return std::string();
  };
  const Choice choice = executor_.BlockOn(chain.ChooseElsewhere(options, around, elsewhere));
  EXPECT_EQ(warned_on, std::this_thread::get_id());
  EXPECT_EQ(config_map.code(), Code::kUnimplemented);
  EXPECT_EQ(choice.steps.at(0).note, "a word");
}

TEST_F(ElsewhereTest, ALinkThatCouldNotBeRunNarrowsNothing) {
  Add("blocks", None, false, true);
  auto chain = MUST(Make({"blocks"}));
  const Elsewhere elsewhere = [](std::function<void()>) -> Task<Status> {
    co_return ResourceExhausted("all workers are busy");
  };
  const Options options = set_.options();
  const Surroundings around;
  const Choice choice = executor_.BlockOn(chain.ChooseElsewhere(options, around, elsewhere, true));
  EXPECT_EQ(choice.survivors.size(), 3U);
  EXPECT_THAT(choice.steps.at(0).note, HasSubstr("all workers are busy"));
}

TEST_F(ElsewhereTest, WithoutAnElsewhereItIsTheSameAsChoose) {
  Add("blocks", DropFirst, false, true);
  auto chain = MUST(Make({"blocks"}));
  const Options options = set_.options();
  const Surroundings around;
  const Elsewhere nowhere;
  const Choice choice = executor_.BlockOn(chain.ChooseElsewhere(options, around, nowhere, true));
  EXPECT_THAT(test::GroupsOf(choice.survivors), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace coppice::expand
