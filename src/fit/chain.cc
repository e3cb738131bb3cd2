#include "fit/chain.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/strings.h"

namespace coppice::fit {
namespace {

using model::Verdict;
using model::VerdictCode;

constexpr size_t kMostFilters = 64;  // a bit each

}  // namespace

Chain::Chain() : memory_id_(NewMemoryId()) {}

Result<Chain> Chain::Create(const FilterRegistry& registry, const SchedulerConfig& config) {
  std::vector<ChainStep> steps = config.chain;
  const std::vector<std::string>& upstream = DefaultFilterOrder();
  for (const std::string& name : registry.names()) {
    if (std::ranges::find(upstream, name) == upstream.end() &&
        std::ranges::find(steps, name, &ChainStep::name) == steps.end()) {
      steps.push_back({.name = name});
    }
  }
  if (steps.size() > kMostFilters) {
    return InvalidArgument("the filter chain has " + std::to_string(steps.size()) +
                           " filters; at most 64 are possible");
  }
  Chain chain;
  for (const ChainStep& step : steps) {
    if (!step.pre_filter && !step.filter) continue;
    auto filter = TRY(registry.Make(step.name, config).Context("building the filter chain"));
    chain.links_.push_back({.name = step.name,
                            .pre_filter = step.pre_filter,
                            .filter = step.filter,
                            .filter_object = std::move(filter)});
  }
  return chain;
}

std::vector<std::string> Chain::names() const {
  std::vector<std::string> names;
  for (const Link& link : links_) names.push_back(link.name);
  return names;
}

Question Chain::Ask(const cluster::Snapshot& snapshot, cluster::PodIndex pod) const {
  return Question(*this, snapshot, pod);
}

Question::Question(const Chain& chain, const cluster::Snapshot& snapshot, cluster::PodIndex pod)
    : chain_(&chain), snapshot_(&snapshot) {
  const cluster::PodView view = snapshot.pod(pod);
  spec_ = &view.spec;
  for (uint32_t i = 0; i < chain.links_.size(); ++i) {
    if (!Take(i, chain.links_[i].filter_object->Prepare(view, snapshot))) return;
  }
  if (asks_shapes_ != 0) {
    std::shared_ptr<void>& memory = snapshot.Memory(chain.memory_id_);
    if (!memory) memory = std::make_shared<VerdictTable>();
    row_ = static_cast<VerdictTable*>(memory.get())
               ->Row(view.spec_id, asks_shapes_, snapshot.interner().node_shape_count());
  }
  if (only_) {
    for (const std::string& name : *only_) {
      const cluster::NodeIndex node = snapshot.FindNode(name);
      if (node != cluster::kNone) only_nodes_.push_back(node);
    }
  }
}

bool Question::Take(uint32_t index, Preparation preparation) {
  const Chain::Link& link = chain_->links_[index];
  for_kind_ = for_kind_ && preparation.for_kind;
  for_spec_ = for_spec_ && preparation.for_spec;
  switch (preparation.kind) {
    case Preparation::Kind::kSkip:
      return true;
    case Preparation::Kind::kReject:
      if (!link.pre_filter) return true;
      rejection_ = std::move(preparation.rejection);
      // After a rejection that preemption could lift, kube-scheduler still hears the other filters,
      // and one that is final counts more.
      return rejection_.code() == VerdictCode::kUnschedulable;
    case Preparation::Kind::kShapes:
      if (link.filter) {
        asks_shapes_ |= uint64_t{1} << index;
        own_links_ |= uint64_t{1} << index;
      }
      break;
    case Preparation::Kind::kNodes:
      if (link.filter) {
        const NodeCheck* check = preparation.check.get();
        if (check->OwnNodeOnly()) own_links_ |= uint64_t{1} << index;
        (check->OwnNodeOnly() ? own_ : rest_).push_back(check);
        stages_.push_back({index, std::move(preparation.check)});
      }
      break;
  }
  if (preparation.only && link.pre_filter) Restrict(link.name, std::move(*preparation.only));
  return !only_ || !only_->empty();
}

void Question::Restrict(const std::string& plugin, std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  narrowing_.push_back(plugin);
  std::ranges::sort(narrowing_);
  if (only_) {
    std::vector<std::string> both;
    std::ranges::set_intersection(*only_, names, std::back_inserter(both));
    names = std::move(both);
  }
  only_ = std::move(names);
  if (!only_->empty()) return;
  rejection_ = Verdict::No("", VerdictCode::kUnschedulableAndUnresolvable,
                           narrowing_.size() == 1 ? "node(s) didn't satisfy plugin " + narrowing_[0]
                                                  : "node(s) didn't satisfy plugin(s) [" +
                                                        Join(narrowing_, " ") + "] simultaneously");
}

uint8_t Question::AskShape(cluster::NodeShapeId shape) const {
  const cluster::NodeShape& node = snapshot_->interner().node_shape(shape);
  for (uint64_t left = asks_shapes_; left != 0; left &= left - 1) {
    const auto link = static_cast<uint32_t>(std::countr_zero(left));
    Verdict verdict = chain_->links_[link].filter_object->Check(*spec_, node);
    if (verdict.yes()) continue;
    if (row_->refused.empty()) row_->refused.resize(row_->answers.size());
    row_->refused[shape] = {link, std::move(verdict)};
    return row_->answers[shape] = ShapeRow::kNo;
  }
  return row_->answers[shape] = ShapeRow::kYes;
}

uint64_t Question::NarrowByShape(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const {
  const cluster::NodeShapeId* shape_of = snapshot_->node_shape_ids().data();
  const uint8_t* answers = row_->answers.data();
  uint64_t yes = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const cluster::NodeShapeId shape = shape_of[nodes[i]];
    uint8_t answer = answers[shape];
    if (answer == ShapeRow::kUnknown) [[unlikely]]
      answer = AskShape(shape);
    yes |= uint64_t{answer == ShapeRow::kYes} << i;
  }
  return alive & yes;
}

uint64_t Question::Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const {
  if (row_) alive = NarrowByShape(nodes, alive);
  for (const Stage& stage : stages_) {
    if (alive == 0) break;
    alive = stage.check->Narrow(nodes, alive);
  }
  return alive;
}

uint64_t Question::NarrowOwn(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const {
  if (row_) alive = NarrowByShape(nodes, alive);
  for (const NodeCheck* check : own_) {
    if (alive == 0) break;
    alive = check->Narrow(nodes, alive);
  }
  return alive;
}

uint64_t Question::NarrowRest(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const {
  if (only_) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (std::ranges::find(only_nodes_, nodes[i]) == only_nodes_.end())
        alive &= ~(uint64_t{1} << i);
    }
  }
  for (const NodeCheck* check : rest_) {
    if (alive == 0) break;
    alive = check->Narrow(nodes, alive);
  }
  return alive;
}

const std::vector<ResourceNeed>* Question::Needs() const {
  return !rejected() && OwnNodeOnly() && own_.size() == 1 ? own_.front()->Needs() : nullptr;
}

Verdict Question::Check(cluster::NodeIndex node) const {
  if (rejected()) return rejection_;
  if (only_ && std::ranges::find(only_nodes_, node) == only_nodes_.end()) {
    return Verdict::No("", VerdictCode::kUnschedulableAndUnresolvable,
                       "node(s) didn't satisfy plugin(s) [" + Join(narrowing_, " ") + "]");
  }
  // Shape filters answer together; the others are asked up to the one that refused.
  uint32_t refused_by = static_cast<uint32_t>(chain_->links_.size());
  const cluster::NodeShapeId shape = snapshot_->node_shape_id(node);
  if (row_) {
    uint8_t answer = row_->answers[shape];
    if (answer == ShapeRow::kUnknown) answer = AskShape(shape);
    if (answer == ShapeRow::kNo) refused_by = row_->refused[shape].by;
  }
  for (const Stage& stage : stages_) {
    if (stage.link > refused_by) break;
    Verdict verdict = stage.check->Check(node);
    if (!verdict.yes()) return verdict;
  }
  return refused_by < chain_->links_.size() ? row_->refused[shape].verdict : Verdict::Yes();
}

}  // namespace coppice::fit
