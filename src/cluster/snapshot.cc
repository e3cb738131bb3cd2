// Snapshot: forks, and what does not belong to nodes or pods alone.

#include "cluster/snapshot.h"

#include <utility>

#include "base/check.h"

namespace coppice::cluster {

namespace {

constexpr size_t kUndoAhead = 8;  // so far ahead memory is asked for what is undone

const Facts& NoFacts() {
  static const Facts none;
  return none;
}

}  // namespace

ScopedFork::ScopedFork(Snapshot& snapshot) : snapshot_(&snapshot) { snapshot.OpenFork(); }

ScopedFork::~ScopedFork() {
  if (snapshot_) snapshot_->RevertFork();
}

void ScopedFork::Commit() {
  if (snapshot_) std::exchange(snapshot_, nullptr)->CommitFork();
}

Snapshot::Snapshot() : Snapshot(NoFacts()) {}
Snapshot::Snapshot(const Facts& facts, Marks marks)
    : facts_(facts),
      interner_(std::make_unique<Interner>(std::move(marks))),
      counters_(std::make_unique<Counters>(*this)) {}
Snapshot::~Snapshot() = default;

void Snapshot::OpenFork() {
  // Room for every pod to be taken up and put down once: memory that is not used costs nothing,
  // and a log that grows while it is written is copied each time.
  if (log_.capacity() < 2 * known_pods_) log_.reserve(4 * known_pods_);
  marks_.push_back(log_.size());
}

void Snapshot::RevertFork() {
  CHECK(!marks_.empty());
  const size_t mark = marks_.back();
  while (log_.size() > mark) {
    const LogEntry entry = log_.back();
    log_.pop_back();
    if (log_.size() > mark + kUndoAhead) PrefetchUndo(log_[log_.size() - kUndoAhead]);
    Undo(entry);
  }
  marks_.pop_back();
}

void Snapshot::PrefetchUndo(const LogEntry& entry) const {
  if (entry.step != Step::kPlaced && entry.step != Step::kUnplaced) return;
  __builtin_prefetch(&pods_[entry.subject], 1);
  __builtin_prefetch(&nodes_[entry.node], 1);
}

void Snapshot::CommitFork() {
  CHECK(!marks_.empty());
  marks_.pop_back();
  if (!marks_.empty()) return;
  for (const LogEntry& entry : log_) Forget(entry);
  log_.clear();
  old_nodes_.clear();
  old_pods_.clear();
}

void Snapshot::Log(LogEntry entry) {
  if (!marks_.empty()) {
    log_.push_back(entry);
    return;
  }
  Forget(entry);
  old_nodes_.clear();
  old_pods_.clear();
}

void Snapshot::Forget(const LogEntry& entry) {
  if (entry.step == Step::kRemovedPod) {
    identities_[entry.subject] = {};
    free_pods_.push_back(entry.subject);
    ++retired_pods_;
  } else if (entry.step == Step::kUpdatedPod) {
    ++retired_pods_;
  } else if (entry.step == Step::kRemovedNode) {
    nodes_[entry.subject] = {};
    free_nodes_.push_back(entry.subject);
    ++retired_shapes_;
  } else if (entry.step == Step::kUpdatedNode) {
    ++retired_shapes_;
  }
}

void Snapshot::Undo(const LogEntry& entry) {
  switch (entry.step) {
    case Step::kPlaced:
      Detach(entry.subject);
      content_[entry.node] = entry.content;
      break;
    case Step::kUnplaced:
      Attach(entry.subject, entry.node, entry.slot);
      content_[entry.node] = entry.content;
      break;
    case Step::kAddedPod:
      HidePod(entry.subject);
      free_pods_.push_back(entry.subject);
      retired_pods_ += identities_[entry.subject].names ? 1 : 0;  // a copy had no ids of its own
      break;
    case Step::kRemovedPod:
      ShowPod(entry.subject);
      break;
    case Step::kUpdatedPod:
      SwapPodState(entry.subject, old_pods_.back());
      old_pods_.pop_back();
      if (entry.node != kNone) content_[entry.node] = entry.content;
      break;
    case Step::kAddedNode:
      HideNode(entry.subject);
      free_nodes_.push_back(entry.subject);
      ++retired_shapes_;
      slots_.pop_back();  // what was added later has been undone already
      break;
    case Step::kRemovedNode:
      ShowNode(entry.subject, std::move(old_nodes_.back()), entry.slot);
      old_nodes_.pop_back();
      content_[entry.subject] = entry.content;
      break;
    case Step::kUpdatedNode:
      SwapNodeFacts(entry.subject, std::move(old_nodes_.back()), entry.slot);
      old_nodes_.pop_back();
      content_[entry.subject] = entry.content;
      break;
    case Step::kReshapedNode:
      Reshape(entry.subject, entry.slot);
      content_[entry.subject] = entry.content;
      break;
  }
}

uint32_t Snapshot::ClaimUsers(std::string_view namespace_, std::string_view claim) const {
  const ClaimId id = interner_->FindClaim(namespace_, claim);
  return id < claim_users_.size() ? claim_users_[id] : 0;
}

std::shared_ptr<void>& Snapshot::Memory(uint64_t filter_id) const {
  for (auto& [id, memory] : memory_) {  // as many as there are filters
    if (id == filter_id) return memory;
  }
  return memory_.emplace_back(filter_id, nullptr).second;
}

}  // namespace coppice::cluster
