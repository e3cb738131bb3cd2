// price: the money for the nodes against what the pods on them are worth, with a preference for
// nodes whose size suits the size of the cluster. Upstream's formula, to the constant.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "expand/expander.h"
#include "model/gpu.h"
#include "model/resources.h"

namespace coppice::expanders::price {
namespace {

constexpr Duration kWindow = std::chrono::hours(1);
// A pass waits for prices no longer than this; an option without one is out of the race.
constexpr Duration kLearnWithin = std::chrono::seconds(10);
constexpr double kNotExistingFactor =
    2.0;                                  // a group that must be created first had better be cheap
constexpr double kGpuUnfitness = 1000.0;  // never GPUs for pods that do not ask for any
constexpr double kSuppressionNodes = 15.0;  // the preference fades as more nodes are bought at once

// Without it, pods that ask for nothing would make any price infinitely bad.
model::Pod StabilizationPod() {
  model::Pod pod;
  pod.metadata.name = "stabilize";
  pod.metadata.namespace_ = "default";
  model::Container container;
  container.resources.requests["cpu"] = model::Quantity::FromMillis(500);
  container.resources.requests["memory"] = model::Quantity::FromUnits(500 * (int64_t{1} << 20));
  pod.spec.containers.push_back(container);
  return pod;
}

// Twice the node for a cluster three times the size.
int64_t PreferredCpuMillis(size_t cluster_nodes) {
  struct Step {
    size_t up_to;
    int64_t cpu_millis;
  };
  for (const Step& step : {Step{2, 1000}, {6, 2000}, {20, 4000}, {60, 8000}, {200, 16000}}) {
    if (cluster_nodes <= step.up_to) return step.cpu_millis;
  }
  return 32'000;
}

double Unfitness(int64_t preferred_cpu_millis, const model::Node& node) {
  const model::Quantity* cpu = node.status.capacity.Find(model::kCpu);
  const auto actual = static_cast<double>(cpu ? cpu->MilliValue() : 0);
  const auto preferred = static_cast<double>(preferred_cpu_millis);
  return std::fmax(preferred / actual, actual / preferred);
}

bool HasGpus(const model::Node& node, std::string_view label) {
  if (!label.empty() && node.metadata.labels.contains(label)) return true;
  return !model::AllocatableGpuResource(node).empty();
}

std::string Describe(double nodes_price, double score) {
  char text[96];
  std::snprintf(text, sizeof(text), "costs %.4g an hour, score %.4g", nodes_price, score);
  return text;
}

class Price final : public expand::Expander {
 public:
  explicit Price(const expand::ExpanderContext& context)
      : clock_(context.clock), groups_(*context.groups) {}

  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    const TimePoint now = clock_.Now();
    const TimePoint then = now + kWindow;
    const model::Pod stabilization_pod = StabilizationPod();
    Learn(options, stabilization_pod, now, then);
    const auto stabilization = groups_.PodPrice(stabilization_pod, now, then);
    const double stabilizer = stabilization.ok() ? *stabilization : 0;
    const int64_t preferred = PreferredCpuMillis(around.cluster_nodes);
    const std::string gpu_label = groups_.GpuLabel();

    expand::Options best;
    double best_score = 0;
    size_t without_price = 0;
    std::string why;
    for (const expand::Option* option : options) {
      if (option->node == nullptr) continue;
      const auto nodes_price = NodesPrice(*option, now, then);
      const auto pods_price = PodsPrice(*option, now, then);
      if (!nodes_price.ok() || !pods_price.ok()) {
        ++without_price;
        why = (nodes_price.ok() ? pods_price.status() : nodes_price.status()).message();
        continue;
      }
      double score = (*nodes_price + stabilizer) / (*pods_price + stabilizer);
      const double unfitness = Unfitness(preferred, *option->node);
      double suppressed =
          (unfitness - 1.0) *
              (1.0 - std::tanh((static_cast<double>(option->node_count) - 1) / kSuppressionNodes)) +
          1.0;
      if (HasGpus(*option->node, gpu_label)) suppressed = kGpuUnfitness;
      score *= suppressed;
      if (!option->exists) score *= kNotExistingFactor;
      if (around.measured) around.measured(*option, score, Describe(*nodes_price, score));
      if (best.empty() || score == best_score) {
        best.push_back(option);
        best_score = score;
      } else if (score < best_score) {
        best = {option};
        best_score = score;
      }
    }
    if (without_price > 0 && around.note) {
      around.note((best.empty() ? "no option has a price, so none is chosen: "
                                : std::to_string(without_price) + " without a price: ") +
                  why);
    }
    return best;
  }

  // A provider in another process may have to be asked for every price.
  bool Blocks() const override { return true; }

 private:
  static cloud::PriceQuestions::OfNode NodeOf(const expand::Option& option) {
    const model::Node& node = *option.node;
    cloud::PriceQuestions::OfNode of{.node = {node.spec.provider_id, node.metadata.name},
                                     .labels = {}};
    for (const auto& [key, value] : node.metadata.labels) of.labels[key] = value;
    return of;
  }
  // Everything that is asked for below, at once: a provider that has to ask another process does
  // so many at a time.
  void Learn(const expand::Options& options, const model::Pod& stabilization, TimePoint now,
             TimePoint then) {
    cloud::PriceQuestions questions{.pods = {&stabilization}, .start = now, .end = then};
    for (const expand::Option* option : options) {
      if (option->node == nullptr) continue;
      questions.nodes.push_back(NodeOf(*option));
      std::ranges::copy(option->pods, std::back_inserter(questions.pods));
    }
    groups_.LearnPrices(questions, Deadline::In(clock_, kLearnWithin));
  }
  Result<double> NodesPrice(const expand::Option& option, TimePoint now, TimePoint then) {
    const auto [node, labels] = NodeOf(option);
    const double one = TRY(groups_.NodePrice(node, labels, now, then));
    return one * option.node_count;
  }
  Result<double> PodsPrice(const expand::Option& option, TimePoint now, TimePoint then) {
    double total = 0;
    for (const model::Pod* pod : option.pods) total += TRY(groups_.PodPrice(*pod, now, then));
    return total;
  }

  Clock& clock_;
  cloud::NodeGroups& groups_;
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add(
      "price",
      [](const expand::ExpanderContext& context) -> Result<std::unique_ptr<expand::Expander>> {
        if (context.groups == nullptr) {
          return FailedPrecondition("there is no cloud whose prices could be asked for");
        }
        return std::unique_ptr<expand::Expander>(std::make_unique<Price>(context));
      });
}

}  // namespace coppice::expanders::price
