#include "model/rare.h"

#include <gtest/gtest.h>

#include <string>

namespace coppice::model {
namespace {

TEST(RareTest, IsUsedLikeAnOptional) {
  Rare<std::string> rare;
  EXPECT_FALSE(rare);
  EXPECT_EQ(rare, Rare<std::string>());
  rare.emplace("a");
  EXPECT_TRUE(rare.has_value());
  EXPECT_EQ(rare->size(), 1u);
  EXPECT_EQ(*rare, "a");
  EXPECT_NE(rare, Rare<std::string>());
  rare = std::nullopt;
  EXPECT_FALSE(rare);
}

TEST(RareTest, ACopyIsItsOwn) {
  Rare<std::string> one(std::string("a"));
  Rare<std::string> other = one;
  EXPECT_EQ(one, other);
  *other = "b";
  EXPECT_EQ(*one, "a");
  EXPECT_NE(one, other);
  one = other;
  EXPECT_EQ(*one, "b");
  const Rare<std::string>& itself = one;
  one = itself;
  EXPECT_EQ(*one, "b");
}

TEST(RareTest, TakesTheRoomOfAPointer) { EXPECT_EQ(sizeof(Rare<std::string>), sizeof(void*)); }

}  // namespace
}  // namespace coppice::model
