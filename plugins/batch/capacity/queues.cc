#include "plugins/batch/capacity/queues.h"

#include <algorithm>
#include <limits>

namespace coppice::batch::capacity {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::max();
constexpr auto kUnlimitedScalar = static_cast<double>(std::numeric_limits<int64_t>::max());

struct Usage {
  Resource allocated;
  Resource request;
  Resource inqueue;
  Resource elastic;
};

Usage UsageOf(const Job& job) {
  Usage usage;
  usage.allocated = job.allocated;
  usage.request = job.Requested();
  const std::string& phase = job.group.status.phase;
  const bool counts = phase == "Inqueue" ||
                      (phase == "Running" && job.counts.Allocated() >= job.group.spec.min_member);
  if (counts && job.HasMinResources()) {
    usage.inqueue.Add(job.WithoutGated(job.InqueueResource()));
  }
  usage.elastic.Add(job.Elastic());
  return usage;
}

void Count(Attributes& attributes, const Usage& usage) {
  attributes.allocated.Add(usage.allocated);
  attributes.request.Add(usage.request);
  attributes.inqueue.Add(usage.inqueue);
  attributes.elastic.Add(usage.elastic);
}

}  // namespace

Attributes Queues::Make(const QueueInfo& queue) const {
  const model::QueueSpec& spec = queue.object.spec;
  return {.name = queue.name,
          .deserved = Resource::From(spec.deserved),
          .capability = Resource::From(spec.capability),
          .guarantee = Resource::From(spec.guarantee.resource)};
}

void Queues::UpdateShare(Attributes& attributes) {
  attributes.share =
      attributes.deserved.IsEmpty() ? 1 : DominantShare(attributes.allocated, attributes.deserved);
}

bool Queues::BuildFlat(const Session& session) {
  queues_.resize(session.queues().size());
  Resource guaranteed;
  for (const QueueInfo* queue : session.queues()) {
    guaranteed.Add(Resource::From(queue->object.spec.guarantee.resource));
  }
  for (const Job* job : session.jobs()) {
    auto& own = queues_[job->queue->index];
    if (!own) {
      own = Make(*job->queue);
      own->real_capability = ExceededPart(session.total(), guaranteed);
      own->real_capability.Add(own->guarantee);
      if (!job->queue->object.spec.capability.empty()) {
        if (own->capability.cpu <= 0) own->capability.cpu = kUnlimited;
        if (own->capability.memory <= 0) own->capability.memory = kUnlimited;
        own->real_capability.CapBy(own->capability, Missing::kInfinity);
      }
    }
    Count(*own, UsageOf(*job));
  }
  for (auto& own : queues_) {
    if (!own) continue;
    own->deserved.CapBy(own->real_capability, Missing::kInfinity);
    own->deserved = Max(own->deserved, own->guarantee);
    UpdateShare(*own);
  }
  return true;
}

bool Queues::LinkAncestors(const Session& session, const QueueInfo& queue,
                           std::vector<bool>& visiting) {
  if (queue.name == kRootQueue) return true;
  if (visiting[queue.index]) return false;  // in circles
  visiting[queue.index] = true;
  const QueueInfo* parent = session.FindQueue(queue.parent());
  if (!parent) return false;
  if (!queues_[parent->index]) {
    queues_[parent->index] = Make(*parent);
    if (!LinkAncestors(session, *parent, visiting)) return false;
  }
  visiting[queue.index] = false;
  Attributes& above = at(parent->index);
  above.children.push_back(queue.index);
  at(queue.index).ancestors = above.ancestors;
  at(queue.index).ancestors.push_back(parent->index);
  return true;
}

bool Queues::BuildTree(const Session& session) {
  queues_.resize(session.queues().size());
  std::vector<bool> visiting(session.queues().size());
  for (const QueueInfo* queue : session.queues()) {
    if (queues_[queue->index]) continue;
    queues_[queue->index] = Make(*queue);
    if (!LinkAncestors(session, *queue, visiting)) return false;
  }
  for (const Job* job : session.jobs()) {
    Attributes& own = at(job->queue->index);
    if (!own.children.empty()) return false;  // jobs belong into leaves
    const Usage usage = UsageOf(*job);
    Count(own, usage);
    for (const uint32_t above : own.ancestors) Count(at(above), usage);
  }
  const QueueInfo* root = session.FindQueue(kRootQueue);
  if (!root) return false;
  Attributes& top = at(root->index);
  if (top.capability.IsEmpty()) {
    top.capability = Resource::Infinite();
    for (const auto& [key, value] : session.total().scalars()) {
      top.capability.Set(key, kUnlimitedScalar);
    }
  }
  top.real_capability = top.capability;
  SetLimits(top);
  for (auto& own : queues_) {
    if (own) UpdateShare(*own);
  }
  return true;
}

void Queues::SetLimits(Attributes& parent) {
  Resource guaranteed;
  Resource deserved;
  for (const uint32_t index : parent.children) {
    Attributes& child = at(index);
    child.deserved = Max(child.deserved, child.guarantee);
    deserved.Add(child.deserved);
    guaranteed.Add(child.guarantee);
    if (child.capability.cpu <= 0) child.capability.cpu = parent.capability.cpu;
    if (child.capability.memory <= 0) child.capability.memory = parent.capability.memory;
    if (parent.capability.has_scalars()) child.capability.MakeScalars();
    for (const auto& [key, value] : parent.capability.scalars()) {
      if (!child.capability.Find(key)) child.capability.Set(key, value);
    }
  }
  if (parent.name == kRootQueue) {
    parent.guarantee = guaranteed;
    parent.deserved = deserved;
  }
  for (const uint32_t index : parent.children) {
    Attributes& child = at(index);
    child.real_capability = ExceededPart(parent.real_capability, guaranteed);
    child.real_capability.Add(child.guarantee);
    child.real_capability.CapBy(child.capability, Missing::kInfinity);
  }
  for (const uint32_t index : parent.children) SetLimits(at(index));
}

size_t Queues::CommonLevel(const Attributes& l, const Attributes& r) const {
  size_t level = 0;
  const size_t depth = std::min(l.ancestors.size(), r.ancestors.size());
  for (size_t i = 0; i < depth && l.ancestors[i] == r.ancestors[i]; ++i) level = i;
  return level;
}

const Attributes* Queues::AncestorAt(const Attributes& queue, int level) const {
  const auto steps = static_cast<size_t>(level);
  if (level <= 0 || queue.ancestors.size() < steps) return nullptr;
  return &*queues_[queue.ancestors[queue.ancestors.size() - steps]];
}

bool Queues::ShareAncestor(const Attributes& l, const Attributes& r, int levels) const {
  for (int i = 1; i <= levels; ++i) {
    const Attributes* left = AncestorAt(l, i);
    if (!left || left->name == kRootQueue) continue;
    for (int j = 1; j <= levels; ++j) {
      if (AncestorAt(r, j) == left) return true;
    }
  }
  return false;
}

}  // namespace coppice::batch::capacity
