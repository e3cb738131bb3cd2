#include "model/flat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/meta.h"

namespace coppice::model {
namespace {

TEST(FlatMapTest, IsSortedHoweverItWasFilled) {
  Labels labels{{"b", "2"}, {"a", "1"}, {"c", "3"}, {"a", "4"}};
  EXPECT_EQ(labels, (Labels{{"a", "4"}, {"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(*labels.Find("b"), "2");
  EXPECT_EQ(labels.Find("d"), nullptr);
  EXPECT_TRUE(labels.erase("b"));
  EXPECT_FALSE(labels.erase("b"));
  EXPECT_FALSE(labels.contains("b"));
}

TEST(FlatMapTest, FillingInBulkSortsAndKeepsTheLastOfEqualKeys) {
  Labels labels{{"old", "x"}, {"older", "y"}, {"oldest", "z"}, {"zz", "z"}};
  auto& entries = labels.raw_entries();
  entries[0] = {"b", "1"};
  entries[1] = {"a", "2"};
  entries[2] = {"b", "3"};
  labels.Settle(3);
  EXPECT_EQ(labels, (Labels{{"a", "2"}, {"b", "3"}}));
}

TEST(ObjectMetaTest, TheControllerIsTheOwnerThatSaysSo) {
  ObjectMeta meta;
  EXPECT_EQ(ControllerOf(meta), nullptr);
  meta.owner_references = {
      {.name = "a"}, {.name = "b", .controller = false}, {.name = "c", .controller = true}};
  EXPECT_EQ(ControllerOf(meta)->name, "c");
}

}  // namespace
}  // namespace coppice::model
