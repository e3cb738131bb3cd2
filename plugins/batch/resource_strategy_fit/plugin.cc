// resource-strategy-fit: packs by some resources and spreads by others, keeps scarce ones for those
// who need them, and leaves cpu and memory for devices that are idle.

#include <map>

#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/resource_strategy_fit/config.h"

namespace coppice::batch::resource_strategy_fit {
namespace {

constexpr double kMaxScore = 100;

class ResourceStrategyFit final : public Plugin, public Predicate, public NodeOrder {
 public:
  explicit ResourceStrategyFit(Config config) : config_(std::move(config)) {}

  Status Open(Session&, Slots& slots) override {
    if (config_.proportional) slots.predicate = this;
    if (config_.weight > 0 || config_.scarce_weight > 0) slots.node_order = this;
    return Status::Ok();
  }

  Fit CheckNode(const Task& task, const NodeInfo& node) override {
    const Resource& asked = task.req();
    for (const auto& [name, reserve] : config_.reserves) {
      if (asked.Get(InternScalar(name)) > 0) return nullptr;
    }
    for (const auto& [name, reserve] : config_.reserves) {
      const double* idle = node.idle.Find(InternScalar(name));
      if (!idle) continue;
      // Devices count in thousandths, as cpu does.
      const bool enough = node.idle.cpu - asked.cpu >= *idle * reserve.cpu &&
                          node.idle.memory - asked.memory >= *idle * reserve.memory * 1000 * 1000;
      if (!enough) {
        return Refuse(kFitUnresolvable, "proportional of resource " + name + " check failed",
                      "resource-strategy-fit");
      }
    }
    return nullptr;
  }
  Scope PredicateScope(const Task&) const override { return Scope::kOwnNode; }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    double score = 0;
    if (config_.weight > 0) score += StrategyScore(task, node);
    if (config_.scarce_weight > 0) score += ScarceScore(task, node);
    return score;
  }
  // What a pod says of itself is not part of its kind.
  Scope NodeOrderScope(const Task& task) const override {
    return HasPodWish(task.pod->metadata.annotations) ? Scope::kAnything : Scope::kOwnNode;
  }

 private:
  struct Sum {
    double score = 0;
    double weights = 0;
  };

  // False: the node has not got that much.
  static bool Add(Sum& sum, Strategy strategy, double weight, double asked, double used,
                  double allocatable) {
    sum.weights += weight;
    if (strategy == Strategy::kNeither || weight == 0 || allocatable == 0) return true;
    const double after = asked + used;
    if (after > allocatable) return false;
    const double part = strategy == Strategy::kMost ? after : allocatable - after;
    sum.score += part * weight / allocatable;
    return true;
  }

  double StrategyScore(const Task& task, const NodeInfo& node) const {
    const auto own = ReadPodWish(task.pod->metadata.annotations);
    if (!own.ok()) return 0;
    Sum sum;
    for (const std::string& name : task.req().Names()) {
      Wish wish;
      if (*own) {
        const auto weight = (*own)->weights.find(name);
        if (weight == (*own)->weights.end()) continue;
        wish = {(*own)->strategy, weight->second};
      } else if (const Wish* found = config_.Find(name)) {
        wish = *found;
      } else {
        continue;
      }
      if (!Add(sum, wish.strategy, static_cast<double>(wish.weight), task.req().Get(name),
               node.used.Get(name), node.allocatable.Get(name))) {
        return 0;
      }
    }
    const double score = sum.weights > 0 ? sum.score / sum.weights : sum.score;
    return score * (kMaxScore * static_cast<double>(config_.weight));
  }

  double ScarceScore(const Task& task, const NodeInfo& node) const {
    for (const std::string& name : task.req().Names()) {
      if (node.allocatable.Get(name) == 0) return 0;  // it does not fit anyway
    }
    double score = 0;
    for (const auto& [name, weight] : config_.scarce) {
      if (node.allocatable.Get(name) > 0) score += static_cast<double>(weight);
    }
    if (config_.scarce_sum > 0) score = 1 - score / static_cast<double>(config_.scarce_sum);
    return score * (kMaxScore * static_cast<double>(config_.scarce_weight));
  }

  const Config config_;
};

}  // namespace

void Register(PluginRegistry& registry) {
  registry.Add(
      "resource-strategy-fit", [](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
        Config config = TRY(ReadConfig(context.arguments));
        return std::unique_ptr<Plugin>(std::make_unique<ResourceStrategyFit>(std::move(config)));
      });
}

}  // namespace coppice::batch::resource_strategy_fit
