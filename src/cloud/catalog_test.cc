#include "cloud/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::cloud {
namespace {

using testing::HasSubstr;

TEST(CatalogTest, TheDefaultIsThePeers144) {
  const Catalog& catalog = KwokCatalog();
  ASSERT_EQ(catalog.size(), 144u);
  const auto type = std::ranges::find(catalog, "s-16x-arm64-windows", &CatalogType::name);
  ASSERT_NE(type, catalog.end());
  EXPECT_EQ(type->resources.Find("memory")->Value(), 64LL << 30);
  EXPECT_EQ(type->resources.Find("pods")->Value(), 256);
  ASSERT_EQ(type->offerings.size(), 8u);
  const double on_demand = 0.025 * 16 + 0.001 * static_cast<double>(64LL << 30) / 1e9;
  const InstanceType made = TypeOfCatalog(*type);
  EXPECT_DOUBLE_EQ(*made.OfferingPrice("test-zone-b", "on-demand"), on_demand);
  EXPECT_DOUBLE_EQ(*made.OfferingPrice("test-zone-d", "spot"), on_demand * 0.7);
  EXPECT_TRUE(made.requirements.Get(kKwokSizeLabel).Has("16"));
  EXPECT_TRUE(made.requirements.Get(kKwokFamilyLabel).Has("s"));
}

TEST(CatalogTest, AsFlavorsItKeepsZonesPricesAndStock) {
  const Flavor flavor = FlavorOfCatalog(KwokCatalog().front());
  EXPECT_EQ(flavor.name, "c-1x-amd64-linux");
  EXPECT_EQ(flavor.cpu_millis, 1'000);
  EXPECT_EQ(flavor.max_pods, 16);
  EXPECT_EQ(flavor.zones.size(), 4u);
  EXPECT_EQ(flavor.offerings.size(), 8u);
  EXPECT_DOUBLE_EQ(*flavor.price_per_hour, *flavor.offerings[1].price_per_hour);
}

std::string Offer(const std::string& zone, const std::string& more = "") {
  return R"({"Price": 1, )" + more + R"("Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [")" +
         zone + R"("]}]})";
}
std::string OneType(const std::string& offerings) {
  return R"([{"name": "a", "resources": {"cpu": "1", "memory": "1Gi"}, "offerings": [)" +
         offerings + "]}]";
}

TEST(CatalogTest, AvailableIsHonouredAndPodsHaveADefault) {
  const auto catalog = MUST(ParseCatalog(OneType(Offer("z", R"("Available": false, )")), "c.json"));
  EXPECT_FALSE(catalog[0].offerings[0].available);
  EXPECT_EQ(catalog[0].resources.Find("pods")->Value(), 110);
}

TEST(CatalogTest, MistakesAreNamedWithTheirPlace) {
  const auto complaint = [](const std::string& text) {
    return ParseCatalog(text, "c.json").status().message();
  };
  EXPECT_THAT(complaint("{}"), HasSubstr("list of instance types"));
  EXPECT_THAT(complaint(OneType("")), HasSubstr("one at least"));
  EXPECT_THAT(complaint(OneType(Offer("z") + "," + Offer("z"))), HasSubstr("twice"));
  EXPECT_THAT(complaint(OneType(R"({"Price": -1, "Requirements": []})")),
              testing::AllOf(HasSubstr("c.json:"), HasSubstr("no price"),
                             HasSubstr("topology.kubernetes.io/zone")));
  EXPECT_THAT(complaint(R"([{"name": "a", "resources": {"cpu": "many", "memory": "1Gi"}}])"),
              HasSubstr("'many'"));
}

}  // namespace
}  // namespace coppice::cloud
