// The predicates of one search: nodes are noted, then asked about together, then each has its answer.

#include <utility>

#include "plugins/batch/extender/extender.h"

namespace coppice::batch::extender {

void Extender::ForgetNoted() {
  for (const Asked& asked : fetched_) first_fetched_[asked.node->index] = 0;
  fetched_.clear();
}

void Extender::Note(const NodeInfo* node, Fit fit) {
  const auto here = static_cast<uint32_t>(fetched_.size());
  fetched_.push_back({.node = node, .node_version = node->version, .fit = std::move(fit)});
  if (first_fetched_.size() <= node->index) first_fetched_.resize(node->index + 1);
  uint32_t* place = &first_fetched_[node->index];
  while (*place != 0) place = &fetched_[*place - 1].next;
  *place = here + 1;
}

// A node is asked about once for each time that it was noted.
const Extender::Asked* Extender::TakeNoted(const NodeInfo& node) {
  if (node.index >= first_fetched_.size() || first_fetched_[node.index] == 0) return nullptr;
  const Asked& asked = fetched_[first_fetched_[node.index] - 1];
  first_fetched_[node.index] = asked.next;
  return &asked;
}

bool Extender::Collect(const Task& task) {
  ForgetNoted();
  collected_.clear();
  collecting_ = Interests(task);
  collected_for_ = &task;
  return collecting_;
}

void Extender::Fetch() {
  if (!collecting_) return;
  collecting_ = false;
  if (collected_.empty()) return;
  if (config_.Has(Verb::kBatchPredicate)) {
    FetchInOneCall(true);
  } else {
    FetchOneByOne();
  }
}

void Extender::FetchOneByOne() {
  if (!broken_.ok()) return;  // CheckNode tells everybody
  const auto replies = line_->caller->PostAll(
      config_.verb(Verb::kPredicate), collected_.size(),
      [&](size_t i) { return bodies_->Predicate(*collected_for_, *collected_[i]); });
  for (size_t i = 0; i < collected_.size(); ++i) {
    Note(collected_[i], Judge(replies[i]));
  }
}

Result<Reply> Extender::ReplyAboutCollected(bool search) {
  const std::string& verb = config_.verb(Verb::kBatchPredicate);
  const auto body = [this](const Task& task) { return bodies_->Prioritize(task, collected_); };
  if (!ahead_ || !search) return Ask(Verb::kBatchPredicate, body(*collected_for_));
  TRY(broken_);
  return ahead_->Ask(*collected_for_, collected_, [&](const std::vector<const Task*>& tasks) {
    return line_->caller->PostAll(verb, tasks.size(), [&](size_t i) { return body(*tasks[i]); });
  });
}

void Extender::FetchInOneCall(bool search) {
  const auto answer = ReadReply(ReplyAboutCollected(search), ReadBatchPredicate);
  Status why = answer.status;
  if (why.ok() && !answer.value.error.empty()) why = FailedPrecondition(answer.value.error);
  const Fit failed = why.ok() ? nullptr : Failed(why);
  for (NodeInfo* node : collected_) {
    Fit fit = failed;
    if (why.ok() && !answer.value.nodes.empty()) {
      const auto own = answer.value.nodes.find(std::string(node->name));
      if (own != answer.value.nodes.end()) fit = Refused(own->second);
    }
    Note(node, std::move(fit));
  }
}

}  // namespace coppice::batch::extender
