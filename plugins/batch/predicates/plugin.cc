// predicates: kube-scheduler's filters, and how many pods a node takes.
//
// Each filter is prepared before any node is asked, and what it says about a node is added up: the
// first refusal that evicting others would not lift ends it. A filter that had nothing to check for
// a task is not asked about it any more in this session, as upstream does.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batch/plugin.h"
#include "batch/session.h"
#include "fit/node_set.h"

namespace coppice::batch::predicates {
namespace {

struct FilterLine {
  std::string_view name;
  std::string_view argument;  // that switches it off; none: always on
  bool prepares = true;       // has a PreFilter
  bool stable = false;        // asked first: its answers do not change within a session
};
// In the order in which they are asked; stable ones first.
constexpr std::array<FilterLine, 10> kFilters{{
    {"NodeUnschedulable", "", false, true},
    {"NodeAffinity", "predicate.NodeAffinityEnable", true, true},
    {"TaintToleration", "predicate.TaintTolerationEnable", false, true},
    {"NodePorts", "predicate.NodePortsEnable"},
    {"InterPodAffinity", "predicate.PodAffinityEnable"},
    {"NodeVolumeLimits", "predicate.NodeVolumeLimitsEnable"},
    {"VolumeZone", "predicate.VolumeZoneEnable"},
    {"PodTopologySpread", "predicate.PodTopologySpreadEnable"},
    {"VolumeBinding", "predicate.VolumeBindingEnable"},
    {"DynamicResources", ""},
}};
constexpr size_t kInterPodAffinity = 4;
constexpr size_t kVolumeBinding = 8;

bool KeepsOthersOff(const model::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  return affinity && affinity->pod_anti_affinity && !affinity->pod_anti_affinity->required.empty();
}

int CodeOf(model::VerdictCode code) {
  switch (code) {
    case model::VerdictCode::kUnschedulable:
      return kFitUnschedulable;
    case model::VerdictCode::kUnschedulableAndUnresolvable:
      return kFitUnresolvable;
    case model::VerdictCode::kError:
      break;
  }
  return kFitError;
}

class Predicates final : public Plugin,
                         public PrePredicate,
                         public Predicate,
                         public BatchNodeOrder,
                         public EventHandler {
 public:
  explicit Predicates(const PluginContext& context) : filters_registry_(context.filters) {
    for (const FilterLine& line : kFilters) {
      bool enabled = true;
      if (!line.argument.empty()) context.arguments.Get(line.argument, enabled);
      enabled_.push_back(enabled);
    }
    context.arguments.Get("predicate.CacheEnable", caches_);
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    const fit::SchedulerConfig config;
    for (size_t i = 0; i < kFilters.size(); ++i) {
      filters_.push_back(nullptr);
      if (!enabled_[i] || !filters_registry_.Has(kFilters[i].name)) continue;
      filters_.back() = TRY(filters_registry_.Make(kFilters[i].name, config));
    }
    states_.resize(session.tasks().size());
    for (const NodeInfo* node : session.nodes()) {
      if (node->keep_others_off > 0) had_anti_affinity_.Add(node->snapshot_index);
    }
    // Listed twice, upstream asks the one that opened last in both places, and both are told of
    // placements.
    if (auto* before = dynamic_cast<Predicates*>(slots.predicate)) before->in_force_ = this;
    slots.pre_predicate = this;
    slots.predicate = this;
    if (session.upstream_exact()) slots.batch_node_order = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  Status PrepareTask(Task& task) override {
    State& state = StateOf(task);
    const cluster::Snapshot& snapshot = session_->view().snapshot();
    for (size_t i = 0; i < kFilters.size(); ++i) {
      if (!filters_[i]) continue;
      std::optional<cluster::ScopedFork> without;
      if (i == kInterPodAffinity && session_->upstream_exact()) ForgetNewAntiAffinity(without);
      fit::Preparation prepared = filters_[i]->Prepare(snapshot.pod(task.pod_index), snapshot);
      if (!kFilters[i].prepares) {
        state.prepared[i] = Keep(std::move(prepared));
        continue;
      }
      if (prepared.kind == fit::Preparation::Kind::kReject) {
        state.prepared[i] = {};
        return FailedPrecondition("plugin " + std::string(kFilters[i].name) +
                                  " pre-predicates failed " + prepared.rejection.reason());
      }
      if (prepared.kind == fit::Preparation::Kind::kSkip) state.skipped |= 1u << i;
      state.prepared[i] = Keep(std::move(prepared));
      if (session_->upstream_exact()) Freeze(state.prepared[i]);
    }
    state.is_prepared = true;
    return Status::Ok();
  }

  Fit CheckNode(const Task& task, const NodeInfo& node) override {
    std::shared_ptr<Refusal> refusal;
    const auto add = [&](int code, std::string reason, std::string_view plugin) {
      if (!refusal) refusal = std::make_shared<Refusal>();
      refusal->statuses.push_back({code, std::move(reason), std::string(plugin)});
      return code != kFitUnschedulable;  // it ends here
    };
    if (node.allocatable.max_tasks <= static_cast<int64_t>(session_->view().pods_on(node))) {
      (void)add(kFitUnschedulable, "node(s) pod number exceeded", "predicates");
    }
    State& state = StateOf(task);
    if (!state.is_prepared) PrepareStable(task, state);
    for (size_t i = 0; i < kFilters.size(); ++i) {
      if (!filters_[i] || (state.skipped >> i & 1) != 0) continue;
      if (!state.is_prepared && !kFilters[i].stable) {
        // Nobody has asked the filter about this task yet, so it has nothing to go by.
        if (!session_->upstream_exact()) continue;
        (void)add(kFitError, "not found", kFilters[i].name);
        break;
      }
      const model::Verdict verdict = Ask(i, state.prepared[i], task, node);
      if (verdict.yes()) continue;
      if (add(CodeOf(verdict.code()), verdict.reason(), kFilters[i].name)) break;
    }
    return refusal;
  }

  Scope PredicateScope(const Task& task) const override {
    const State* state = states_[task.index].get();
    if (!state || !state->is_prepared) return Scope::kAnything;
    for (size_t i = 0; i < kFilters.size(); ++i) {
      const Prepared& prepared = state->prepared[i];
      if (!filters_[i] || (state->skipped >> i & 1) != 0 || !prepared.check) continue;
      if (!prepared.check->OwnNodeOnly()) return Scope::kAnything;
    }
    return Scope::kOwnNode;
  }

  // Upstream scores by claims, too. Without any that is nothing, but for a task that was never
  // prepared, because the predicates are switched off, it fails, and all scoring with it.
  Status ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                    std::span<double>) override {
    if (nodes.empty() || StateOf(task).is_prepared) return Status::Ok();
    return NotFound("calculate DynamicResources priority failed not found");
  }
  Scope BatchNodeOrderScope(const Task&) const override { return Scope::kShapes; }

  // Only in upstream_exact: otherwise the session follows its placements by itself.
  void OnAllocate(Event& event) override {
    const NodeInfo* node = session_->FindNode(event.task.node_name);
    if (!session_->upstream_exact() || !node) return;
    // Upstream reserves volumes here, which fails for a task that was never prepared: one that is
    // not evicted after all, or all of them if the predicates are switched off.
    if (filters_[kVolumeBinding] && !IsPrepared(event.task)) {
      event.error = "not found";
      return;
    }
    KubeView& view = session_->view();
    if (view.IsPlaced(event.task)) {
      view.PlaceAgain(event.task, *node);
    } else {
      view.Place(event.task, *node);
    }
  }
  void OnDeallocate(Event& event) override {
    const NodeInfo* node = session_->FindNode(event.task.node_name);
    if (!session_->upstream_exact() || !node) return;
    session_->view().Remove(event.task, *node);
  }

 private:
  // What a filter has made of a task.
  struct Prepared {
    bool asks_shapes = false;
    std::unique_ptr<fit::NodeCheck> check;
    std::vector<model::Verdict> frozen;  // by snapshot index; only in upstream_exact
  };
  struct State {
    bool is_prepared = false;
    uint32_t skipped = 0;  // bit i: filter i
    std::array<Prepared, kFilters.size()> prepared;
  };

  State& StateOf(const Task& task) {
    auto& state = states_[task.index];
    if (!state) state = std::make_unique<State>();
    return *state;
  }

  bool IsPrepared(const Task& task) {
    return in_force_ ? in_force_->IsPrepared(task) : StateOf(task).is_prepared;
  }

  static Prepared Keep(fit::Preparation prepared) {
    return {.asks_shapes = prepared.kind == fit::Preparation::Kind::kShapes,
            .check = std::move(prepared.check)};
  }

  // Upstream's filters go by what they counted when the task was prepared, whoever has been evicted
  // since.
  void Freeze(Prepared& prepared) {
    if (!prepared.check) return;
    const cluster::Snapshot& snapshot = session_->view().snapshot();
    prepared.frozen.assign(snapshot.node_bound(), model::Verdict::Yes());
    for (const cluster::NodeIndex node : snapshot.nodes()) {
      prepared.frozen[node] = prepared.check->Check(node);
    }
  }

  // Upstream looks for anti-affinity of placed pods only on nodes that had some from the start:
  // what this session has placed elsewhere keeps nobody off.
  void ForgetNewAntiAffinity(std::optional<cluster::ScopedFork>& fork) {
    cluster::Snapshot& snapshot = session_->view().snapshot();
    for (const NodeInfo* node : session_->nodes()) {
      if (had_anti_affinity_.Has(node->snapshot_index)) continue;
      for (const Task* task : node->tasks) {
        if (!KeepsOthersOff(*task->pod) || !session_->view().IsPlaced(*task)) continue;
        if (!fork) fork.emplace(snapshot);
        model::Pod tame = *task->pod;
        tame.spec.affinity->pod_anti_affinity->required.clear();
        snapshot.UpdatePod(task->pod_index, tame);
      }
    }
  }

  void PrepareStable(const Task& task, State& state) {
    const cluster::Snapshot& snapshot = session_->view().snapshot();
    const cluster::PodView pod = snapshot.pod(task.pod_index);
    for (size_t i = 0; i < kFilters.size(); ++i) {
      if (!filters_[i] || !kFilters[i].stable) continue;
      state.prepared[i] = Keep(filters_[i]->Prepare(pod, snapshot));
    }
  }

  model::Verdict Ask(size_t i, const Prepared& prepared, const Task& task, const NodeInfo& node) {
    const cluster::Snapshot& snapshot = session_->view().snapshot();
    if (prepared.asks_shapes) {
      return filters_[i]->Check(snapshot.spec(task.pod_index),
                                snapshot.node_shape(node.snapshot_index));
    }
    if (!prepared.check) return model::Verdict::Yes();
    // Host ports are looked for on the node itself, so evictions show.
    if (!prepared.frozen.empty() && kFilters[i].name != "NodePorts") {
      return prepared.frozen[node.snapshot_index];
    }
    return prepared.check->Check(node.snapshot_index);
  }

  const fit::FilterRegistry& filters_registry_;
  std::vector<bool> enabled_;
  bool caches_ = false;
  Session* session_ = nullptr;
  Predicates* in_force_ = nullptr;                     // in the place of this one, if not itself
  std::vector<std::unique_ptr<fit::Filter>> filters_;  // by place in kFilters; null: off
  std::vector<std::unique_ptr<State>> states_;         // by Task::index
  fit::NodeSet had_anti_affinity_;  // nodes with a pod that has some, when the session opened
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("predicates", FactoryOf<Predicates>()); }

}  // namespace coppice::batch::predicates
