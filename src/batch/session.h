// Session: one look at the cluster, and everything that is decided on it.
//
// Opened on a snapshot, which it forks, and on the objects of the moment; actions then change its
// own picture (jobs, nodes, queues) through statements, and Close() turns what has changed into an
// Outcome. Nothing outside is touched, and the snapshot is as before when the session is gone.
// Whoever holds the decision thread while somebody outside is asked must have opened it on a
// snapshot of its own.
//
// Order is by name wherever upstream walks a map: jobs and queues by id, tasks by uid, nodes as
// they are listed. One thread.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "batch/bind_delegate.h"
#include "batch/combine.h"
#include "batch/conf.h"
#include "batch/hyper_nodes.h"
#include "batch/kube_view.h"
#include "batch/news.h"
#include "batch/object_texts.h"
#include "batch/options.h"
#include "batch/outcome.h"
#include "batch/plugin.h"
#include "batch/roles.h"
#include "batch/roster.h"
#include "cluster/snapshot.h"
#include "model/batch.h"
#include "model/policy.h"

namespace coppice::batch {

// What a session is opened on. All lists in list order.
struct SessionInput {
  struct NodeEntry {
    std::shared_ptr<const model::Node> object;
    cluster::NodeIndex index;       // in the snapshot
    std::vector<NodeImage> images;  // only scores look at them; none is an answer
  };
  struct PodEntry {
    std::shared_ptr<const model::Pod> object;
    cluster::PodIndex index;  // in the snapshot; on its node, if that one is there
  };
  std::vector<NodeEntry> nodes;
  std::vector<PodEntry> pods;
  std::vector<model::PodGroup> groups;
  std::vector<model::Queue> queues;
  std::vector<model::PriorityClass> priority_classes;
  std::vector<model::ResourceQuota> quotas;
  std::vector<model::PodDisruptionBudget> budgets;
  // What is on its way and what could still be bought: part of the total that shares and admission
  // reckon with, unless upstream_exact.
  model::ResourceList stock = {};
  bool quotes = false;                 // somebody sells machines, and is asked for jobs that wait
  std::set<std::string> refused = {};  // jobs that nobody sells machines to
  // Jobs that somebody would sell machines to: what has been promised to others does not keep them
  // out of their queues.
  std::set<std::string> sold = {};
  // Only for these jobs others are evicted; absent: for everybody.
  std::optional<std::set<std::string>> evict_for = {};
  std::shared_ptr<const HyperNodeTree> hyper_nodes = {};  // of these nodes; null: there are none
  std::shared_ptr<const ObjectTexts> texts;               // null: nobody needs whole objects
  std::string uid;                                        // of this session; conditions carry it
  TimePoint now;
  const Clock* clock = nullptr;  // null: nothing is timed
};

// How busy a node really is: averages of the last ten minutes, in percent.
struct NodeUsage {
  TimePoint taken;
  double cpu = 0;
  double memory = 0;
};

// A namespace that has quotas.
struct NamespaceInfo {
  std::string name;
  std::map<std::string, model::ResourceQuotaStatus> quotas;
};

class Statement;

class Session {
 public:
  // Whether all plug-ins that the configuration names exist and can be made with what it says to
  // them, the extenders of the list, too; else which cannot, and why. Under upstream_exact only
  // whether they exist: what is wrong besides comes to light when a session opens.
  static Status CheckPlugins(const Conf& conf, const Options& options,
                             const PluginRegistry& plugins, const fit::FilterRegistry& filters);
  // An error: a plug-in of the configuration does not exist, or could not open.
  static Result<std::unique_ptr<Session>> Open(const Conf& conf, const Options& options,
                                               const PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters,
                                               cluster::Snapshot& snapshot, SessionInput input);
  // With tasks, jobs and nodes of the roster, which it has for itself until it is gone. Of `input`
  // pods and groups are not looked at; its nodes are those of the roster.
  static Result<std::unique_ptr<Session>> Open(const Conf& conf, const Options& options,
                                               const PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters,
                                               cluster::Snapshot& snapshot, SessionInput input,
                                               Roster& roster);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Run();  // the actions of the configuration, in their order
  Outcome Close();

