#include "autoscale/listed_node.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace coppice::autoscale {
namespace {

TEST(PerNodeTest, KeepsWhatBelongsToTheSameObjectWhileNodesComeGoAndChange) {
  SeededRng rng(3);
  std::vector<cluster::NodePtr> nodes;
  PerNode<const model::Node*> memory;
  size_t made = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 3; ++i) {
      if (nodes.size() > 20 && rng.Chance(0.5))
        nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(rng.Below(nodes.size())));
      nodes.push_back(std::make_shared<const model::Node>());
      if (rng.Chance(0.3)) nodes[rng.Below(nodes.size())] = std::make_shared<const model::Node>();
    }
    const size_t before = made;
    memory.Begin(nodes.size());
    for (const cluster::NodePtr& node : nodes) {
      const model::Node* of = memory.Next(node, [&] {
        ++made;
        return node.get();
      });
      ASSERT_EQ(of, node.get());
    }
    ASSERT_LE(made - before, 6u) << "only new and changed nodes are looked at";
  }
}

}  // namespace
}  // namespace coppice::autoscale
