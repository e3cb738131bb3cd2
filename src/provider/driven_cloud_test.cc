#include "provider/driven_cloud.h"

#include <gmock/gmock.h>

#include <utility>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "cloud/fake_cloud.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/counting_cloud.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::conformance {

// A cloud of the same program, opened from a file as --cloud-provider names it.
struct DrivenUnderTest {
  // The registry owns the cloud that it made; we keep an eye on it.
  struct Owned {
    explicit Owned(Clock& clock) : fake(clock) {}
    cloud::FakeCloud fake;
    test::CountingCloud counted{fake};
  };
  class Handle final : public cloud::Cloud {
   public:
    explicit Handle(cloud::Cloud& behind) : behind_(behind) {}
    Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline by) override {
      return behind_.List(tags, by);
    }
    Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline by) override {
      return behind_.Create(spec, by);
    }
    Status Delete(const cloud::ProviderId& id, Deadline by) override {
      return behind_.Delete(id, by);
    }
    Result<std::vector<cloud::Flavor>> Flavors(Deadline by) override { return behind_.Flavors(by); }
    bool OwnsId(const cloud::ProviderId& id) const override { return behind_.OwnsId(id); }

   private:
    cloud::Cloud& behind_;
  };

  DrivenUnderTest() {
    clouds.Add("counted", [this](const cloud::CloudContext&) {
      return Result<std::unique_ptr<cloud::Cloud>>(std::make_unique<Handle>(owned.counted));
    });
    const std::string config =
        dir.Write("cloud.yaml",
                  "clusterTag: c\ncloud: {kind: counted}\nnodeGroups:\n"
                  "  - {name: first, maxSize: 5, flavor: small, zone: zone1}\n"
                  "  - {name: second, maxSize: 5, flavor: large, zone: zone1}\n");
    driven = MUST(provider::DriveCloud(
        {.cloud = "counted", .config_path = config, .workers = &workers},
        {.clouds = clouds, .clock = fake_clock, .rng = rng, .log = log, .metrics = metrics}));
  }
  FakeClock fake_clock;
  Owned owned{fake_clock};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  test::TempDirectory dir;
  cloud::CloudRegistry clouds{"cloud"};
  std::unique_ptr<cloud::NodeGroups> driven;

  cloud::NodeGroups& groups() { return *driven; }
  Clock& clock() { return fake_clock; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return owned.counted.calls(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Driven, NodeGroupsSuite, DrivenUnderTest);

// A second order of a group need not wait for the first, as with the same cloud behind gRPC.
TEST(DrivenCloudTest, TwoOrdersOfOneGroupOverlap) {
  DrivenUnderTest under_test;
  cloud::NodeGroups& groups = under_test.groups();
  EXPECT_TRUE(groups.OrdersMayOverlap("first"));
  ASSERT_TRUE(groups.Refresh(Deadline::Never()).ok());
  bool again = false;
  under_test.owned.fake.on_create = [&](const cloud::MachineSpec&) {
    if (!std::exchange(again, true)) {
      EXPECT_TRUE(groups.Increase("first", 2, Deadline::Never()).ok()) << "while one is under way";
      EXPECT_EQ(MUST(groups.TargetSize("first")), 3);
    }
    return cloud::FakeAnswer{};
  };
  EXPECT_TRUE(groups.Increase("first", 1, Deadline::Never()).ok());
  EXPECT_TRUE(again);
  EXPECT_EQ(MUST(groups.TargetSize("first")), 3);
}

}  // namespace coppice::conformance
