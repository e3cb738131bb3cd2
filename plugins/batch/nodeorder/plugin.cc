// nodeorder: kube-scheduler's scores, added up by weight.

#include <array>
#include <map>
#include <set>
#include <string>

#include "batch/plugin.h"
#include "batch/session.h"
#include "fit/node_set.h"
#include "fit/score.h"
#include "fit/score_pods.h"
#include "model/resources.h"

namespace coppice::batch::nodeorder {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";

class NodeOrderPlugin final : public Plugin, public NodeOrder, public BatchNodeOrder {
 public:
  explicit NodeOrderPlugin(const Arguments& arguments) {
    arguments.Get("leastrequested.weight", least_);
    arguments.Get("mostrequested.weight", most_);
    arguments.Get("nodeaffinity.weight", node_affinity_);
    arguments.Get("podaffinity.weight", pod_affinity_);
    arguments.Get("balancedresource.weight", balanced_);
    arguments.Get("tainttoleration.weight", taints_);
    arguments.Get("imagelocality.weight", images_);
    arguments.Get("podtopologyspread.weight", spread_);
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    ReadImages();
    for (const Job* job : session.jobs()) some_prefer_pods_ |= job->prefer_pods > 0;
    for (const NodeInfo* node : session.nodes()) {
      if (node->with_pod_affinity > 0) {
        had_affinity_.Add(node->snapshot_index);
        for (const Task* task : node->tasks) some_prefer_pods_ |= task->prefers_pods;
      }
      for (const model::Taint& taint : node->object->spec.taints) {
        some_wish_ |= taint.effect == "PreferNoSchedule";
      }
    }
    slots.node_order = this;
    slots.batch_node_order = this;
    return Status::Ok();
  }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    if (images_ == 0 || images_of_.empty()) return 0.0;
    const auto& on_node = images_of_[node.index];
    const model::PodSpec& spec = task.pod->spec;
    int64_t bytes = 0;
    for (const auto* containers : {&spec.init_containers, &spec.containers}) {
      for (const model::Container& container : *containers) {
        const auto found = on_node.find(fit::NormalizedImageName(container.image));
        if (found == on_node.end()) continue;
        const double part = static_cast<double>(found->second.nodes) /
                            static_cast<double>(session_->nodes().size());
        bytes += static_cast<int64_t>(static_cast<double>(found->second.bytes) * part);
      }
    }
    const size_t containers = spec.init_containers.size() + spec.containers.size();
    return static_cast<double>(fit::ImageLocalityScore(bytes, containers)) * images_;
  }
  Scope NodeOrderScope(const Task&) const override { return Scope::kShapes; }

