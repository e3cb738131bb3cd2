// least-waste: the smallest unused share of cpu plus the smallest unused share of memory.
//
// Against the capacity of the new nodes and not their allocatable, and without what DaemonSets
// take: that is how upstream reckons, and operators have tuned their groups to it. Plain IEEE
// arithmetic: an option of no nodes divides by zero and, as minus infinity, wins.

#include <cstdio>

#include "expand/expander.h"
#include "model/resources.h"

namespace coppice::expanders::least_waste {
namespace {

struct Amounts {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
};

void AddIfAny(model::Quantity& sum, const model::ResourceList& list, std::string_view name) {
  if (const model::Quantity* amount = list.Find(name)) sum.Add(*amount);
}

// Pods of a large cluster are not in the cache, and each is three objects deep: the pod, its
// containers, their requests. Asking for each some turns ahead hides most of the waiting.
void FetchAhead(const std::vector<const model::Pod*>& pods, size_t i) {
  constexpr size_t kTurns = 8;
  if (i + 3 * kTurns >= pods.size()) return;
  const model::PodSpec& far = pods[i + 3 * kTurns]->spec;
  __builtin_prefetch(&far.containers);
  __builtin_prefetch(&far.overhead);
  __builtin_prefetch(&far.resources);
  const model::PodSpec& nearer = pods[i + 2 * kTurns]->spec;
  if (!nearer.containers.empty()) __builtin_prefetch(&nearer.containers.front().resources);
  const model::PodSpec& next = pods[i + kTurns]->spec;
  if (next.containers.empty()) return;
  const model::ResourceList& requests = next.containers.front().resources.requests;
  for (const auto& entry : requests) __builtin_prefetch(&entry);
}

// Sums are exact; only the total is rounded. An option may hold fifty thousand pods, nearly all
// with one container and nothing around it: those need no list of their own. The others are summed
// apart first, as upstream does, for a sum of sums may take another form than one long sum.
Amounts RequestsOf(const std::vector<const model::Pod*>& pods) {
  model::Quantity cpu;
  model::Quantity memory;
  for (size_t i = 0; i < pods.size(); ++i) {
    FetchAhead(pods, i);
    const model::Pod* pod = pods[i];
    const model::PodSpec& spec = pod->spec;
    if (spec.containers.size() == 1 && spec.init_containers.empty() && !spec.resources &&
        spec.overhead.empty()) {
      const model::ResourceList& requests = spec.containers.front().resources.requests;
      AddIfAny(cpu, requests, model::kCpu);
      AddIfAny(memory, requests, model::kMemory);
    } else {
      const model::ResourceList requests = model::RequestList(*pod);
      AddIfAny(cpu, requests, model::kCpu);
      AddIfAny(memory, requests, model::kMemory);
    }
  }
  return {cpu.MilliValue(), memory.Value()};
}

// Groups that could take all pending pods all offer the same ones: their long lists are summed
// once.
class RequestSums {
 public:
  Amounts Of(const std::vector<const model::Pod*>& pods) {
    if (pods.size() < kWorthwhile) return RequestsOf(pods);
    for (const auto& [known, amounts] : known_) {
      if (*known == pods) return amounts;
    }
    const Amounts amounts = RequestsOf(pods);
    if (known_.size() < kRemembered) known_.emplace_back(&pods, amounts);
    return amounts;
  }

 private:
  static constexpr size_t kWorthwhile = 64;
  static constexpr size_t kRemembered = 8;
  std::vector<std::pair<const std::vector<const model::Pod*>*, Amounts>> known_;
};

Amounts CapacityOf(const model::Node& node) {
  const model::Quantity* cpu = node.status.capacity.Find(model::kCpu);
  const model::Quantity* memory = node.status.capacity.Find(model::kMemory);
  return {cpu ? cpu->MilliValue() : 0, memory ? memory->Value() : 0};
}

// What does not fit wraps, as in Go.
int64_t Times(int64_t amount, int count) {
  return static_cast<int64_t>(static_cast<uint64_t>(amount) *
                              static_cast<uint64_t>(static_cast<int64_t>(count)));
}
int64_t Minus(int64_t from, int64_t amount) {
  return static_cast<int64_t>(static_cast<uint64_t>(from) - static_cast<uint64_t>(amount));
}

double WasteOf(const expand::Option& option, RequestSums& sums) {
  const Amounts requested = sums.Of(option.pods);
  const Amounts each = CapacityOf(*option.node);
  const int64_t cpu = Times(each.cpu_millis, option.node_count);
  const int64_t memory = Times(each.memory_bytes, option.node_count);
  return static_cast<double>(Minus(cpu, requested.cpu_millis)) / static_cast<double>(cpu) +
         static_cast<double>(Minus(memory, requested.memory_bytes)) / static_cast<double>(memory);
}

// The sum of two shares; as one share it is what people expect to read.
std::string Describe(double waste) {
  char text[64];
  std::snprintf(text, sizeof(text), "leaves %.1f%% of its cpu and memory unused", waste * 50);
  return text;
}

class LeastWaste final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    expand::Options best;
    double least = 0;
    RequestSums sums;
    for (const expand::Option* option : options) {
      if (option->node == nullptr) continue;
      const double waste = WasteOf(*option, sums);
      if (around.measured) around.measured(*option, waste, Describe(waste));
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