  // ---- What is there.
  const Conf& conf() const { return conf_; }
  const Options& options() const { return options_; }
  bool upstream_exact() const { return options_.upstream_exact; }
  const std::string& uid() const { return input_.uid; }
  TimePoint now() const { return input_.now; }
  const SessionInput& input() const { return input_; }
  const std::vector<model::PodDisruptionBudget>& budgets() const { return input_.budgets; }

  const std::vector<NodeInfo*>& nodes() const { return node_list_; }
  NodeInfo* FindNode(std::string_view name) const;
  const HyperNodeTree& hyper_nodes() const { return *input_.hyper_nodes; }
  const std::vector<NodeInfo*>& NodesOf(const HyperNode& hyper_node);  // as they are listed
  // Why the job cannot have what it asks of the network; empty: it can, or asks for nothing.
  std::string WhyNoTopology(const Job& job) const;
  // Whether its tasks may not be just anywhere.
  bool IsConfined(const Job& job) const;
  const std::vector<Job*>& jobs() const { return job_list_; }  // by id
  Job* FindJob(std::string_view id) const;
  const std::vector<QueueInfo*>& queues() const { return queue_list_; }  // by name
  QueueInfo* FindQueue(std::string_view name) const;
  const std::map<std::string, NamespaceInfo>& namespaces() const { return namespaces_; }
  // Some may be without a pod: nobody's.
  const std::deque<Task>& tasks() const;
  const Resource& total() const { return total_; }  // allocatable of all nodes
  KubeView& view() { return *view_; }
  // Indexes of nodes, one after every change of one: who remembers something about nodes reads on
  // from where it has stopped.
  const std::vector<uint32_t>& changed_nodes() const { return changed_nodes_; }

  const Combine& ask() const { return combine_; }
  // What plug-ins have to say beside their answers.
  News GatherNews() const;
  bool MayEvictFor(const Job& job) const {
    return !input_.evict_for || input_.evict_for->contains(job.id);
  }
  // Whether the first entry of this plug-in asks for a hierarchy.
  bool HierarchyEnabled(std::string_view plugin) const;

  // ---- For plug-ins, while they open.
  void AddEventHandler(EventHandler& handler) { handlers_.push_back(&handler); }
  // Asked about every task that is bound, in this order, until one does not answer null.
  using ChooseDelegate = std::function<std::shared_ptr<const BindDelegate>(const Task&)>;
  void AddBinder(ChooseDelegate choose) { binders_.push_back(std::move(choose)); }
  void SetUsage(const NodeInfo& node, const NodeUsage& usage) { usages_[node.index] = usage; }

  // ---- For plug-ins, later.
  void RecordGroupEvent(const Job& job, std::string_view type, std::string_view reason,
                        std::string message);
  void SetGroupCondition(Job& job, model::PodGroupCondition condition);
  // The pod gets it together with its node, if this session binds it.
  void AnnotateBinding(const Task& task, std::string key, std::string value) {
    bind_annotations_[task.index][std::move(key)] = std::move(value);
  }
  const NodeUsage* UsageOf(const NodeInfo& node) const {  // null: nobody knows
    const auto found = usages_.find(node.index);
    return found == usages_.end() ? nullptr : &found->second;
  }
  // Something happened that ends upstream's process: the session ends here, with a reason.
  void Fail(Status why);
  bool failed() const { return !outcome_.failure.ok(); }

  // ---- For actions: what is counted and timed.
  Outcome::Numbers& numbers() { return outcome_.numbers; }
  // Commits, and counts it if it evicts somebody.
  void CommitEvicting(Statement& statement, std::string_view action);
  class Stopwatch {
   public:
    explicit Stopwatch(const Session& session) : clock_(session.input().clock) {
      if (clock_ != nullptr) began_ = clock_->Now();
    }
    void StopInto(std::vector<Duration>& times) const {
      if (clock_ != nullptr) times.push_back(std::max(Duration::zero(), clock_->Now() - began_));
    }
    void StopInto(std::vector<std::pair<std::string, Duration>>& times, std::string name) const {
      if (clock_ != nullptr) times.emplace_back(std::move(name), clock_->Now() - began_);
    }

