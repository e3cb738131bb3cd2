#include "cloud/instance_type.h"

#include <gtest/gtest.h>

#include <string>

namespace coppice::cloud {
namespace {

model::Quantity Of(const std::string& text) { return *model::Quantity::Parse(text); }

Offering Sold(const std::string& capacity_type, const std::string& zone, double price) {
  Offering offering{.price = price};
  offering.requirements.Add(model::NodeRequirement::In(model::kCapacityTypeLabel, {capacity_type}));
  offering.requirements.Add(model::NodeRequirement::In(model::kZoneLabel, {zone}));
  return offering;
}

InstanceType TypeNamed(const std::string& name, std::vector<Offering> offerings) {
  InstanceType type{.name = name, .offerings = std::move(offerings)};
  type.capacity["cpu"] = Of("4");
  type.capacity["memory"] = Of("8Gi");
  type.requirements.Add(model::NodeRequirement::In(model::kInstanceTypeLabel, {name}));
  return type;
}

TEST(InstanceTypeTest, HugePagesAreTakenOutOfMemoryButNeverBelowZero) {
  InstanceType type = TypeNamed("a", {});
  type.capacity["hugepages-2Mi"] = Of("2Gi");
  EXPECT_EQ(AllocatableGroups(type).front().allocatable.Find("memory")->Canonical(), "6Gi");
  type.capacity["hugepages-2Mi"] = Of("64Gi");
  EXPECT_TRUE(AllocatableGroups(type).front().allocatable.Find("memory")->IsZero());
}

TEST(InstanceTypeTest, OfferingsWithOverridesAreGroupsOfTheirOwn) {
  Offering larger = Sold("spot", "a", 1);
  larger.capacity_override["memory"] = Of("12Gi");
  Offering gone = larger;
  gone.available = false;
  const InstanceType type = TypeNamed("a", {Sold("spot", "b", 1), larger, gone, larger});
  const auto groups = AllocatableGroups(type);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].offerings.size(), 1u);
  EXPECT_EQ(groups[1].offerings.size(), 2u);
  EXPECT_EQ(groups[1].allocatable.Find("memory")->Canonical(), "12Gi");
}

TEST(InstanceTypeTest, OneNegativeAmountMakesEverythingUnfit) {
  model::ResourceList total;
  total["cpu"] = Of("4");
  total["example.com/gpu"] = Of("-1");
  EXPECT_FALSE(Fits({}, total));
}

TEST(InstanceTypeTest, AFullReservationHasNoPrice) {
  Offering reserved = Sold("reserved", "a", 0.01);
  const InstanceType type = TypeNamed("a", {reserved, Sold("on-demand", "a", 2)});
  EXPECT_EQ(CheapestPrice(type, {}, model::LabelRules::Default()), 2);
  InstanceType free = type;
  free.offerings.front().reservation_capacity = 1;
  EXPECT_EQ(CheapestPrice(free, {}, model::LabelRules::Default()), 0.01);
}

TEST(InstanceTypeTest, TheWorstPriceIsThatOfTheCapacityTypeThatWouldBeBought) {
  const InstanceType type =
      TypeNamed("a", {Sold("spot", "a", 1), Sold("spot", "b", 3), Sold("on-demand", "a", 9)});
  EXPECT_EQ(WorstLaunchPrice(type, {}, model::LabelRules::Default()), 3);
}

TEST(InstanceTypeTest, VarietyCountsOnlyValuesThatAreAllowed) {
  const InstanceType a = TypeNamed("a", {Sold("spot", "a", 1)});
  const InstanceType b = TypeNamed("b", {Sold("spot", "a", 2)});
  model::NodeRequirements wished;
  auto names = model::NodeRequirement::In(model::kInstanceTypeLabel, {"a", "c"});
  names.set_min_values(2);
  wished.Add(names);
  const auto answer = SatisfiesMinValues({&a, &b}, wished);
  EXPECT_EQ(answer.unmet.at(std::string(model::kInstanceTypeLabel)), 1);
  EXPECT_FALSE(Truncate({&a, &b}, wished, model::LabelRules::Default(), 1, true).ok());
  EXPECT_TRUE(Truncate({&a, &b}, wished, model::LabelRules::Default(), 1, false).ok());
}

TEST(InstanceTypeTest, EqualPricesAreOrderedByName) {
  const InstanceType a = TypeNamed("a", {Sold("spot", "a", 1)});
  const InstanceType b = TypeNamed("b", {Sold("spot", "a", 1)});
  TypeList types = {&b, &a};
  OrderByPrice(types, {}, model::LabelRules::Default());
  EXPECT_EQ(types, (TypeList{&a, &b}));
}

TEST(InstanceTypeTest, PricesAreReplacedShiftedOrScaled) {
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, ""), 0.4);
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, "0.5"), 0.5);
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, "+0.1"), 0.5);
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, "-25%"), 0.3);
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, "-7"), 0);
  EXPECT_DOUBLE_EQ(AdjustedPrice(0.4, "+nonsense"), 0.4);
}

}  // namespace
}  // namespace coppice::cloud
