#include "base/metric_source.h"

#include <gmock/gmock.h>

namespace coppice {
namespace {

class Nodes final : public MetricSource {
 public:
  void Write(MetricPage& page) const override {
    page.AddGauge("nodes_age", "seconds", {{"node", "b"}}, 2);
    page.AddGauge("nodes_age", "seconds", {{"node", "a\xff"}}, 1);
  }
};

TEST(MetricSourcesTest, SourcesAreAskedAsLongAsTheyLive) {
  MetricSources sources;
  auto nodes = std::make_shared<Nodes>();
  sources.Add(nodes);
  EXPECT_EQ(sources.Render(),
            "# HELP nodes_age seconds\n"
            "# TYPE nodes_age gauge\n"
            "nodes_age{node=\"a\xef\xbf\xbd\"} 1\n"
            "nodes_age{node=\"b\"} 2\n");
  nodes.reset();
  EXPECT_EQ(sources.Render(), "");
}

}  // namespace
}  // namespace coppice