   private:
    const Clock* clock_;
    TimePoint began_;
  };

  // ---- For actions: with the session's state, without a statement.
  Status Place(Task& task, NodeInfo& node);  // backfill: and all of the job, once it is ready
  Status EvictNow(Task& task, std::string_view reason);
  void UnPipeline(Task& task);
  Fit CheckForAllocate(const Task& task, const NodeInfo& node) const;
  Fit CheckForPreempt(const Task& task, const NodeInfo& node) const;
  // Nodes without those that are known to be out of the question for the task.
  std::vector<NodeInfo*> NodesToTry(const Task& task) const;

  // In registration order; the texts of those that refused.
  std::vector<std::string> TellAllocated(Task& task);
  void TellDeallocated(Task& task);
  // Of two jobs with tasks of one kind: no node is held for the one and not for the other.
  bool SameHolds(const Job& l, const Job& r) const;
  Status CommitBind(Task& task);
  void CommitEviction(Task& task, std::string_view reason);

 private:
  Session(const Conf& conf, const Options& options, cluster::Snapshot& snapshot,
          SessionInput input);
  void ReadNodes();
  void ReadQueues();
  void ReadGroups();
  void ReadPods();
  void PutOnNode(Task& task);
  void ReadHold(NodeInfo& node);
  Fit HeldForAnother(const Task& task, const NodeInfo& node) const;
  void TakeOver(Roster& roster);
  QueueInfo* QueueOf(Job& job) const;
  struct Priorities {
    int32_t by_default = 0;
    std::map<std::string_view, int32_t> by_name;
  };
  Priorities ReadPriorities() const;
  void ListJobs();
  void SettleTopologies();
  Status OpenPlugins(const PluginRegistry& plugins, const fit::FilterRegistry& filters);
  Status OpenExtenders(const PluginRegistry& plugins, const fit::FilterRegistry& filters);

  std::string PhaseOf(const Job& job) const;
  void CloseJob(Job& job);
  std::optional<std::string> HyperNodeToNote(const Job& job) const;
  void NotePodConditions(Job& job, const std::string& fit_error);
  void NotePodCondition(const Task& task, const Job::SchedulingReason& reason, std::string message);
  void CloseQueues();
  void NoteEvent(std::string kind, std::string_view namespace_, std::string_view name,
                 std::string_view type, std::string_view reason, std::string message);

  Conf conf_;
  Options options_;
  SessionInput input_;
  Roster* roster_ = nullptr;  // null: all is our own
  std::unique_ptr<KubeView> view_;

  std::deque<NodeInfo> nodes_;
  std::vector<NodeInfo*> node_list_;
  std::vector<uint32_t> changed_nodes_;
  std::unordered_map<std::string_view, NodeInfo*> node_by_name_;
  std::map<const HyperNode*, std::vector<NodeInfo*>>
      hyper_node_nodes_;  // those that were asked for
  std::deque<QueueInfo> queues_;
  std::vector<QueueInfo*> queue_list_;
  std::deque<Job> jobs_;
  std::vector<Job*> job_list_;
  std::map<std::string, Job*, std::less<>> job_by_id_;
  std::deque<Task> tasks_;
  std::map<std::string, int> orphan_job_ids_;  // texts that tasks without a job refer to
  std::map<std::string, NamespaceInfo> namespaces_;
  Resource total_;
  std::set<std::string, std::less<>> holders_;  // values of the taints that hold nodes for gangs

  std::vector<std::pair<std::string, std::unique_ptr<Plugin>>> plugins_;
  std::map<std::string, Slots> slots_;
  Combine combine_;
  std::vector<EventHandler*> handlers_;
  std::vector<ChooseDelegate> binders_;
  std::unordered_map<uint32_t, NodeUsage> usages_;                           // by NodeInfo::index
  std::map<uint32_t, std::map<std::string, std::string>> bind_annotations_;  // by Task::index
  Outcome outcome_;
};

}  // namespace coppice::batch
