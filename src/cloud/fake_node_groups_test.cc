#include "cloud/fake_node_groups.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/template.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/must.h"

namespace coppice::conformance {

struct FakeGroupsUnderTest {
  FakeGroupsUnderTest() {
    for (const char* name : {"first", "second"}) {
      const cloud::Flavor flavor{.name = "f", .cpu_millis = 2'000, .memory_bytes = 4LL << 30};
      fake.Add({.info = {.id = name, .max_size = 5},
                .node_template = std::make_shared<const model::Node>(
                    MUST(cloud::MakeTemplate({.name = name}, flavor, "")))});
    }
  }
  FakeClock fake_clock;
  cloud::FakeNodeGroups fake;

  cloud::NodeGroups& groups() { return fake; }
  Clock& clock() { return fake_clock; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake.Fulfil(); }
  int CallsOut() { return CallsOutOf(fake.calls()); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(FakeNodeGroups, NodeGroupsSuite, FakeGroupsUnderTest);

}  // namespace coppice::conformance

namespace coppice::cloud {

TEST(FakeNodeGroupsTest, FailsWhereItIsToldAndRemembersWhatWasAsked) {
  FakeNodeGroups groups;
  groups.Add({.info = {.id = "g", .max_size = 3}});
  const uint64_t version = groups.Version();
  groups.Fail("Increase", Unavailable("down"));
  EXPECT_EQ(groups.Increase("g", 2, Deadline::Never()).code(), Code::kUnavailable);
  groups.Fail("Increase", Status::Ok());
  EXPECT_OK(groups.Increase("g", 2, Deadline::Never()));
  EXPECT_GT(groups.Version(), version);
  ASSERT_EQ(groups.calls().size(), 2u);
  EXPECT_EQ(groups.calls()[1], (FakeNodeGroups::Call{"Increase", "g", 2, {}}));
}

}  // namespace coppice::cloud
