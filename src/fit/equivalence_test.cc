#include "fit/equivalence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/room_rig.h"

namespace coppice::fit {
namespace {

using testing::ElementsAre;

cluster::PodPtr Shared(model::Pod pod) {
  return std::make_shared<const model::Pod>(std::move(pod));
}

std::vector<size_t> Sizes(const std::vector<cluster::PodPtr>& pods) {
  std::vector<PendingPod> pending;
  for (const auto& pod : pods) pending.push_back({pod, 0});
  std::vector<size_t> sizes;
  for (const auto& group : GroupEquivalent(pending)) sizes.push_back(group.size());
  return sizes;
}

TEST(EquivalenceTest, OnlyPodsOfOneControllerAreGrouped) {
  EXPECT_THAT(Sizes({Shared(Owned("a", "x")), Shared(Owned("b", "y")), Shared(Owned("c", "x")),
                     Shared(Owned("d")), Shared(Owned("e"))}),
              ElementsAre(2, 1, 1, 1));
}

TEST(EquivalenceTest, OnlyTheFirstTenKindsOfAControllerAreCompared) {
  std::vector<cluster::PodPtr> pods;
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 2; ++k) {
      model::Pod pod = Owned("p", "rs");
      pod.metadata.labels["kind"] = std::to_string(i);
      pods.push_back(Shared(pod));
    }
  }
  EXPECT_THAT(Sizes(pods), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1));
}

TEST(EquivalenceTest, ProjectedVolumesDoNotMatterOthersDo) {
  model::Pod a = Owned("a", "rs");
  model::Pod b = Owned("b", "rs");
  model::Volume token;
  token.name = "token-a";
  token.projected = true;
  a.spec.volumes.push_back(token);
  token.name = "token-b";
  b.spec.volumes.push_back(token);
  EXPECT_TRUE(SameForScheduling(a, b));
  model::Volume data;
  data.name = "data";
  data.claim_name = "claim-b";
  b.spec.volumes.push_back(data);
  EXPECT_FALSE(SameForScheduling(a, b));
}

}  // namespace
}  // namespace coppice::fit
