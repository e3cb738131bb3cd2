// binpack: the fuller a node would be, the better, by the weights of its resources.

#include <map>
#include <string>

#include "base/strings.h"
#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::binpack {
namespace {

class Binpack final : public Plugin, public NodeOrder {
 public:
  explicit Binpack(const Arguments& arguments) {
    arguments.Get("binpack.weight", weight_);
    cpu_ = WeightIn(arguments, "binpack.cpu");
    memory_ = WeightIn(arguments, "binpack.memory");
    std::string names;
    arguments.Get("binpack.resources", names);
    for (const std::string& part : Split(names, ',')) {
      const std::string name(Trim(part));
      // Their own arguments win over being listed here.
      if (name.empty() || name == "cpu" || name == "memory") continue;
      scalars_[InternScalar(name)] = WeightIn(arguments, "binpack.resources." + name);
    }
  }

  Status Open(Session&, Slots& slots) override {
    if (weight_ != 0) slots.node_order = this;
    return Status::Ok();
  }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    const Resource& asked = task.req();
    Sum sum;
    if (asked.cpu >= kEpsilon) sum.Add(asked.cpu, node.allocatable.cpu, node.used.cpu, cpu_);
    if (asked.memory >= kEpsilon) {
      sum.Add(asked.memory, node.allocatable.memory, node.used.memory, memory_);
    }
    for (const auto& [key, value] : asked.scalars()) {
      const auto weight = scalars_.find(key);
      if (value < kEpsilon || weight == scalars_.end()) continue;
      sum.Add(value, node.allocatable.Get(key), node.used.Get(key), weight->second);
    }
    if (sum.full) return 0.0;
    double score = sum.score;
    if (sum.weights > 0) score /= static_cast<double>(sum.weights);
    return score * (100.0 * weight_);
  }
  Scope NodeOrderScope(const Task&) const override { return Scope::kOwnNode; }

 private:
  struct Sum {
    double score = 0;
    int64_t weights = 0;
    bool full = false;

    void Add(double asked, double allocatable, double used, int weight) {
      weights += weight;
      if (allocatable == 0 || weight == 0) return;
      if (asked + used > allocatable) {
        full = true;
        return;
      }
      score += (asked + used) * weight / allocatable;
    }
  };

  static int WeightIn(const Arguments& arguments, std::string_view key) {
    int weight = 1;
    arguments.Get(key, weight);
    return weight < 0 ? 1 : weight;
  }

  int weight_ = 1;
  int cpu_ = 1;
  int memory_ = 1;
  std::map<ScalarKey, int> scalars_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("binpack", FactoryOf<Binpack>()); }

}  // namespace coppice::batch::binpack
