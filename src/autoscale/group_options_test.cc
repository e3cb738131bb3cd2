#include "autoscale/group_options.h"

#include <gtest/gtest.h>

#include "cloud/fake_node_groups.h"

namespace coppice::autoscale {
namespace {

// Halves what it is given.
class HalfTheThreshold final : public NodeGroupConfigProcessor {
 public:
  cloud::ScalingOptions OptionsOf(std::string_view, const cloud::ScalingOptions& options) override {
    cloud::ScalingOptions half = options;
    half.scale_down_utilization_threshold /= 2;
    return half;
  }
};

TEST(GroupOptionsTest, TheProvidersOwnThenTheFlagsThenWhatAProcessorMakesOfThem) {
  cloud::FakeNodeGroups groups;
  groups.Add({.info = {.id = "plain"}});
  groups.Add({.info = {.id = "own"}, .options = [](const cloud::ScalingOptions& defaults) {
                cloud::ScalingOptions own = defaults;
                own.scale_down_utilization_threshold = 0.8;
                return std::optional(own);
              }});
  cloud::ScalingOptions defaults;
  defaults.scale_down_utilization_threshold = 0.4;
  Processors slots;
  const GroupOptions options(groups, defaults, slots);
  EXPECT_EQ(options("plain").scale_down_utilization_threshold, 0.4);
  EXPECT_EQ(options("own").scale_down_utilization_threshold, 0.8);
  EXPECT_EQ(options("nobody").scale_down_utilization_threshold, 0.4) << "not known: the flags'";
  slots.node_group_config = std::make_unique<HalfTheThreshold>();
  EXPECT_EQ(options("own").scale_down_utilization_threshold, 0.4);
}

}  // namespace
}  // namespace coppice::autoscale
