// What a run prints, line by line.

#include "whatif/run_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/main.h"
#include "base/fake_clock.h"
#include "test/support/must.h"

namespace coppice::whatif {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(RunAccountTest, ALineThatComesAgainIsCountedAndToldOnceAtTheEnd) {
  app::Plugins plugins;
  app::RegisterDiscoveredPlugins(plugins);
  FakeClock clock;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  yaml::Problems problems;
  const auto filters = MUST(fit::Chain::Create(plugins.filters, {}));
  const auto model = MUST(sim::Model::Create(
      {.clock = clock,
       .filters = filters,
       .cloud = MUST(plugins.clouds.Make(
           "simulated", cloud::CloudContext{clock, rng, log, metrics, yaml::Node(), problems})),
       .groups = {}}));
  std::vector<std::string> lines;
  RunAccount account(*model, [&](const std::string& line) { lines.push_back(line); });
  const auto warn = [&](const std::string& reason) {
    cluster::Event event;
    event.type = "Warning";
    event.kind = "ConfigMap";
    event.reason = reason;
    event.text = "the cloud is away";
    account.Event(event);
  };
  warn("FailedToScaleUp");
  warn("FailedToScaleUp");
  warn("FailedToScaleUp");
  warn("ScaleDownFailed");
  warn("ScaleDownFailed");
  warn("FailedToScaleUp");
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("! FailedToScaleUp"), EndsWith(". the same 2 more times"),
                          HasSubstr("! ScaleDownFailed"), EndsWith(". the same 1 more time"),
                          HasSubstr("! FailedToScaleUp")));
}

}  // namespace
}  // namespace coppice::whatif
