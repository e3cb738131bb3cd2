#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"
#include "test/support/processor_world.h"

namespace coppice::processors::skip_namespaces {

void Register(autoscale::ProcessorRegistry& registry);

namespace {

class SkipNamespacesTest : public testing::Test {
 protected:
  SkipNamespacesTest() { Register(registry_); }

  test::ProcessorWorld world_;
  autoscale::ProcessorRegistry registry_;
};

TEST_F(SkipNamespacesTest, PodsOfTheNamespacesAreLeftOutAfterTheStandardStep) {
  const auto processor =
      MUST(registry_.pod_list.Make("skip-namespaces", world_.Context("scratch,dev")));
  size_t standard_saw = 0;
  const auto standard = [&](autoscale::Pods pods) {
    standard_saw = pods.size();
    return pods;
  };
  const autoscale::Pods left = MUST(processor->Process(
      {test::ProcessorWorld::Pod("scratch", "a"), test::ProcessorWorld::Pod("web", "b"),
       test::ProcessorWorld::Pod("dev", "c")},
      standard, world_.View()));
  EXPECT_EQ(standard_saw, 3U) << "they may use what is there";
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].pod->metadata.name, "b");
}

TEST_F(SkipNamespacesTest, WithoutNamespacesItIsRefused) {
  const auto made = registry_.pod_list.Make("skip-namespaces", world_.Context(""));
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), testing::HasSubstr("it needs namespaces"));
}

}  // namespace
}  // namespace coppice::processors::skip_namespaces
