#include "cloud/groups_picture.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "base/rng.h"
#include "cloud/group_instances.h"
#include "cloud/order.h"

namespace coppice::cloud {
namespace {

TEST(IdIndexTest, FindsWhatThousandsOfChangesLeftBehind) {
  SeededRng rng(5);
  IdIndex index;
  std::map<std::string, uint32_t> model;
  for (int round = 0; round < 300; ++round) {
    std::vector<IdIndex::Change> changes;
    std::set<std::string> used;  // an id changes once at a time
    for (uint64_t i = rng.Below(40); i > 0; --i) {
      const std::string id = "id-" + std::to_string(rng.Below(2'000));
      if (!used.insert(id).second) continue;
      const uint32_t group = rng.Chance(0.4) ? IdIndex::kNone : static_cast<uint32_t>(rng.Below(9));
      changes.emplace_back(id, group);
      if (group == IdIndex::kNone) {
        model.erase(id);
      } else {
        model[id] = group;
      }
    }
    const IdIndex before = index;
    index = before.With(changes);
  }
  for (int i = 0; i < 2'000; ++i) {
    const std::string id = "id-" + std::to_string(i);
    const auto it = model.find(id);
    EXPECT_EQ(index.Find(id), it == model.end() ? IdIndex::kNone : it->second) << id;
  }
}

TEST(IdIndexTest, AnOlderIndexIsNotChangedByANewerOne) {
  const IdIndex first(std::vector<IdIndex::Change>{{"a", 1}});
  const IdIndex second = first.With({{"a", IdIndex::kNone}, {"b", 2}});
  EXPECT_EQ(first.Find("a"), 1u);
  EXPECT_EQ(first.Find("b"), IdIndex::kNone);
  EXPECT_EQ(second.Find("a"), IdIndex::kNone);
  EXPECT_EQ(second.Find("b"), 2u);
}

TEST(IdIndexTest, AnIdThatMovesIsWhereItCameTo) {
  const IdIndex index(std::vector<IdIndex::Change>{{"a", 1}});
  EXPECT_EQ(index.With({{"a", 0}, {"a", IdIndex::kNone}}).Find("a"), 0u);
}

TEST(PlaceholderTest, SaysGroupAndNameAndRefusesTheRest) {
  const std::string id = PlaceholderId("web", "web-0a1b2c3d");
  EXPECT_EQ(id, "coppice-order://web/web-0a1b2c3d");
  const auto parsed = ParsePlaceholder(id);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->group, "web");
  EXPECT_EQ(parsed->name, "web-0a1b2c3d");
  for (const char* bad : {"", "coppice-order://", "coppice-order://web", "coppice-order:///x",
                          "coppice-order://web/", "coppice-order://web/a/b", "fake://web/a"}) {
    EXPECT_FALSE(ParsePlaceholder(bad)) << bad;
  }
}

TEST(PlaceholderTest, OnlyRefusalsAreCertain) {
  EXPECT_FALSE(MayHaveHappened(Code::kResourceExhausted));
  EXPECT_FALSE(MayHaveHappened(Code::kInvalidArgument));
  EXPECT_FALSE(MayHaveHappened(Code::kUnauthenticated));
  EXPECT_TRUE(MayHaveHappened(Code::kUnavailable));
  EXPECT_TRUE(MayHaveHappened(Code::kDeadlineExceeded));
  EXPECT_TRUE(MayHaveHappened(Code::kInternal));
  EXPECT_TRUE(MayHaveHappened(Code::kAlreadyExists));
}

}  // namespace
}  // namespace coppice::cloud
