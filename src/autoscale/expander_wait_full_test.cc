// A whole pass with an expander that has to ask another process: the decision thread serves others
// until it answers, and the pass then goes on as if nothing had been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/main.h"
#include "autoscale/assembly.h"
#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "rpc/expander_host.h"
#include "test/support/agreeing_writer.h"
#include "test/support/must.h"
#include "test/support/option_set.h"
#include "test/support/step_workers.h"
#include "test/support/test_certificates.h"

namespace coppice::autoscale {
namespace {

// Takes the last, on whatever thread; says whether that was a worker.
class AsksSomebody final : public expand::Expander {
 public:
  AsksSomebody(const bool& on_worker, int& asked) : on_worker_(on_worker), asked_(asked) {}
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    EXPECT_TRUE(on_worker_);
    ++asked_;
    around.note("somebody was asked");
    return {options.back()};
  }
  bool Blocks() const override { return true; }

 private:
  const bool& on_worker_;
  int& asked_;
};

class ExpanderWaitTest : public testing::Test {
 protected:
  ExpanderWaitTest() {
    plugins_.expanders.Add("asks", [this](const expand::ExpanderContext&) {
      return Result<std::unique_ptr<expand::Expander>>(
          std::make_unique<AsksSomebody>(on_worker_, asked_));
    });
    app::RegisterDiscoveredPlugins(plugins_);
    for (const char* name : {"first", "second"}) {
      model::Node node = test::ANodeOf(name, 4'000, 16'384);
      for (auto* amounts : {&node.status.capacity, &node.status.allocatable})
        (*amounts)["pods"] = model::Quantity::FromUnits(110);
      groups_.Add({.info = {.id = name, .max_size = 5},
                   .node_template = std::make_shared<const model::Node>(std::move(node))});
    }
    model::Pod pod = test::APodOf("pending", 500, 512);
    pod.metadata.uid = "1";
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - std::chrono::minutes(1)};
    pod.status.phase = "Pending";
    pod.status.conditions.push_back(
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
    world_pod_ = pod;
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }

  std::unique_ptr<Assembly> Make(Workers& workers, std::vector<std::string> flags) {
    flags.push_back("--upstream-exact");
    return MUST(Assembly::Create({.flags = MUST(ParseFlags(flags)),
                                  .plugins = plugins_,
                                  .world = world_,
                                  .writer = writer_,
                                  .executor = *executor_,
                                  .workers = workers,
                                  .rng = rng_,
                                  .log = log_,
                                  .metrics = metrics_,
                                  .groups = groups_}));
  }
  std::unique_ptr<Assembly> Make() { return Make(workers_, {"--expander=asks"}); }
  // Starts a pass whose report ends in `report_`.
  void Start(Assembly& assembly) {
    executor_->Spawn([](Engine& engine, TimePoint now,
                        std::shared_ptr<const report::PassReport>& out) -> Task<void> {
      out = co_await engine.Pass(now);
    }(assembly.engine(), clock_.Now(), report_));
  }
  void Step() {
    on_worker_ = true;
    workers_.Step();
    on_worker_ = false;
  }