  Status ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                    std::span<double> scores) override {
    ScoreResources(task, nodes, scores);
    if (BatchNodeOrderScope(task) != Scope::kAnything) return Status::Ok();  // nothing to compare
    std::vector<int64_t> raw(nodes.size());
    if (node_affinity_ != 0) {
      const fit::PreferredNodeAffinity preferred(task.pod->spec);
      if (!preferred.empty()) {
        for (size_t i = 0; i < nodes.size(); ++i) {
          raw[i] = preferred.Score(nodes[i]->object->metadata.labels, nodes[i]->name);
        }
        fit::NormalizeByMax(raw, false);
        AddWeighted(raw, node_affinity_, scores);
      }
    }
    if (taints_ != 0 && some_wish_) {
      for (size_t i = 0; i < nodes.size(); ++i) {
        raw[i] = fit::UntoleratedWishes(nodes[i]->object->spec.taints, task.pod->spec.tolerations);
      }
      fit::NormalizeByMax(raw, true);
      AddWeighted(raw, taints_, scores);
    }
    if (pod_affinity_ != 0 && some_prefer_pods_) {
      // Upstream looks for pods with preferences only where there were some from the start.
      const fit::PreferredPodAffinity preferred(
          session_->view().snapshot(), task.pod_index,
          session_->upstream_exact() ? &had_affinity_ : nullptr);
      if (!preferred.empty()) {
        for (size_t i = 0; i < nodes.size(); ++i)
          raw[i] = preferred.Score(nodes[i]->snapshot_index);
        fit::NormalizeByRange(raw);
        AddWeighted(raw, pod_affinity_, scores);
      }
    }
    return ScoreSpread(task, nodes, scores);
  }

  Scope BatchNodeOrderScope(const Task& task) const override {
    const model::PodSpec& spec = task.pod->spec;
    const bool compares = (node_affinity_ != 0 && spec.affinity && spec.affinity->node_affinity &&
                           !spec.affinity->node_affinity->preferred.empty()) ||
                          (taints_ != 0 && some_wish_) ||
                          (pod_affinity_ != 0 && some_prefer_pods_) ||
                          (spread_ != 0 && !spec.topology_spread_constraints.empty());
    return compares ? Scope::kAnything : Scope::kOwnNode;
  }

 private:
  struct Image {
    int64_t bytes;
    size_t nodes;  // that have it
  };

  void ReadImages() {
    std::map<std::string, std::pair<int64_t, std::set<uint32_t>>> all;
    const auto& entries = session_->input().nodes;
    bool any = false;
    for (uint32_t i = 0; i < entries.size(); ++i) any |= !entries[i].images.empty();
    if (!any) return;
    images_of_.resize(entries.size());
    for (uint32_t i = 0; i < entries.size(); ++i) {
      for (const NodeImage& image : entries[i].images) {
        for (const std::string& name : image.names) {
          auto& [bytes, nodes] =
              all.try_emplace(name, image.size_bytes, std::set<uint32_t>()).first->second;
          nodes.insert(i);
          // Upstream counts the nodes that it knew when this one came.
          images_of_[i].try_emplace(name, Image{bytes, nodes.size()});
        }
      }
    }
    if (session_->upstream_exact()) return;
    for (auto& on_node : images_of_) {
      for (auto& [name, image] : on_node) image.nodes = all.at(name).second.size();
    }
  }

  static void AddWeighted(std::span<const int64_t> raw, int weight, std::span<double> scores) {
    for (size_t i = 0; i < raw.size(); ++i) scores[i] += static_cast<double>(raw[i] * weight);
  }

  void ScoreResources(const Task& task, std::span<NodeInfo* const> nodes,
                      std::span<double> scores) {
    const KubeView& view = session_->view();
    const cluster::ResourceColumns& columns = view.snapshot().resources();
    const model::NonZeroRequests& scoring =
        session_->upstream_exact() ? task.IncomingScoring() : view.ScoringOf(task);
    const model::PodRequests& asked = view.snapshot().spec(task.pod_index).requests;
    const int64_t gpus = asked.Extended(kGpu);
    const bool balances =
        balanced_ != 0 && (asked.cpu_millis != 0 || asked.memory_bytes != 0 || gpus != 0);
    cluster::ResourceId gpu_column = columns.count();
    for (cluster::ResourceId id = 0; gpus != 0 && id < columns.count(); ++id) {
      if (columns.name(id) == kGpu) gpu_column = id;
    }
    const auto allocatable = [&](cluster::ResourceId id, cluster::NodeIndex n) {
      return columns.allocatable(id)[n];
    };
    const auto requested = [&](cluster::ResourceId id, cluster::NodeIndex n) {
      return columns.allocatable(id)[n] - columns.free(id)[n];
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      const cluster::NodeIndex n = nodes[i]->snapshot_index;
      const KubeView::Scoring& used = view.scoring(*nodes[i]);
      const int64_t cpu = allocatable(cluster::kCpuColumn, n);
      const int64_t memory = allocatable(cluster::kMemoryColumn, n);
      const std::array<fit::ScoredResource, 2> simple{{
          {used.cpu_millis + scoring.cpu_millis, cpu, 1},
          {used.memory_bytes + scoring.memory_bytes, memory, 1},
      }};
      if (least_ != 0) scores[i] += static_cast<double>(fit::LeastAllocatedScore(simple) * least_);
      if (most_ != 0) scores[i] += static_cast<double>(fit::MostAllocatedScore(simple) * most_);
      if (!balances) continue;
      const auto with = [&](cluster::ResourceId id, int64_t more) {
        const int64_t held = requested(id, n);
        return fit::ScoredResource{held + more, allocatable(id, n), 1, held};
      };
      std::array<fit::ScoredResource, 3> exact{with(cluster::kCpuColumn, asked.cpu_millis),
                                               with(cluster::kMemoryColumn, asked.memory_bytes)};
      if (gpu_column < columns.count()) exact[2] = with(gpu_column, gpus);
      scores[i] += static_cast<double>(fit::BalancedAllocationScore(exact) * balanced_);
    }
  }

  Status ScoreSpread(const Task& task, std::span<NodeInfo* const> nodes, std::span<double> scores) {
    if (spread_ == 0 || task.pod->spec.topology_spread_constraints.empty()) return Status::Ok();
    std::vector<cluster::NodeIndex> candidates;
    for (const NodeInfo* node : nodes) candidates.push_back(node->snapshot_index);
    const auto spread =
        TRY(fit::SoftSpread::Create(session_->view().snapshot(), task.pod_index, candidates));
    if (!spread.empty()) AddWeighted(spread.scores(), spread_, scores);
    return Status::Ok();
  }

  int least_ = 1;
  int most_ = 0;
  int node_affinity_ = 2;
  int pod_affinity_ = 2;
  int balanced_ = 1;
  int taints_ = 3;
  int images_ = 1;
  int spread_ = 2;
  Session* session_ = nullptr;
  bool some_prefer_pods_ = false;
  bool some_wish_ = false;
  fit::NodeSet had_affinity_;  // nodes with a pod that has affinity, when the session opened
  std::vector<std::map<std::string, Image>> images_of_;  // by NodeInfo::index; none at all: empty
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("nodeorder", FactoryOf<NodeOrderPlugin>()); }

}  // namespace coppice::batch::nodeorder
