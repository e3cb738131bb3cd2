// NodeResourcesFit: what a pod asks for must be left on the node.
//
// cpu, memory and ephemeral storage count if more than nothing is asked; any other resource unless
// exactly nothing is. A node is full, too, when it has as many pods as it takes. All shortages are
// reported, not only the first; one that an empty node would have as well makes the refusal final.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fit/filter.h"
#include "model/resources.h"

namespace coppice::filters::node_resources_fit {
namespace {

constexpr std::string_view kName = "NodeResourcesFit";

using Need = fit::ResourceNeed;
using NeedList = std::vector<Need>;

class Enough final : public fit::NodeCheck {
 public:
  Enough(const NeedList& needs, const cluster::ResourceColumns& columns)
      : needs_(needs), columns_(columns) {}

  model::Verdict Check(cluster::NodeIndex node) const override {
    model::Refusal refusal{.plugin = kName};
    for (const Need& need : needs_) {
      const int64_t free = columns_.free(need.resource)[node];
      if (need.asked <= free) continue;
      const int64_t capacity = columns_.allocatable(need.resource)[node];
      const std::string name(columns_.name(need.resource));
      const bool pods = need.resource == cluster::kPodsColumn;
      refusal.reasons.push_back(pods ? "Too many pods" : "Insufficient " + name);
      refusal.shortfalls.push_back(
          {.what = name, .asked = need.asked, .free = free, .capacity = capacity});
      if (!pods && need.asked > capacity) {
        refusal.code = model::VerdictCode::kUnschedulableAndUnresolvable;
      }
    }
    return refusal.reasons.empty() ? model::Verdict::Yes() : model::Verdict::No(std::move(refusal));
  }

  uint64_t Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const override {
    for (const Need& need : needs_) {
      const int64_t* free = columns_.free(need.resource);
      uint64_t enough = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        enough |= uint64_t{need.asked <= free[nodes[i]]} << i;
      }
      alive &= enough;
      if (alive == 0) break;
    }
    return alive;
  }

  // A pod with an amount below zero gives, and sums wrap; neither passes the API server's
  // validation, and a memory that is wrong about such pods for the rest of a batch harms nobody.
  bool OwnNodeOnly() const override { return true; }
  const NeedList* Needs() const override { return &needs_; }

 private:
  const NeedList& needs_;
  const cluster::ResourceColumns& columns_;
};

class NodeResourcesFit final : public fit::StateFilter {
 public:
  explicit NodeResourcesFit(const fit::SchedulerConfig& config)
      : ignored_(config.ignored_resources), ignored_groups_(config.ignored_resource_groups) {}

  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    std::shared_ptr<void>& memory = snapshot.Memory(id());
    if (!memory) memory = std::make_shared<std::vector<std::unique_ptr<NeedList>>>();
    auto& by_spec = *static_cast<std::vector<std::unique_ptr<NeedList>>*>(memory.get());
    if (pod.spec_id >= by_spec.size()) by_spec.resize(pod.spec_id + 1);
    std::unique_ptr<NeedList>& needs = by_spec[pod.spec_id];
    if (!needs) needs = std::make_unique<NeedList>(NeedsOf(pod.spec_id, snapshot.resources()));
    return fit::Preparation::Ask(std::make_unique<Enough>(*needs, snapshot.resources())).ForSpec();
  }

 private:
  bool Ignored(std::string_view name) const {
    if (!model::IsExtendedResource(name)) return false;
    const std::string_view group = name.substr(0, name.find('/'));
    return std::ranges::find(ignored_, name) != ignored_.end() ||
           std::ranges::find(ignored_groups_, group) != ignored_groups_.end();
  }

  NeedList NeedsOf(cluster::SpecId spec, const cluster::ResourceColumns& columns) const {
    const cluster::Amounts& taken = columns.taken(spec);
    NeedList needs;
    for (const auto& [resource, asked] : columns.asked(spec).of) {
      if (resource < cluster::kPodsColumn ? asked <= 0 : Ignored(columns.name(resource))) continue;
      const auto it =
          std::ranges::find(taken.of, resource, &std::pair<cluster::ResourceId, int64_t>::first);
      needs.push_back({resource, asked, it == taken.of.end() ? 0 : it->second});
    }
    // What refuses most often comes first; a full node rarely lacks room for one more pod.
    const auto pods = std::ranges::find(needs, cluster::kPodsColumn, &Need::resource);
    if (pods != needs.end()) std::rotate(pods, pods + 1, needs.end());
    return needs;
  }

  std::vector<std::string> ignored_;
  std::vector<std::string> ignored_groups_;
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<NodeResourcesFit>());
}

}  // namespace coppice::filters::node_resources_fit
