// Ahead: questions about tasks whose turn has not come.
//
// A compact question names a task and nodes that the opening has shown. Who is not told of
// placements has nothing new to go by when the next task of the job is asked about, so that
// question need not wait for the answer to this one. How many go out together doubles each time
// that all of the last ones were of use, and falls to one when some were not: a job that is given
// up after its first task costs no question more than it has to.
//
// Of one session, on its thread.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batch/session.h"
#include "plugins/batch/extender/caller.h"

namespace coppice::batch::extender {

class Ahead {
 public:
  // Of the tasks of a job those that `interests` names are asked about.
  Ahead(const Session& session, std::function<bool(const Task&)> interests)
      : session_(session), interests_(std::move(interests)) {}

  // The reply about the task on these nodes. `post` asks about several tasks, and has an answer or
  // a failure for each.
  using Post = std::function<std::vector<Result<Reply>>(const std::vector<const Task*>& tasks)>;
  Result<Reply> Ask(const Task& task, std::span<NodeInfo* const> nodes, const Post& post);

 private:
  struct Known {
    Reply reply;
    TransactionContext state;
  };
  struct OfJob {
    const Task* first = nullptr;
    size_t width = 1;                  // questions that go out together
    bool listed = false;               // `waiting` is made when a second task is asked about
    std::vector<const Task*> waiting;  // the last is asked about first
    std::vector<bool> asked;           // by NodeInfo::index: the nodes of the last questions
    std::unordered_map<const Task*, Known> known;
  };
  std::optional<Reply> Take(const Task& task, std::span<NodeInfo* const> nodes);
  std::vector<const Task*> Begin(const Task& task, std::span<NodeInfo* const> nodes);
  void List(const Task& task, OfJob& of) const;

  const Session& session_;
  const std::function<bool(const Task&)> interests_;
  std::unordered_map<const Job*, OfJob> jobs_;
};

}  // namespace coppice::batch::extender
