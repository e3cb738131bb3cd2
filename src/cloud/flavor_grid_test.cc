#include "cloud/flavor_grid.h"

#include <algorithm>

#include "cloud/cloud_node_claims_fixture.h"

namespace coppice::cloud {
namespace {

constexpr int64_t kGi = 1LL << 30;

FlavorGrid AGrid() {
  return {.max_cpu_millis = 32'000,
          .max_memory_bytes = 128 * kGi,
          .min_gib_per_cpu = 1,
          .max_gib_per_cpu = 8,
          .price_per_cpu = 0.03,
          .price_per_gib = 0.004,
          .spot_factor = 0.5,
          .disk_bytes = 50 * kGi,
          .zones = {"zone1", "zone2"}};
}

TEST(FlavorGridTest, NamesCarryTheMeasure) {
  const FlavorGrid grid = AGrid();
  const Measure measure{4'000, 16 * kGi};
  EXPECT_EQ(grid.NameOf(measure), "any-4000m-16384Mi");
  EXPECT_EQ(grid.Parse("any-4000m-16384Mi"), measure);
  for (const char* name :
       {"", "any", "any-", "any-4000m", "any-4000m-", "any-4000-16384Mi", "any-04000m-16384Mi",
        "any-+4000m-16384Mi", "any-4000m-16384Mi-", "any--4000m-1Mi", "other-4000m-16384Mi",
        "any-4000m-9223372036854775807Mi", "any-99999999999999999999m-1Mi"}) {
    EXPECT_EQ(grid.Parse(name), std::nullopt) << name;
  }
}

TEST(FlavorGridTest, TheSmallestThatHoldsItLiesOnTheGridAndBetweenTheRatios) {
  const FlavorGrid grid = AGrid();
  EXPECT_EQ(grid.AtLeast({100, kGi / 2}), (Measure{1'000, kGi}));
  EXPECT_EQ(grid.AtLeast({3'100, 5 * kGi}), (Measure{4'000, 5 * kGi}));
  EXPECT_EQ(grid.AtLeast({1'000, 20 * kGi}), (Measure{3'000, 20 * kGi})) << "at most 8 GiB per cpu";
  EXPECT_EQ(grid.AtLeast({8'000, kGi}), (Measure{8'000, 8 * kGi})) << "at least 1 GiB per cpu";
  EXPECT_EQ(grid.AtLeast({33'000, kGi}), std::nullopt);
  EXPECT_EQ(grid.AtLeast({1'000, 129 * kGi}), std::nullopt);
}

TEST(FlavorGridTest, ChosenFlavorsAreSoldHoldWhatWaitsAndAreNotTooMany) {
  const FlavorGrid grid = AGrid();
  std::vector<Measure> wanted;
  for (int64_t i = 1; i <= 300; ++i) wanted.push_back({i * 97, i * (kGi / 3)});
  const Measure live{7'000, 13 * kGi};
  const auto flavors = grid.Choose(wanted, {live}, 600);
  EXPECT_LE(flavors.size(), 600u);
  EXPECT_TRUE(std::ranges::is_sorted(flavors, {}, &Flavor::name));
  EXPECT_NE(std::ranges::find(flavors, grid.NameOf(live), &Flavor::name), flavors.end());
  for (const Flavor& flavor : flavors) EXPECT_TRUE(grid.Sells(*grid.Parse(flavor.name)));
  for (const Measure& one : wanted) {
    const auto least = grid.AtLeast(one);
    if (!least) continue;
    EXPECT_NE(std::ranges::find(flavors, grid.NameOf(*least), &Flavor::name), flavors.end());
  }
  EXPECT_THAT(grid.Choose(wanted, {live}, 10), testing::SizeIs(10));
  EXPECT_FALSE(grid.Choose({}, {}, 600).empty()) << "something is there before anybody asks";
}

TEST(FlavorGridTest, ADeclarationThatMakesNoSenseIsToldSo) {
  EXPECT_TRUE(AGrid().Mistakes().empty());
  FlavorGrid bad = AGrid();
  bad.cpu_step_millis = 0;
  bad.max_memory_bytes = 1;
  bad.spot_factor = 2;
  EXPECT_THAT(bad.Mistakes(), testing::SizeIs(3));
}

class GridCloud final : public FakeCloud {
 public:
  using FakeCloud::FakeCloud;
  std::optional<FlavorGrid> Grid() const override { return grid; }
  FlavorGrid grid = AGrid();
};

class GridClaimsTest : public testing::Test {
 protected:
  GridClaimsTest() {
    cloud.set_flavors({});
    claims = CloudNodeClaims::Create({cloud, workers, clock, rng, log, metrics}, {});
    claims->SetClasses({AClass()});
    Refresh();
  }
  void Refresh() {
    clock.Advance(std::chrono::minutes(10));
    EXPECT_OK(claims->Refresh(Soon()));
  }
  Deadline Soon() { return Deadline::In(clock, std::chrono::seconds(30)); }
  std::shared_ptr<const InstanceTypes> Types(int64_t cpu_millis, int64_t memory_bytes) {
    WaitingShapes waiting;
    auto& requests = waiting.requests.emplace_back();
    requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    requests["memory"] = model::Quantity::FromUnits(memory_bytes);
    return MUST(claims->InstanceTypesFor(APool(), waiting));
  }

  FakeClock clock;
  GridCloud cloud{clock};
  InlineWorkers workers;
  SeededRng rng{7};
  Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<CloudNodeClaims> claims;
};

TEST_F(GridClaimsTest, TypesAreMadeToMeasureWithWhatTheKubeletKeepsOnTop) {
  const auto types = Types(5'000, 10 * kGi);
  EXPECT_LE(types->size(), 600u);
  EXPECT_EQ(Types(5'000, 10 * kGi), types) << "asked again it is a look-up";
  const bool close = std::ranges::any_of(*types, [](const InstanceType& type) {
    const auto left = AllocatableGroups(type)[0].allocatable;
    return left.Find("cpu")->MilliValue() == 5'000 && left.Find("memory")->Value() >= 10 * kGi &&
           left.Find("memory")->Value() < 11 * kGi;
  });
  EXPECT_TRUE(close);
}

TEST_F(GridClaimsTest, SeveralWhoAskInTurnsGetTheirListsAgain) {
  const auto first = Types(5'000, 10 * kGi);
  const auto second = Types(1'000, kGi);
  EXPECT_NE(first, second);
  EXPECT_EQ(Types(5'000, 10 * kGi), first);
  EXPECT_EQ(Types(1'000, kGi), second);
}

TEST_F(GridClaimsTest, AClaimBuysAMeasureAndKeepsItsTypeWhateverWaitsLater) {
  const std::string name = cloud.grid.NameOf({6'000, 11 * kGi});
  cloud.set_flavors({cloud.grid.FlavorOf({6'000, 11 * kGi})});  // what the fake checks orders by
  model::NodeClaim claim = AClaim("one");
  claim.spec.requirements.push_back(
      {.key = std::string(model::kInstanceTypeLabel), .operator_ = "In", .values = {name}});
  EXPECT_OK(TakeOver(MUST(claims->Create(claim, Soon())), claim));
  EXPECT_EQ(*claim.metadata.labels.Find(model::kInstanceTypeLabel), name);
  EXPECT_EQ(*claim.metadata.labels.Find(model::kCapacityTypeLabel), "spot");
  cloud.set_flavors({});
  Refresh();
  const auto types = Types(1'000, kGi);
  EXPECT_NE(std::ranges::find(*types, name, &InstanceType::name), types->end());
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "");

  cloud.grid.max_cpu_millis = 4'000;
  Refresh();
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "InstanceTypeNotFound") << "the grid is asked";
  const auto now = Types(1'000, kGi);
  const auto still = std::ranges::find(*now, name, &InstanceType::name);
  ASSERT_NE(still, now->end()) << "its price is still asked for";
  EXPECT_FALSE(still->offerings.front().available);
}

// A claim of a static pool: the provider chooses.
TEST_F(GridClaimsTest, AClaimThatNamesNoTypeGetsTheCheapestMeasureThatHoldsIt) {
  const std::vector<std::pair<int64_t, Measure>> rows = {{500, {1'000, kGi}},
                                                         {5'500, {6'000, 6 * kGi}}};
  for (const auto& [cpu_millis, measure] : rows) {
    cloud.set_flavors({cloud.grid.FlavorOf(measure)});  // what the fake checks orders by
    model::NodeClaim claim = AClaim("of-" + std::to_string(cpu_millis));
    claim.spec.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    EXPECT_OK(TakeOver(MUST(claims->Create(claim, Soon())), claim));
    EXPECT_EQ(*claim.metadata.labels.Find(model::kInstanceTypeLabel), cloud.grid.NameOf(measure));
  }
}

TEST_F(GridClaimsTest, AClaimThatOnlyExcludesTypesGetsAnother) {
  const Measure next{2'000, 2 * kGi};
  cloud.set_flavors({cloud.grid.FlavorOf(next)});
  model::NodeClaim claim = AClaim("picky");
  claim.spec.requirements.push_back(
      {.key = std::string(model::kInstanceTypeLabel),
       .operator_ = "NotIn",
       .values = {cloud.grid.NameOf({1'000, kGi}), cloud.grid.NameOf({1'000, 2 * kGi}),
                  cloud.grid.NameOf({1'000, 4 * kGi}), cloud.grid.NameOf({1'000, 8 * kGi})}});
  EXPECT_OK(TakeOver(MUST(claims->Create(claim, Soon())), claim));
  EXPECT_EQ(*claim.metadata.labels.Find(model::kInstanceTypeLabel), cloud.grid.NameOf(next));
}

}  // namespace
}  // namespace coppice::cloud
