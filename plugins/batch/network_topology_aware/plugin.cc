// network-topology-aware: a job's tasks lie close to each other in the network, as far as its group
// asks for it; where they may be is said tier by tier, and what fills a stretch of the network is
// better than what breaks into an empty one.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::network_topology_aware {
namespace {

constexpr int kMostForEviction = 8;

struct Weights {
  int all = 1;
  int cpu = 1;
  int memory = 1;
  std::map<ScalarKey, int> scalars;

  explicit Weights(const Arguments& arguments) {
    Read(arguments, "weight", all);
    Read(arguments, "hypernode.binpack.cpu", cpu);
    Read(arguments, "hypernode.binpack.memory", memory);
    std::string names;
    arguments.Get("hypernode.binpack.resources", names);
    for (const std::string& part : Split(names, ',')) {
      const std::string name(Trim(part));
      if (name.empty() || name == "cpu" || name == "memory") continue;
      int weight = 1;
      Read(arguments, "hypernode.binpack.resources." + name, weight);
      scalars[InternScalar(name)] = weight;
    }
  }

 private:
  static void Read(const Arguments& arguments, std::string_view key, int& weight) {
    arguments.Get(key, weight);
    if (weight < 0) weight = 1;
  }
};

class NetworkTopologyAware final : public Plugin,
                                   public BatchNodeOrder,
                                   public HyperNodeGradient,
                                   public HyperNodeOrder,
                                   public EventHandler {
 public:
  explicit NetworkTopologyAware(const Arguments& arguments) : weights_(arguments) {
    arguments.Get("hypernode.binpack.normal-pod.enable", others_too_);
    arguments.Get("hypernode.binpack.normal-pod.fading", fading_);
    if (!(fading_ >= 0)) fading_ = 0.8;
    arguments.Get("hypernode.gradient.evict.max-hypernodes", most_for_eviction_);
    if (most_for_eviction_ <= 0) most_for_eviction_ = kMostForEviction;
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    tree_ = &session.hyper_nodes();
    slots.hyper_node_gradient = this;
    state_.resize(tree_->all().size());
    for (const auto& at : tree_->all()) {
      for (const NodeInfo* node : session.NodesOf(*at)) {
        state_[at->index].used.Add(node->used);
        state_[at->index].allocatable.Add(node->allocatable);
      }
      if (session.upstream_exact()) (void)Sum(*at);
    }
    if (tree_->empty()) return Status::Ok();  // one place is as good as another
    slots.batch_node_order = this;
    slots.hyper_node_order = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  // ---- Where it may be.
  HyperNodeGradients GradientsOf(const Job& job, const HyperNode& within,
                                 SearchPurpose purpose) override {
    const auto tier = HardTier(job.network_topology);
    if (!tier) return {{&within}};
    return Gradients(within, *tier, job.allocated_hyper_node, job.MinResources(), purpose);
  }
  HyperNodeGradients GradientsOf(const SubJob& sub_job, const HyperNode& within,
                                 SearchPurpose purpose) override {
    const auto tier = HardTier(sub_job.network_topology);
    if (!tier) return {{&within}};
    return Gradients(within, *tier, sub_job.allocated_hyper_node, NeededBy(sub_job), purpose);
  }

  // ---- Where it is best.
  Status ScoreHyperNodes(const SubJob& sub_job, std::span<const HyperNode* const> hyper_nodes,
                         std::span<double> scores) override {
    Resource request;
    for (const Task* task : sub_job.tasks) {
      // Upstream counts what is there already once more.
      if (session_->upstream_exact() || !IsAllocated(task->status)) request.Add(task->req());
    }
    std::vector<double> own;
    for (const HyperNode* at : hyper_nodes) own.push_back(Fullness(request, *at));
    PreferCompany(sub_job, hyper_nodes, own);
    for (size_t i = 0; i < own.size(); ++i) scores[i] += Scaled(own[i]);
    return Status::Ok();
  }

  Status ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                    std::span<double> scores) override {
    if (!task.job || !task.sub_job) return Status::Ok();
    const std::vector<double> own =
        task.sub_job->network_topology ? ByDistance(task, nodes) : ByFullness(task, nodes);
    for (size_t i = 0; i < own.size(); ++i) scores[i] += Scaled(own[i]);
    return Status::Ok();
  }
  // A placement changes the scores of all nodes that share a HyperNode with its node.
  Scope BatchNodeOrderScope(const Task& task) const override {
    const bool scored = task.sub_job && (task.sub_job->network_topology || others_too_);
    return scored ? Scope::kAnything : Scope::kShapes;
  }

  // ---- What is used where.
  void OnAllocate(Event& event) override {
    const NodeInfo* node = session_->FindNode(event.task.node_name);
    if (node == nullptr) return;
    for (const HyperNode* at : tree_->Of(node->index)) state_[at->index].used.Add(event.task.req());
  }
  void OnDeallocate(Event& event) override {
    const NodeInfo* node = session_->FindNode(event.task.node_name);
    if (node == nullptr) return;
    for (const HyperNode* at : tree_->Of(node->index)) {
      if (!state_[at->index].used.Sub(event.task.req()) && session_->upstream_exact()) {
        // It was told twice that the task has gone, and upstream crashes.
        session_->Fail(Internal("HyperNode " + at->name + " gives back more than it holds"));
      }
    }
  }

 private:
  struct State {
    Resource used;  // with what is promised, without what was told to go
    Resource allocatable;
    Resource idle;  // it and the next as far as they are summed
    Resource future_idle;
    bool summed = false;
  };

  // ---- Gradients.

  // What it lacks to start, at least. Upstream takes it for a sub-job that starts with all its tasks,
  // and finds no place for one that could start with a part of them.
  Resource NeededBy(const SubJob& sub_job) const {
    Resource all;
    std::optional<Resource> least;
    int32_t pending = 0;
    for (const Task* task : sub_job.tasks) {
      if (task->status != TaskStatus::kPending) continue;
      ++pending;
      all.Add(task->req());
      least = least ? Min(*least, task->req()) : task->req();
    }
    const int32_t lacking =
        std::max(1, sub_job.min_available - sub_job.counts.Ready() - sub_job.counts.Waiting());
    if (session_->upstream_exact() || lacking >= pending) return all;
    return least->Scale(lacking);
  }

  // Where the job may be at all, being where it is; null: nowhere.
  const HyperNode* SearchRoot(const HyperNode& within, int64_t tier,
                              std::string_view allocated) const {
    if (allocated.empty()) return &within;
    const HyperNode* highest = tree_->Find(allocated);
    if (highest == nullptr || highest->tier > tier) return nullptr;
    while (highest->parent != nullptr && highest->parent->tier <= tier) highest = highest->parent;
    if (HyperNodeTree::IsWithin(within, *highest)) return &within;
    return HyperNodeTree::IsWithin(*highest, within) ? highest : nullptr;
  }

  bool MayHold(const HyperNode& at, int64_t tier, bool partly_placed, const Resource& needed,
               SearchPurpose purpose) {
    if (at.tier > tier) return false;
    if (partly_placed) return true;
    if (purpose == SearchPurpose::kEvict)
      return needed.LessEqual(state_[at.index].allocatable, Missing::kZero);
    const State& state = Sum(at);
    return needed.LessEqual(state.idle, Missing::kZero) ||
           needed.LessEqual(state.future_idle, Missing::kZero);
  }

  HyperNodeGradients Gradients(const HyperNode& within, int64_t tier, std::string_view allocated,
                               const Resource& needed, SearchPurpose purpose) {
    const HyperNode* root = SearchRoot(within, tier, allocated);
    if (root == nullptr) return {};
    std::map<int64_t, std::vector<const HyperNode*>> by_tier;
    std::vector<const HyperNode*> open{root};
    while (!open.empty()) {
      const HyperNode* at = open.back();
      open.pop_back();
      if (MayHold(*at, tier, !allocated.empty(), needed, purpose)) by_tier[at->tier].push_back(at);
      open.insert(open.end(), at->children.begin(), at->children.end());
    }
    HyperNodeGradients rows;
    for (auto& [own_tier, row] : by_tier) {
      std::ranges::sort(row, {}, &HyperNode::name);
      rows.push_back(std::move(row));
    }
    return purpose == SearchPurpose::kEvict ? WidestFirst(std::move(rows)) : rows;
  }

  // The wider, the more there is to choose from.
  HyperNodeGradients WidestFirst(HyperNodeGradients rows) const {
    std::ranges::reverse(rows);
    auto left = static_cast<size_t>(most_for_eviction_);
    for (auto& row : rows) {
      if (row.size() > left) row.resize(left);
      left -= row.size();
    }
    std::erase_if(rows, [](const auto& row) { return row.empty(); });
    return rows;
  }

  // Upstream goes by what was there when the session opened.
  const State& Sum(const HyperNode& at) {
    if (!session_->upstream_exact()) {
      const auto& changed = session_->changed_nodes();
      for (; changes_read_ < changed.size(); ++changes_read_) {
        for (const HyperNode* dirty : tree_->Of(changed[changes_read_]))
          state_[dirty->index].summed = false;
      }
    }
    State& state = state_[at.index];
    if (state.summed) return state;
    state.summed = true;
    state.idle = state.future_idle = Resource();
    for (const NodeInfo* node : session_->NodesOf(at)) {
      state.idle.Add(node->idle);
      state.future_idle.Add(node->FutureIdle());
    }
    return state;
  }

  // ---- Scores, from 0 to 1.

  double Scaled(double score) const { return 100.0 * weights_.all * score; }

  struct Mean {
    double score = 0;
    double weights = 0;
    bool full = false;

    void Add(double asked, double allocatable, double used, int weight) {
      if (asked < kEpsilon) return;
      full |= used + asked > allocatable;
      if (full) return;
      score += weight * (used + asked) / allocatable;
      weights += weight;
    }
  };

  // How full it would be; 0 if it would be too full.
  double Fullness(const Resource& request, const HyperNode& at) const {
    const Resource& used = state_[at.index].used;
    const Resource& all = state_[at.index].allocatable;
    Mean mean;
    mean.Add(request.cpu, all.cpu, used.cpu, weights_.cpu);
    mean.Add(request.memory, all.memory, used.memory, weights_.memory);
    for (const auto& [key, value] : request.scalars()) {
      const auto weight = weights_.scalars.find(key);
      if (weight != weights_.scalars.end())
        mean.Add(value, all.Get(key), used.Get(key), weight->second);
    }
    return mean.full || mean.weights <= 0 ? 0 : mean.score / mean.weights;
  }

  // Which part of the sub-job is there already.
  double Company(const SubJob& sub_job, const HyperNode& at) const {
    if (sub_job.tasks.empty()) return 0;
    const auto there = std::ranges::count_if(sub_job.tasks, [&](const Task* task) {
      const NodeInfo* node =
          task->node_name.empty() ? nullptr : session_->FindNode(task->node_name);
      return node != nullptr && at.Has(node->index);
    });
    return static_cast<double>(there) / static_cast<double>(sub_job.tasks.size());
  }

  // Of several that are equally good. Null: of no HyperNode.
  void PreferCompany(const SubJob& sub_job, std::span<const HyperNode* const> at,
                     std::vector<double>& scores) const {
    if (scores.empty()) return;
    const double highest = *std::ranges::max_element(scores);
    if (std::ranges::count(scores, highest) < 2) return;
    std::map<const HyperNode*, double> known;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] != highest || at[i] == nullptr) continue;
      const auto [company, is_new] = known.try_emplace(at[i]);
      if (is_new) company->second = Company(sub_job, *at[i]);
      scores[i] += company->second;
    }
  }

  // The smallest that the node is in; upstream knows those of the lowest tier only.
  const HyperNode* Home(const NodeInfo& node) const {
    const HyperNode* home = tree_->Of(node.index).front();
    return session_->upstream_exact() && home->tier != tree_->min_tier() ? nullptr : home;
  }

  double Closeness(const HyperNode* home, const HyperNode& to) const {
    if (home == nullptr) return 0;
    if (home == &to || tree_->min_tier() == tree_->max_tier()) return 1;
    const int64_t common = HyperNodeTree::LowestCommon(home, &to)->tier;
    return static_cast<double>(tree_->max_tier() - common) /
           static_cast<double>(tree_->max_tier() - tree_->min_tier());
  }

  // To where the rest of it is.
  std::vector<double> ByDistance(const Task& task, std::span<NodeInfo* const> nodes) const {
    const HyperNode* to = tree_->Find(task.job_allocated_hyper_node);
    if (to == nullptr) return {};
    std::vector<double> scores;
    std::vector<const HyperNode*> homes;
    for (const NodeInfo* node : nodes) {
      homes.push_back(Home(*node));
      scores.push_back(Closeness(homes.back(), *to));
    }
    PreferCompany(*task.sub_job, homes, scores);
    return scores;
  }

  // Who asks for nothing of the network fills what is begun, smaller stretches above all; what is in
  // no HyperNode of a tier counts as full.
  std::vector<double> ByFullness(const Task& task, std::span<NodeInfo* const> nodes) const {
    if (!others_too_) return {};
    std::map<int64_t, double> weight_of;
    double weights = 0;
    for (const int64_t tier : tree_->tiers())
      weights += weight_of[tier] = std::pow(fading_, static_cast<double>(tier - 1));
    if (!(weights > 0) || !std::isfinite(weights)) return {};
    std::vector<std::optional<double>> known(state_.size());
    std::vector<double> scores;
    for (const NodeInfo* node : nodes) {
      double sum = weights;
      std::optional<int64_t> before;
      for (const HyperNode* at : tree_->Of(node->index)) {
        if (before == at->tier) continue;  // of two in a tier the first by name
        before = at->tier;
        auto& fullness = known[at->index];
        if (!fullness) fullness = Fullness(task.req(), *at);
        sum -= weight_of.at(at->tier) * (1 - *fullness);
      }
      scores.push_back(sum / weights);
    }
    return scores;
  }

  const Weights weights_;
  bool others_too_ = true;
  double fading_ = 0.8;
  int most_for_eviction_ = kMostForEviction;
  Session* session_ = nullptr;
  const HyperNodeTree* tree_ = nullptr;
  std::vector<State> state_;  // by HyperNode::index
  size_t changes_read_ = 0;
};

}  // namespace

void Register(PluginRegistry& registry) {
  registry.Add("network-topology-aware", FactoryOf<NetworkTopologyAware>());
}

}  // namespace coppice::batch::network_topology_aware
