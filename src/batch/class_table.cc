#include "batch/class_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace coppice::batch {

Tournament::Tournament(std::span<const uint32_t> place)
    : place_(place),
      leaves_(place.size()),
      winners_(2 * std::bit_ceil(std::max<size_t>(place.size(), 1)), kEmpty),
      half_(std::bit_ceil(std::max<size_t>(place.size(), 1))) {}

uint32_t Tournament::Better(uint32_t a, uint32_t b) const {
  if (a == kEmpty) return b;
  if (b == kEmpty) return a;
  const Leaf& left = leaves_[a];
  const Leaf& right = leaves_[b];
  if (left.rank != right.rank) return left.rank > right.rank ? a : b;
  if (left.score != right.score) return left.score > right.score ? a : b;
  return place_[a] < place_[b] ? a : b;
}

void Tournament::Fill(std::vector<Leaf> leaves) {
  leaves_ = std::move(leaves);
  for (size_t i = 0; i < leaves_.size(); ++i) {
    winners_[half_ + i] = leaves_[i].rank == 0 ? kEmpty : static_cast<uint32_t>(i);
  }
  for (size_t at = half_ - 1; at > 0; --at) {
    winners_[at] = Better(winners_[2 * at], winners_[2 * at + 1]);
  }
}

void Tournament::Set(size_t leaf, Leaf value) {
  leaves_[leaf] = value;
  size_t at = half_ + leaf;
  winners_[at] = value.rank == 0 ? kEmpty : static_cast<uint32_t>(leaf);
  for (at /= 2; at > 0; at /= 2) {
    winners_[at] = Better(winners_[2 * at], winners_[2 * at + 1]);
  }
}

std::optional<size_t> Tournament::Best() const {
  return winners_[1] == kEmpty ? std::nullopt : std::optional<size_t>(winners_[1]);
}

ClassTables::ClassTables(Session& session) : session_(session) {
  const auto& nodes = session.nodes();
  std::vector<uint32_t> order(nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return nodes[a]->name < nodes[b]->name; });
  place_.resize(nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
}

bool ClassTables::Alike(const Task& a, const Task& b) const {
  const auto same_images = [](const std::vector<model::Container>& l,
                              const std::vector<model::Container>& r) {
    return std::ranges::equal(l, r, {}, &model::Container::image, &model::Container::image);
  };
  const model::PodSpec& left = a.pod->spec;
  const model::PodSpec& right = b.pod->spec;
  return a.job->queue == b.job->queue && session_.SameHolds(*a.job, *b.job) &&
         same_images(left.containers, right.containers) &&
         same_images(left.init_containers, right.init_containers) &&
         session_.view().ScoringOf(a) == session_.view().ScoringOf(b);
}

ClassTables::Table* ClassTables::Find(const Task& task) {
  const uint32_t spec = session_.view().snapshot().spec_id(task.pod_index);
  auto& same_spec = tables_[{spec, task.request.get()}];
  for (const auto& table : same_spec) {
    if (Alike(*table->like, task)) return table.get();
  }
  auto table = std::make_unique<Table>(Table{.like = &task, .tree = Tournament(place_), .seen = 0});
  const auto& nodes = session_.nodes();
  const auto scores = session_.ask().Score(task, nodes);
  if (!scores) return nullptr;
  std::vector<Tournament::Leaf> leaves(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    leaves[i] = {.rank = Ask(task, *nodes[i]).rank, .score = (*scores)[i]};
  }
  table->tree.Fill(std::move(leaves));
  table->seen = session_.changed_nodes().size();
  return same_spec.emplace_back(std::move(table)).get();
}

Tournament::Leaf ClassTables::Ask(const Task& task, NodeInfo& node) {
  if (!node.FitsFuture(task.req()) || session_.CheckForAllocate(task, node)) return {};
  return {.rank = static_cast<uint8_t>(node.FitsIdle(task.req()) ? 2 : 1)};
}

// Asks again about the nodes that have changed since.
bool ClassTables::Update(Table& table, const Task& task) {
  const auto& changed = session_.changed_nodes();
  const auto& nodes = session_.nodes();
  for (; table.seen < changed.size(); ++table.seen) {
    const uint32_t index = changed[table.seen];
    NodeInfo* node = nodes[index];
    Tournament::Leaf leaf = Ask(task, *node);
    if (leaf.rank != 0) {
      const auto score = session_.ask().Score(task, {&node, 1});
      if (!score) return false;
      leaf.score = score->front();
    }
    table.tree.Set(index, leaf);
  }
  return true;
}

ClassTables::Choice ClassTables::Choose(const Task& task) {
  const Combine& ask = session_.ask();
  if (session_.upstream_exact() || session_.options().plain_search ||
      ask.PredicateScope(task) == Scope::kAnything || ask.ScoreScope(task) == Scope::kAnything) {
    return {};
  }
  Table* table = Find(task);
  if (!table || !Update(*table, task)) return {};
  const auto best = table->tree.Best();
  return {.known = true, .node = best ? session_.nodes()[*best] : nullptr};
}

}  // namespace coppice::batch
