// coppice simulate --node-pools on dumps that are not as they should be, and on long ones.

#include <gmock/gmock.h>

#include "app/commands/commands.h"
#include "app/main.h"
#include "test/support/test_certificates.h"

namespace coppice::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SimulatePoolsTest : public testing::Test {
 protected:
  SimulatePoolsTest() {
    RegisterDiscoveredPlugins(plugins_);
    dir_.Write("cloud.yaml", "cloud: {kind: simulated}\nclusterTag: a\n");
  }

  std::string Simulate(std::vector<std::string> more) {
    more.insert(more.begin(), {"--node-pools", "--cloud-config=" + dir_.At("cloud.yaml")});
    testing::internal::CaptureStdout();
    code_ = RunSimulate(more, plugins_);
    return testing::internal::GetCapturedStdout();
  }

  static std::string Pool(const std::string& name, const std::string& zone) {
    return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: " + name +
           "}\nspec:\n  template:\n    spec:\n      nodeClassRef: {group: coppice.dev, kind: "
           "NodeClass, name: c}\n      requirements:\n      - {key: topology.kubernetes.io/zone, "
           "operator: In, values: [" +
           zone + "]}\n---\n";
  }
  // So large that each takes a machine of its own.
  static std::string Pod(const std::string& name, const std::string& cpu) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: d}\nspec: {containers: [{name: a, resources: {requests: {cpu: \"" + cpu +
           "\"}}}]}\n---\n";
  }

  Plugins plugins_;
  const test::TempDirectory dir_;
  int code_ = 0;
};

TEST_F(SimulatePoolsTest, ADumpThatIsGivenTwiceCountsOnceAndIsToldSo) {
  const std::string dump =
      dir_.Write("dump.yaml", Pool("web", "north1") + Pod("p", "1") +
                                  "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n");
  const std::string text = Simulate({"--cluster", dump, "--cluster", dump});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("0 nodes, 1 pod, 1 pending"), HasSubstr("Pools    web\n"),
                          HasSubstr("2 objects are there twice, and the last one counts: Pod d/p, "
                                    "NodePool web"),
                          HasSubstr("left out, for no decision looks at them: 2 Secret v1")));
}

TEST_F(SimulatePoolsTest, AnAddedPoolTakesThePlaceOfTheOneThatIsThere) {
  const std::string dump = dir_.Write("dump.yaml", Pool("web", "north1") + Pod("p", "1"));
  const std::string added = dir_.Write("added.yaml", Pool("web", "north2"));
  const std::string text = Simulate({"--cluster", dump, "--add", added});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("what is added takes the place of 1 object of the dump: "
                                    "NodePool web"),
                          HasSubstr("Pools    web\n"), HasSubstr(" in north2, "),
                          Not(HasSubstr(" in north1, "))));
}

TEST_F(SimulatePoolsTest, AMachineThatIsBoughtForPodsIsNotEmpty) {
  const std::string dump = dir_.Write("dump.yaml", Pool("web", "north1") + Pod("p", "9"));
  const std::string text = Simulate({"--cluster", dump, "--consolidate"});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("  + new-1: "), HasSubstr("nothing would go\n")));
}

TEST_F(SimulatePoolsTest, LongSectionsAreShortenedWithACount) {
  std::string objects = Pool("web", "north1");
  for (int i = 0; i < 30; ++i) objects += Pod("large-" + std::to_string(i), "9");
  for (int i = 0; i < 25; ++i) objects += Pod("giant-" + std::to_string(i), "5000");
  const std::string dump = dir_.Write("dump.yaml", objects);
  const std::string text = Simulate({"--cluster", dump});
  EXPECT_EQ(code_, 3) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("  + and 10 machines more (--whole shows all)\n"),
                          HasSubstr("  ! and 5 pods more (--whole shows all)\n")));
  const std::string whole = Simulate({"--cluster", dump, "--whole"});
  EXPECT_THAT(whole, AllOf(HasSubstr("  + new-30: "), Not(HasSubstr(" more"))));
}

}  // namespace
}  // namespace coppice::app
