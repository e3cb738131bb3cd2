// The extender plug-in: a session's questions, put to a service over HTTP.
//
// Plays the roles whose verbs are configured. Every question is asked on the session's thread and
// waits there (the session of a scheduler with extenders has a thread and a snapshot of its own, so
// that nobody who decides waits); the predicates of one task go out sixteen at a time, or in one
// call if the extender takes them so.
//
// What a failure means: under upstream_exact what it means to Volcano, verb by verb, mistakes
// included. Otherwise one rule for all: the answer of an ignorable extender that cannot be had is
// as if it had not been configured, that of any other is no.

#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "batch/plugin.h"
#include "batch/roles.h"
#include "batch/session.h"
#include "plugins/batch/extender/ahead.h"
#include "plugins/batch/extender/answers.h"
#include "plugins/batch/extender/bodies.h"
#include "plugins/batch/extender/caller.h"
#include "plugins/batch/extender/config.h"

namespace coppice::batch::extender {

// What outlives a session: connections, the breaker, what was written about objects.
struct Line {
  std::shared_ptr<Caller> caller;
  Fragments fragments;
  Opening opening;  // if openings show what has changed
};

class Extender final : public Plugin,
                       public TellsNews,
                       Predicate,
                       BatchNodeOrder,
                       Preemptable,
                       Reclaimable,
                       Overused,
                       JobReady,
                       JobEnqueueable,
                       JobEnqueued,
                       EventHandler {
 public:
  // `give_back` takes the line again when the session is over.
  using GiveBack = std::function<void(std::unique_ptr<Line>)>;
  Extender(Config config, bool upstream_exact, std::unique_ptr<Line> line, GiveBack give_back);
  ~Extender() override;

  Status Open(Session& session, Slots& slots) override;
  void Close(Session& session) override;
  void TellNews(News& news) const override;

 private:
  Fit CheckNode(const Task& task, const NodeInfo& node) override;
  Scope PredicateScope(const Task& task) const override { return ScopeOf(task); }
  bool Collect(const Task& task) override;
  void Fetch() override;
  Status ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                    std::span<double> scores) override;
  Scope BatchNodeOrderScope(const Task& task) const override { return ScopeOf(task); }
  Victims PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) override;
  Victims ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) override;
  bool IsOverused(const QueueInfo& queue) override;
  bool IsJobReady(const Job& job) override;
  int JobEnqueueableVote(const Job& job) override;
  void OnJobEnqueued(const Job& job) override;
  void OnAllocate(Event& event) override;
  void OnDeallocate(Event& event) override;

  bool Interests(const Task& task) const { return config_.Interests(*task.pod); }
  // A task that is of no interest gets the same answer for ever: none.
  Scope ScopeOf(const Task& task) const {
    return Interests(task) ? Scope::kAnything : Scope::kShapes;
  }
  Result<Reply> Ask(Verb verb, const std::string& body);
  Status OpenSession(bool& registers);
  void FetchOneByOne();
  void FetchInOneCall(bool search);  // one, or of a single node
  Result<Reply> ReplyAboutCollected(bool search);
  Fit Judge(const Result<Reply>& reply) const;
  Fit Refused(const PredicateAnswer& answer) const;
  Fit Failed(const Status& why) const;
  Result<Reply> SendOpening();
  Victims AskVictims(Verb verb, const Task& evictor, std::span<Task* const> candidates);
  Victims Resolve(const VictimsAnswer& answer, std::span<Task* const> candidates);
  void Tell(Verb verb, Event& event, bool counts);

  const Config config_;
  const bool exact_;
  std::unique_ptr<Line> line_;
  GiveBack give_back_;
  Session* session_ = nullptr;
  std::unique_ptr<Bodies> bodies_;
  std::optional<Ahead> ahead_;  // if it may be asked about the next task before this one is placed
  Status broken_;               // could not be opened: every answer is this failure

  // Of the nodes of one search: first who is to be asked about, then the answers.
  struct Asked {
    const NodeInfo* node = nullptr;
    uint64_t node_version = 0;
    Fit fit;
    uint32_t next = 0;  // of the same node, +1; 0: none
  };
  void Note(const NodeInfo* node, Fit fit);
  const Asked* TakeNoted(const NodeInfo& node);
  void ForgetNoted();
  bool collecting_ = false;
  const Task* collected_for_ = nullptr;
  std::vector<NodeInfo*> collected_;
  std::vector<Asked> fetched_;
  std::vector<uint32_t> first_fetched_;  // by node: where in fetched_, +1; 0: not there any more
  std::deque<Task> strangers_;           // victims that nobody has asked about
  std::set<std::string> stranger_uids_;
};

}  // namespace coppice::batch::extender
