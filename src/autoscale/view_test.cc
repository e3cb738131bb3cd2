#include "autoscale/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autoscale/drain_options.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ViewTest, TellsPodsApartByOurAnnotationsAndReadsTheTimeOfOurMark) {
  const cluster::WorldOptions view = ViewOf({});
  EXPECT_THAT(view.marks.eviction_annotations,
              Optional(ElementsAre(std::string(kAnnotationPrefix))));
  EXPECT_THAT(view.marks.timed_taints, ElementsAre(std::string(kToBeDeletedTaint)));
}

TEST(ViewTest, APodThatEndedDoesNotCount) {
  const cluster::WorldOptions view = ViewOf({});
  model::Pod pod;
  pod.spec.node_name = "n";
  pod.status.phase = "Running";
  EXPECT_TRUE(view.counts(pod));
  pod.status.phase = "Succeeded";
  EXPECT_FALSE(view.counts(pod));
}

}  // namespace
}  // namespace coppice::autoscale