  app::Plugins plugins_;
  FakeClock clock_;
  SeededRng rng_{1};
  Metrics metrics_;
  Log log_ = Log::Null();
  test::StepWorkers workers_;
  cluster::World world_;
  test::AgreeingWriter writer_;
  cloud::FakeNodeGroups groups_;
  model::Pod world_pod_;
  bool on_worker_ = false;
  int asked_ = 0;
  std::shared_ptr<const report::PassReport> report_;
  std::unique_ptr<Executor> executor_ = std::make_unique<Executor>(clock_);
};

TEST_F(ExpanderWaitTest, ThePassWaitsAndTheThreadDoesNot) {
  const auto assembly = Make();
  Start(*assembly);
  int waits = 0;
  for (executor_->RunUntilIdle(); report_ == nullptr && workers_.waiting() > 0;
       executor_->RunUntilIdle()) {
    bool served = false;
    executor_->Post([&served] { served = true; });
    executor_->RunUntilIdle();
    EXPECT_TRUE(served) << "while call " << waits << " has not been answered";
    ++waits;
    Step();
  }
  ASSERT_NE(report_, nullptr);
  EXPECT_EQ(asked_, 1);
  EXPECT_GE(waits, 3) << "refresh, expander, increase";
  ASSERT_EQ(report_->scale_up.resizes.size(), 1U) << report_->error;
  EXPECT_EQ(report_->scale_up.resizes[0].group, "second");
  ASSERT_EQ(report_->scale_up.chosen_by.size(), 1U);
  EXPECT_EQ(report_->scale_up.chosen_by[0].note, "somebody was asked");
  EXPECT_EQ(MUST(groups_.TargetSize("second")), 1);
}

// The process ends while a call is under way: the refresh, the expander's, or the increase.
TEST_F(ExpanderWaitTest, APassThatIsGivenUpLeavesNothingBehind) {
  for (int answered = 0; answered < 3; ++answered) {
    executor_ = std::make_unique<Executor>(clock_);
    const auto assembly = Make();
    Start(*assembly);
    executor_->RunUntilIdle();
    for (int i = 0; i < answered; ++i) {
      Step();
      executor_->RunUntilIdle();
    }
    EXPECT_GT(workers_.waiting(), 0U);
    executor_.reset();
    const int asked = asked_;
    while (workers_.waiting() > 0) Step();
    EXPECT_EQ(asked_, asked) << "nobody is asked for a pass that is gone";
    EXPECT_EQ(report_, nullptr);
  }
}

// With the flags of the proposal, against `coppice expander` over TLS; and after it has gone.
TEST_F(ExpanderWaitTest, AnotherProcessChoosesAndWhenItIsGoneTheChainGoesOn) {
  const test::TestAuthority authority;
  const test::TempDirectory dir;
  const test::PemPair pair = authority.Issue("expander", {"127.0.0.1"});
  SystemClock real_clock;
  Metrics host_metrics;
  const auto host = MUST(rpc::ExpanderHost::Start(
      MUST(rpc::ParseExpanderFlags(
          {"--listen=127.0.0.1:0", "--cert", dir.Write("tls.crt", pair.cert), "--key",
           dir.Write("tls.key", pair.key), "--strategy=priority", "--priority-file",
           dir.Write("p", "1: [first]\n2: [second]\n")})),
      {.expanders = plugins_.expanders,
       .clock = real_clock,
       .rng = rng_,
       .log = log_,
       .metrics = host_metrics}));
  InlineWorkers at_once;
  const auto assembly =
      Make(at_once, {"--expander=externalgrpc,least-nodes",
                     "--expander-plugin-url=https://127.0.0.1:" + std::to_string(host->port()),
                     "--external-expander-cert=" + dir.Write("ca.crt", authority.pem())});

  const auto chosen = executor_->BlockOn(assembly->engine().Pass(clock_.Now()));
  ASSERT_EQ(chosen->scale_up.resizes.size(), 1U) << chosen->error;
  EXPECT_EQ(chosen->scale_up.resizes[0].group, "second");
  EXPECT_EQ(chosen->scale_up.chosen_by.at(0).note, "");

  host->Stop();
  model::Pod another = test::APodOf("large", 3'900, 512);
  another.metadata.uid = "2";
  another.metadata.creation_timestamp = model::Time{clock_.Now() - std::chrono::minutes(1)};
  another.status = world_pod_.status;
  world_.UpsertPod(std::make_shared<const model::Pod>(std::move(another)));
  const auto fallen_back = executor_->BlockOn(assembly->engine().Pass(clock_.Now()));
  ASSERT_FALSE(fallen_back->scale_up.chosen_by.empty()) << fallen_back->error;
  EXPECT_THAT(fallen_back->scale_up.chosen_by[0].note, testing::HasSubstr("all options are kept"));
  EXPECT_EQ(fallen_back->scale_up.resizes.size(), 1U) << "the next expander decides";
  EXPECT_THAT(metrics_.Render(),
              testing::HasSubstr(
                  "cluster_autoscaler_grpc_expander_fallbacks_total{reason=\"call_failed\"} 1"));
}

}  // namespace
}  // namespace coppice::autoscale
