// least-waste: the smallest unused share of cpu plus the smallest unused share of memory.
//
// Against the capacity of the new nodes and not their allocatable, and without what DaemonSets
// take: that is how upstream reckons, and operators have tuned their groups to it. Plain IEEE
// arithmetic: an option of no nodes divides by zero and, as minus infinity, wins.

#include "expand/expander.h"
#include "model/resources.h"

namespace coppice::expanders::least_waste {
namespace {

struct Amounts {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
};

// Sums are exact; only the total is rounded. Pods of one controller share their spec object's
// amounts, and most options hold few distinct ones, but adding a quantity is cheap enough not to
// look for them.
Amounts RequestsOf(const std::vector<const model::Pod*>& pods) {
  model::Quantity cpu;
  model::Quantity memory;
  for (const model::Pod* pod : pods) {
    const model::ResourceList requests = model::RequestList(*pod);
    if (const model::Quantity* q = requests.Find(model::kCpu)) cpu.Add(*q);
    if (const model::Quantity* q = requests.Find(model::kMemory)) memory.Add(*q);
  }
  return {cpu.MilliValue(), memory.Value()};
}

Amounts CapacityOf(const model::Node& node) {
  const model::Quantity* cpu = node.status.capacity.Find(model::kCpu);
  const model::Quantity* memory = node.status.capacity.Find(model::kMemory);
  return {cpu ? cpu->MilliValue() : 0, memory ? memory->Value() : 0};
}

double WasteOf(const expand::Option& option) {
  const Amounts requested = RequestsOf(option.pods);
  const Amounts each = CapacityOf(*option.node);
  const int64_t cpu = each.cpu_millis * option.node_count;
  const int64_t memory = each.memory_bytes * option.node_count;
  return static_cast<double>(cpu - requested.cpu_millis) / static_cast<double>(cpu) +
         static_cast<double>(memory - requested.memory_bytes) / static_cast<double>(memory);
}

class LeastWaste final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
    expand::Options best;
    double least = 0;
    for (const expand::Option* option : options) {
      if (option->node == nullptr) continue;
      const double waste = WasteOf(*option);
      if (waste == least) best.push_back(option);
      if (best.empty() || waste < least) {
        least = waste;
        best = {option};
      }
    }
    return best;
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("least-waste", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<LeastWaste>());
  });
}

}  // namespace coppice::expanders::least_waste
