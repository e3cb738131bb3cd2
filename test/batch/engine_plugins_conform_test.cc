// Every batch plug-in of the tree is held to what sessions rely on. `extender` is not: its answers
// are somebody else's (plugins/batch/extender has tests of its own).

#include "test/batch/batch_cluster.h"
#include "test/conformance/batch_suite.h"

namespace coppice::conformance {
namespace {

std::vector<BatchPluginUnderTest> EveryPlugin() {
  std::vector<BatchPluginUnderTest> all;
  for (const std::string& name : test::TheBatchPlugins().batch.names()) {
    if (name == "extender") continue;
    all.push_back({.name = name, .add = [](auto& plugins, auto& filters) {
                     test::RegisterBatchPlugins(plugins, filters);
                   }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(InTree, BatchPluginSuite, testing::ValuesIn(EveryPlugin()),
                         [](const auto& of) {
                           std::string name = of.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace coppice::conformance
