// least-nodes: as few machines as possible. An option of no nodes at all is no help and is left
// out.

#include <algorithm>
#include <limits>

#include "expand/expander.h"

namespace coppice::expanders::least_nodes {
namespace {

class LeastNodes final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    int least = std::numeric_limits<int>::max();
    for (const expand::Option* option : options) {
      if (option->node_count != 0) least = std::min(least, option->node_count);
      if (around.measured) {
        around.measured(*option, option->node_count,
                        "takes " + std::to_string(option->node_count) + " nodes");
      }
    }
    expand::Options best;
    std::ranges::copy_if(options, std::back_inserter(best),
                         [least](const expand::Option* o) { return o->node_count == least; });
    return best;
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("least-nodes", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<LeastNodes>());
  });
}

}  // namespace coppice::expanders::least_nodes
