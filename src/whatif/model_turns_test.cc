#include "whatif/model_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_cloud.h"
#include "fit/fake_filters.h"
#include "model/node_pool.h"
#include "sim/load.h"
#include "test/support/must.h"
#include "whatif/model_host.h"

namespace coppice::whatif {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

// Wants a turn every ten seconds, and at once when it is told something.
class Toy final : public ModelEngine, public host::Engine {
 public:
  struct Diary {
    int made = 0;
    std::vector<TimePoint> passes;
    std::string told;
  };
  Toy(Diary& diary, TimePoint now) : diary_(diary), due_(now) { ++diary_.made; }

  host::Engine& engine() override { return *this; }
  std::string_view name() const override { return "toy"; }
  TimePoint Due() const override { return due_; }
  Task<host::PassEnd> Pass(TimePoint now) override {
    diary_.passes.push_back(now);
    due_ = now + seconds(10);
    co_return host::PassEnd{};
  }
  bool Told(const host::Event& event, TimePoint now) override {
    diary_.told += "wgno"[static_cast<int>(event.kind)];
    due_ = now;
    return true;
  }

 private:
  Diary& diary_;
  TimePoint due_;
};

class ModelTurnsTest : public testing::Test {
 protected:
  ModelTurnsTest() {
    fit::SchedulerConfig config;
    config.chain.clear();
    filters_ = std::make_unique<fit::Chain>(MUST(fit::Chain::Create(registry_, config)));
    model_ = MUST(sim::Model::Create({.clock = clock_,
                                      .filters = *filters_,
                                      .cloud = std::make_unique<cloud::FakeCloud>(clock_),
                                      .groups = {}}));
    host_ = MUST(ModelHost::Create(
        {.model = *model_,
         .clock = clock_,
         .plugins = plugins_,
         .flags = {},
         .log = log_,
         .metrics = metrics_,
         .node_groups = false,
         .engines = {[this](const ModelProcess& process) -> Result<std::unique_ptr<ModelEngine>> {
           return std::unique_ptr<ModelEngine>(std::make_unique<Toy>(diary_, process.clock.Now()));
         }}}));
  }
  void After(Duration time) { host_->AdvanceTo(clock_.Now() + time); }
  // Since the beginning, in seconds.
  std::vector<int64_t> Passes() const {
    std::vector<int64_t> at;
    for (const TimePoint pass : diary_.passes)
      at.push_back(std::chrono::duration_cast<seconds>(pass - start_).count());
    return at;
  }

  FakeClock clock_;
  const TimePoint start_ = clock_.Now();
  fit::FilterRegistry registry_{"filter"};
  std::unique_ptr<fit::Chain> filters_;
  std::unique_ptr<sim::Model> model_;
  autoscale::Plugins plugins_;
  const Log log_ = Log::Null();
  Metrics metrics_;
  Toy::Diary diary_;
  std::unique_ptr<ModelHost> host_;
};

TEST_F(ModelTurnsTest, AnEngineAloneHasItsTurnsWhenItIsDue) {
  After(seconds(25));
  EXPECT_THAT(Passes(), ElementsAre(0, 10, 20));
}

TEST_F(ModelTurnsTest, PodsNodesAndObjectsAreToldOnceEach) {
  After(seconds(1));
  model_->cluster.CreatePod({.metadata = {.name = "p"}});
  After(seconds(1));
  EXPECT_EQ(diary_.told, "w");
  model_->cluster.UpsertNode({.metadata = {.name = "n"}});
  After(seconds(1));
  EXPECT_EQ(diary_.told.substr(0, 2), "wn");
  diary_.told.clear();
  model::NodePool pool;
  pool.metadata.name = "pool";
  ASSERT_OK(model_->api.objects.Put(pool));
  After(seconds(1));
  EXPECT_EQ(diary_.told, "o");
  diary_.told.clear();
  model_->cluster.RemovePod("default", "p");
  After(seconds(1));
  EXPECT_EQ(diary_.told, "g");
}

TEST_F(ModelTurnsTest, ARestartMakesEveryEngineAnew) {
  After(seconds(1));
  EXPECT_EQ(diary_.made, 1);
  ASSERT_OK(host_->Restart());
  EXPECT_EQ(diary_.made, 2);
  After(seconds(1));
  EXPECT_THAT(Passes(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace coppice::whatif
