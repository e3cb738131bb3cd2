#include "batch/class_table.h"

#include <gtest/gtest.h>

#include "batch/conf.h"
#include "batch/heap.h"
#include "batch/resource.h"

namespace coppice::batch {
namespace {

TEST(TournamentTest, WhatFitsNowBeatsEveryScoreOfWhatWillFit) {
  const std::vector<uint32_t> place{0, 1, 2};
  Tournament tree(place);
  tree.Fill({{.rank = 1, .score = 100}, {.rank = 2, .score = 1}, {.rank = 0, .score = 500}});
  EXPECT_EQ(tree.Best(), 1u);
  tree.Set(1, {});
  EXPECT_EQ(tree.Best(), 0u);
  tree.Set(0, {});
  EXPECT_EQ(tree.Best(), std::nullopt);
}

TEST(TournamentTest, EqualsAreTakenByPlace) {
  const std::vector<uint32_t> place{2, 0, 1};
  Tournament tree(place);
  tree.Fill({{.rank = 2, .score = 5}, {.rank = 2, .score = 5}, {.rank = 2, .score = 5}});
  EXPECT_EQ(tree.Best(), 1u);
  tree.Set(0, {.rank = 2, .score = 6});
  EXPECT_EQ(tree.Best(), 0u);
}

TEST(HeapTest, ComesOutInOrder) {
  Heap<int> heap([](int l, int r) { return l < r; });
  for (const int value : {5, 1, 4, 1, 3}) heap.Push(value);
  std::vector<int> out;
  while (!heap.empty()) out.push_back(heap.Pop());
  EXPECT_EQ(out, (std::vector<int>{1, 1, 3, 4, 5}));
}

TEST(ResourceTest, NothingNamedDiffersFromNothingAtAll) {
  Resource without;
  Resource with;
  with.MakeScalars();
  EXPECT_FALSE(without == with);
  Resource one;
  one.Set(InternScalar("example.com/a"), 1);
  EXPECT_FALSE(without.Sub(one));
  EXPECT_FALSE(without.has_scalars());
  EXPECT_FALSE(with.Sub(one));
  EXPECT_EQ(with.Get("example.com/a"), -1);
}

TEST(ConfTest, FlagsAreOnUnlessTheFileSaysOtherwise) {
  const auto conf =
      ParseConf("actions: allocate\ntiers:\n- plugins: [{name: gang, enablePreemptable: off}]");
  ASSERT_TRUE(conf.ok()) << conf.status();
  const PluginOption& gang = conf->tiers[0].plugins[0];
  EXPECT_TRUE(gang.enabled(Flag::kJobReady));
  EXPECT_FALSE(gang.enabled(Flag::kPreemptable));
  EXPECT_FALSE(gang.enabled(Flag::kHierarchy));
}

TEST(ConfTest, WhatIsWrongIsToldByTheCode) {
  EXPECT_EQ(ParseConf("actions: [").code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseConf("actions: dance").code(), Code::kNotFound);
  EXPECT_EQ(
      ParseConf("actions: allocate\ntiers:\n- plugins:\n  - {name: drf, enableHierarchy: yes}\n"
                "  - name: proportion")
          .code(),
      Code::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice::batch
