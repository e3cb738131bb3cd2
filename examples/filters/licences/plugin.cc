// Licences: a node runs at most as many pods with the label example.com/licensed as its own label
// example.com/licences says. Without that label it runs none of them.

#include <charconv>
#include <memory>
#include <string_view>

#include "fit/filter.h"

namespace coppice::filters::licences {
namespace {

constexpr char kName[] = "Licences";
constexpr char kOnPods[] = "example.com/licensed";
constexpr char kOnNodes[] = "example.com/licences";

// Nought if it is no number.
int NumberIn(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class OneLeft final : public fit::NodeCheck {
 public:
  OneLeft(const cluster::Snapshot& snapshot, const model::Verdict& none,
          const model::Verdict& taken)
      : snapshot_(snapshot), none_(none), taken_(taken) {}

  model::Verdict Check(cluster::NodeIndex node) const override {
    const auto& labels = snapshot_.node(node).labels;
    const auto licences = labels.find(kOnNodes);
    if (licences == labels.end()) return none_;
    int left = NumberIn(licences->second);
    for (const cluster::PodIndex pod : snapshot_.pods_on(node))
      left -= snapshot_.pod(pod).labels().contains(kOnPods) ? 1 : 0;
    return left > 0 ? model::Verdict::Yes() : taken_;
  }

 private:
  const cluster::Snapshot& snapshot_;
  const model::Verdict& none_;
  const model::Verdict& taken_;
};

class Licences final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    if (!pod.labels().contains(kOnPods)) return fit::Preparation::Skip().ForKind();
    return fit::Preparation::Ask(std::make_unique<OneLeft>(snapshot, none_, taken_)).ForKind();
  }

 private:
  const model::Verdict none_ = model::Verdict::No(
      kName, model::VerdictCode::kUnschedulableAndUnresolvable, "node(s) had no licences");
  // If one of those pods went, this one could come: preemption and scale-down ask again.
  const model::Verdict taken_ = model::Verdict::No(kName, model::VerdictCode::kUnschedulable,
                                                   "node(s) had all their licences taken");
};

}  // namespace

void Register(fit::FilterRegistry& registry) { registry.Add(kName, fit::FactoryOf<Licences>()); }

}  // namespace coppice::filters::licences
