#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::least_waste {
void Register(expand::ExpanderRegistry& registry);
}

struct LeastWasteUnderTest {
  std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context) {
    expand::ExpanderRegistry registry("expander");
    expanders::least_waste::Register(registry);
    return MUST(registry.Make("least-waste", context));
  }
  void Surround(expand::Surroundings&) {}
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(LeastWaste, ExpanderSuite, LeastWasteUnderTest);
}

namespace expanders::least_waste {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Left(const std::vector<test::AnOption>& wanted) {
  return conformance::Left<LeastWasteUnderTest>(wanted);
}

TEST(LeastWasteTest, TheSmallestUnusedShareWins) {
  EXPECT_THAT(
      Left({{.group = "large", .pods = 4, .node_cpu_millis = 16'000, .node_memory_mib = 65'536},
            {.group = "small", .pods = 4, .node_cpu_millis = 2'000, .node_memory_mib = 2'048}}),
      ElementsAre("small"));
}

TEST(LeastWasteTest, EqualSharesTie) {
  EXPECT_THAT(Left({{.group = "a", .nodes = 2, .pods = 2},
                    {.group = "b", .nodes = 1, .pods = 1},
                    {.group = "c", .nodes = 2, .pods = 1}}),
              ElementsAre("a", "b"));
}

TEST(LeastWasteTest, WithoutATemplateThereIsNoShare) {
  EXPECT_THAT(Left({{.group = "a", .has_template = false}, {.group = "b"}}), ElementsAre("b"));
  EXPECT_THAT(Left({{.group = "a", .has_template = false}}), testing::IsEmpty());
}

// Upstream's arithmetic: divided by nothing is minus infinity, and that is little.
TEST(LeastWasteTest, NoNodesWin) {
  EXPECT_THAT(Left({{.group = "a"}, {.group = "b", .nodes = 0}}), ElementsAre("b"));
}

// The short way for plain pods and the long one for all others say the same.
TEST(LeastWasteTest, InitContainersOverheadAndPodLevelRequestsCount) {
  const auto left = [](auto change) {
    const conformance::Fresh<LeastWasteUnderTest> expander;
    test::OptionSet set({{.group = "plain", .pods = 0}, {.group = "changed", .pods = 0}});
    const model::Pod plain = test::APodOf("p", 500, 512);
    model::Pod changed = plain;
    change(changed);
    expand::Option options[] = {*set.options()[0], *set.options()[1]};
    options[0].pods = {&plain, &plain};
    options[1].pods = {&plain, &changed};
    return test::GroupsOf(expander->Narrow({&options[0], &options[1]}, {}));
  };
  EXPECT_THAT(left([](model::Pod&) {}), ElementsAre("plain", "changed"));
  EXPECT_THAT(
      left([](model::Pod& pod) { pod.spec.overhead["cpu"] = model::Quantity::FromMillis(1); }),
      ElementsAre("changed"));
  EXPECT_THAT(left([](model::Pod& pod) {
                pod.spec.init_containers = pod.spec.containers;
                pod.spec.init_containers[0].resources.requests["cpu"] =
                    model::Quantity::FromMillis(501);
              }),
              ElementsAre("changed"));
  EXPECT_THAT(left([](model::Pod& pod) { pod.spec.containers.push_back(pod.spec.containers[0]); }),
              ElementsAre("changed"));
  EXPECT_THAT(left([](model::Pod& pod) {
                pod.spec.resources.emplace();
                pod.spec.resources->requests["cpu"] = model::Quantity::FromMillis(100);
              }),
              ElementsAre("plain"));
}

}  // namespace
}  // namespace expanders::least_waste
}  // namespace coppice
