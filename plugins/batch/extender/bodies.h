// Bodies: what an extender is sent, to the byte as Volcano's Go types marshal.
//
// No tags there, so members have Go's names and order; maps are sorted by key, nothing is left out,
// and what is nil is null. A pod and a node are whole Kubernetes objects. Everything shows the
// session's state of the moment; a node shows its tasks as they were when it was told of them.
//
// A compact body names objects by uid or name and leaves the rest out: for extenders that keep
// what the session's opening has told them.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "batch/job.h"
#include "batch/node.h"
#include "batch/queue.h"
#include "batch/session.h"
#include "plugins/batch/extender/fragments.h"
#include "plugins/batch/extender/opening.h"

namespace coppice::batch::extender {

class Bodies {
 public:
  Bodies(const Session& session, Fragments& fragments, bool compact);

  std::string SessionOpen() const;
  // With what has not changed since `opening` left out, if that one was heard; `opening` becomes
  // this one.
  std::string SessionOpen(Opening& opening) const;
  std::string Predicate(const Task& task, const NodeInfo& node);
  std::string Prioritize(const Task& task, std::span<NodeInfo* const> nodes);  // none: null
  std::string Evict(const Task& evictor, std::span<Task* const> evictees);     // none: null
  std::string OfJob(const Job& job);
  std::string OfQueue(const QueueInfo& queue) const;
  std::string OfTask(const Task& task);

 private:
  struct NodeText {
    uint64_t version = 0;
    std::string text;
  };
  struct GroupText {
    std::string metadata;
    std::string spec;
  };

  void AppendTask(std::string& out, const Task& task, const TransactionContext& state,
                  const std::optional<TransactionContext>& last) const;
  void AppendTask(std::string& out, const Task& task) const;
  void AppendTaskOnNode(std::string& out, const Task& task) const;
  void AppendNode(std::string& out, const NodeInfo& node) const;
  void AppendNodes(std::string& out, std::span<NodeInfo* const> nodes) const;
  void AppendOthers(std::string& out, std::span<NodeInfo* const> nodes) const;
  void AppendJob(std::string& out, const Job& job) const;
  void AppendTasks(std::string& out, std::span<Task* const> tasks,
                   const std::unordered_map<const Task*, std::string>& texts) const;
  void AppendSubJobs(std::string& out, const Job& job,
                     const std::unordered_map<const Task*, std::string>& texts) const;
  void AppendGroup(std::string& out, const Job& job) const;
  void AppendQueue(std::string& out, const QueueInfo& queue) const;
  void AppendNamespaces(std::string& out) const;
  static void AppendNamespace(std::string& out, const NamespaceInfo& info);
  const std::string& WholeNode(const NodeInfo& node) const;
  void AppendUsage(std::string& out, const NodeInfo& node) const;

  const Session& session_;
  Fragments& fragments_;
  const ObjectTexts* texts_;
  bool compact_;
  // Of each node the images with the number of nodes, up to this one, that have them.
  std::vector<std::string> images_;
  mutable std::unordered_map<const NodeInfo*, NodeText> nodes_;
  mutable std::unordered_map<const Job*, GroupText> groups_;
};

}  // namespace coppice::batch::extender
