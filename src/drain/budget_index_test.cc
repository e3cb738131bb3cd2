#include "drain/budget_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::drain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BudgetIndexTest : public testing::Test {
 protected:
  BudgetIndexTest() {
    Add("a", "app=web");
    Add("b", "app=web");
    Add("a", "tier in (front, back)");
    Add("a", "app=web,tier=front");
  }
  void Add(const std::string& namespace_, const std::string& selector) {
    index_.Add(namespace_, MUST(model::Selector::Parse(selector)));
  }
  static model::ObjectMeta Pod(const std::string& namespace_, const model::Labels& labels) {
    model::ObjectMeta meta;
    meta.namespace_ = namespace_;
    meta.labels = labels;
    return meta;
  }
  std::vector<size_t> Of(const model::ObjectMeta& pod) const {
    std::vector<size_t> budgets;
    index_.ForEach(pod, [&](size_t budget) { budgets.push_back(budget); });
    return budgets;
  }

  BudgetIndex index_;
};

TEST_F(BudgetIndexTest, ThoseOfThePodsNamespaceThatSelectItInTheirOrder) {
  EXPECT_THAT(Of(Pod("a", {{"app", "web"}, {"tier", "front"}})), ElementsAre(0, 2, 3));
  EXPECT_THAT(Of(Pod("b", {{"app", "web"}, {"tier", "front"}})), ElementsAre(1));
  EXPECT_THAT(Of(Pod("a", {{"app", "db"}})), IsEmpty());
  EXPECT_THAT(Of(Pod("c", {{"app", "web"}})), IsEmpty());
}

TEST_F(BudgetIndexTest, TheFirstIsTheFirstThatIsWanted) {
  const auto pod = Pod("a", {{"app", "web"}, {"tier", "front"}});
  EXPECT_EQ(index_.First(pod, [](size_t) { return true; }), 0U);
  EXPECT_EQ(index_.First(pod, [](size_t budget) { return budget > 0; }), 2U);
  EXPECT_EQ(index_.First(pod, [](size_t) { return false; }), BudgetIndex::kNone);
}

TEST_F(BudgetIndexTest, OneMeansAPodOrNot) {
  const auto pod = Pod("a", {{"app", "web"}});
  EXPECT_TRUE(index_.Means(0, pod));
  EXPECT_FALSE(index_.Means(1, pod));
  EXPECT_FALSE(index_.Means(3, pod));
  EXPECT_EQ(index_.size(), 4U);
}

}  // namespace
}  // namespace coppice::drain
