// DataClass: a pod that says which data it touches runs only on nodes that may hold such data: its
// label example.com/data-class and the node's must be the same. Pods without the label run anywhere.

#include <memory>
#include <string>

#include "fit/filter.h"

namespace coppice::filters::data_class {
namespace {

constexpr char kName[] = "DataClass";
constexpr char kLabel[] = "example.com/data-class";

// A check may outlive the pod that it was made for (ForKind), so it keeps the text and no reference.
class SameClass final : public fit::NodeCheck {
 public:
  SameClass(std::string wanted, const cluster::Snapshot& snapshot, const model::Verdict& refusal)
      : wanted_(std::move(wanted)), snapshot_(snapshot), refusal_(refusal) {}

  model::Verdict Check(cluster::NodeIndex node) const override {
    const auto& labels = snapshot_.node(node).labels;
    const auto has = labels.find(kLabel);
    return has != labels.end() && has->second == wanted_ ? model::Verdict::Yes() : refusal_;
  }

 private:
  const std::string wanted_;
  const cluster::Snapshot& snapshot_;
  const model::Verdict& refusal_;
};

// Labels of pods are no part of a pod's spec shape, so this is no ShapeFilter.
class DataClass final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    const auto wanted = pod.labels().find(kLabel);
    if (wanted == pod.labels().end()) return fit::Preparation::Skip().ForKind();
    return fit::Preparation::Ask(
               std::make_unique<SameClass>(std::string(wanted->second), snapshot, refusal_))
        .ForKind();
  }

 private:
  // Nothing that is taken off the node would help: another node has to be found.
  const model::Verdict refusal_ =
      model::Verdict::No(kName, model::VerdictCode::kUnschedulableAndUnresolvable,
                         "node(s) were not meant for the pod's class of data");
};

}  // namespace

void Register(fit::FilterRegistry& registry) { registry.Add(kName, fit::FactoryOf<DataClass>()); }

}  // namespace coppice::filters::data_class
