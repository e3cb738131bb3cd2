#include "plugins/batch/drf/hierarchy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace coppice::batch::drf {
namespace {

// A sign before the number is as good as none, as everywhere in these files.
double WeightFrom(const std::string& text) {
  double weight = 0;
  const bool signed_ = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data() + (signed_ ? 1 : 0), end, weight);
  if (problem != std::errc() || stop != end || !std::isfinite(weight)) return 1;
  return std::max(weight, 1.0);
}

// Whoever may annotate a queue may write a path of any length; the tree is walked level by level on
// the stack. No organisation is as deep as this.
constexpr size_t kDeepestLevel = 64;

std::vector<std::string> PathOf(const QueueInfo& queue) {
  std::vector<std::string> path = Split(queue.hierarchy, '/');
  if (path.size() > kDeepestLevel) path.resize(kDeepestLevel);
  return path;
}

}  // namespace

Hierarchy::Hierarchy(const Resource& total) : total_(total), root_(std::make_unique<Node>()) {}

std::unique_ptr<Hierarchy::Node> Hierarchy::CloneNode(const Node& node) {
  auto copy = std::make_unique<Node>();
  copy->weight = node.weight;
  copy->saturated = node.saturated;
  copy->leaf = node.leaf;
  copy->attributes = node.attributes;
  copy->request = node.request;
  for (const auto& [name, child] : node.children) copy->children[name] = CloneNode(*child);
  return copy;
}

Hierarchy Hierarchy::Clone() const {
  Hierarchy copy(total_);
  copy.root_ = CloneNode(*root_);
  return copy;
}

bool Hierarchy::Update(const Job& job, const Attributes& attributes,
                       const Resource& total_allocated) {
  const auto path = PathOf(*job.queue);
  const auto weights = Split(job.queue->weights, '/');
  bool weighed = true;
  Node* node = root_.get();
  for (size_t i = 1; i < path.size(); ++i) {
    auto& child = node->children[path[i]];
    if (!child) {
      child = std::make_unique<Node>();
      child->weight = i < weights.size() ? WeightFrom(weights[i]) : 1;
      weighed &= i < weights.size();
    }
    node = child.get();
  }
  auto& leaf = node->children[job.id];
  if (!leaf) leaf = std::make_unique<Node>();
  leaf->leaf = true;
  leaf->attributes = attributes;
  leaf->request = job.total_request;
  UpdateNode(*root_, total_allocated);
  return weighed;
}

// It has all that it asks for of something, or asks for something that the cluster has no more of.
bool Hierarchy::IsSaturated(const Node& leaf, const Resource& total_allocated) const {
  const Resource& allocated = leaf.attributes.allocated;
  const auto full = [](double have, double asked, double total, double taken) {
    if (have < kEpsilon || asked == 0) return false;
    const bool demanding = total >= kEpsilon && taken < total;
    return have >= asked || !demanding;
  };
  if (full(allocated.cpu, leaf.request.cpu, total_.cpu, total_allocated.cpu)) return true;
  if (full(allocated.memory, leaf.request.memory, total_.memory, total_allocated.memory)) {
    return true;
  }
  return std::ranges::any_of(allocated.scalars(), [&](const Resource::Scalar& scalar) {
    return full(scalar.value, leaf.request.Get(scalar.key), total_.Get(scalar.key),
                total_allocated.Get(scalar.key));
  });
}

void Hierarchy::UpdateNode(Node& node, const Resource& total_allocated) const {
  if (node.leaf) {
    node.saturated = IsSaturated(node, total_allocated);
    return;
  }
  double least = 1;
  for (const auto& [name, child] : node.children) {
    UpdateNode(*child, total_allocated);
    if (child->attributes.share != 0 && !child->saturated) {
      least = std::min(least, DominantShare(child->attributes.allocated, total_));
    }
  }
  node.attributes.allocated = Resource();
  node.saturated = true;
  for (const auto& [name, child] : node.children) {
    node.saturated &= child->saturated;
    if (child->attributes.share == 0) continue;
    Resource part = child->attributes.allocated;
    if (!child->saturated) part.Scale(least / child->attributes.share);
    node.attributes.allocated.Add(part);
  }
  node.attributes.share = DominantShare(node.attributes.allocated, total_);
}

double Hierarchy::Compare(const QueueInfo& l, const QueueInfo& r) const {
  const auto path_l = PathOf(l);
  const auto path_r = PathOf(r);
  const Node* left = root_.get();
  const Node* right = root_.get();
  const size_t depth = std::min(path_l.size(), path_r.size());
  for (size_t i = 0; i < depth; ++i) {
    if (left->saturated != right->saturated) return left->saturated ? 1 : -1;
    const double share_l = left->attributes.share / left->weight;
    const double share_r = right->attributes.share / right->weight;
    if (share_l != share_r) return share_l - share_r;
    if (i + 1 == depth) break;
    const auto next_l = left->children.find(path_l[i + 1]);
    const auto next_r = right->children.find(path_r[i + 1]);
    // A queue without jobs is nowhere in the tree: it has nothing yet.
    if (next_l == left->children.end() || next_r == right->children.end()) return 0;
    left = next_l->second.get();
    right = next_r->second.get();
  }
  return 0;
}

}  // namespace coppice::batch::drf
