// BatchCluster: an API server, a kubelet and a batch engine on a fake clock. What is written is true
// at once and is seen a moment later, as with a watch.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fake_clock.h"
#include "base/rng.h"
#include "batch/ended_pod.h"
#include "batch/engine.h"
#include "cluster/stored_objects.h"
#include "wire/wire.h"

namespace coppice::test {

// Generated: all plug-ins of these two kinds.
void RegisterBatchPlugins(batch::PluginRegistry& batch, fit::FilterRegistry& filters);

struct BatchPlugins {
  batch::PluginRegistry batch;
  fit::FilterRegistry filters{"filter"};
  BatchPlugins() { RegisterBatchPlugins(batch, filters); }
};
inline BatchPlugins& TheBatchPlugins() {
  static BatchPlugins plugins;
  return plugins;
}

class BatchCluster final : public cluster::Writer {
 public:
  BatchCluster() : objects(clock) {
    objects.on_change = [this](const cluster::ObjectName& object, const std::string* json) {
      if (object.resource == "podgroups") Show<model::PodGroup>(object, json);
      if (object.resource == "queues") Show<model::Queue>(object, json);
    };
  }

  FakeClock clock;
  SeededRng rng{1};
  Log log = Log::Null();
  std::unique_ptr<cluster::World> seen = std::make_unique<cluster::World>();  // by the process
  cluster::StoredObjects objects;
  Duration watch_delay = std::chrono::milliseconds(5);
  Duration start_delay = std::chrono::seconds(1);  // of a bound pod
  std::map<std::string, model::Pod> pods;          // the truth, by "ns/name"
  std::vector<std::string> bindings;               // "pod -> node", those that happened
  std::vector<std::string> deleted;
  std::vector<cluster::Event> events;
  std::function<Status(const cluster::PodName&)> before_bind;
  bool answer_of_bind_is_lost = false;  // it happens, and nobody hears
  bool away = false;                    // the API server
  std::string stale;                    // why the view is too old

  // ---- What there is.

  void Node(const std::string& name, const std::string& cpu, const std::string& pod_count = "110",
            model::Labels labels = {}) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.uid = "uid-" + name;
    node->metadata.labels = std::move(labels);
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->status.allocatable["cpu"] = Amount(cpu);
    node->status.allocatable["memory"] = Amount("64Gi");
    node->status.allocatable["pods"] = Amount(pod_count);
    node->status.capacity = node->status.allocatable;
    nodes_.push_back(node);
    seen->UpsertNode(std::move(node));
  }
  void Queue(const std::string& name, int32_t weight = 1) {
    Create({"scheduling.volcano.sh/v1beta1", "queues", "", name},
           R"({"kind":"Queue","spec":{"reclaimable":true,"weight":)" + std::to_string(weight) +
               R"(},"status":{"state":"Open"}})");
  }
  // As JSON, "{...}", what groups made from now on ask of the network.
  std::string network_topology;

  void Group(const std::string& name, int32_t min_member, const std::string& queue = "default",
             const std::string& min_cpu = "", const std::string& priority_class = "") {
    const std::string min_resources =
        min_cpu.empty() ? "" : R"(,"minResources":{"cpu":")" + min_cpu + R"("})";
    Create({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", name},
           R"({"kind":"PodGroup","spec":{"minMember":)" + std::to_string(min_member) +
               R"(,"queue":")" + queue + R"(","priorityClassName":")" + priority_class + "\"" +
               min_resources +
               (network_topology.empty() ? "" : R"(,"networkTopology":)" + network_topology) +
               "}}");
  }
  void Pod(const std::string& name, const std::string& group, const std::string& cpu,
           int32_t priority = 0) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "ns";
    pod.metadata.uid = "uid-" + name + "-" + std::to_string(++uids_);
    pod.metadata.creation_timestamp = model::Time{clock.Now()};
    pod.metadata.annotations["scheduling.k8s.io/group-name"] = group;
    pod.metadata.annotations["volcano.sh/task-spec"] = "w";
    pod.spec.scheduler_name = "volcano";
    pod.spec.priority = priority;
    model::Container container{.name = "c", .image = "img"};
    if (!cpu.empty()) container.resources.requests["cpu"] = Amount(cpu);
    pod.spec.containers.push_back(std::move(container));
    pod.status.phase = "Pending";
    PutPod(std::move(pod));
  }
  void Gang(const std::string& name, int size, const std::string& cpu,
            const std::string& queue = "default", int32_t min_member = -1) {
    Group(name, min_member < 0 ? size : min_member, queue);
    for (int i = 0; i < size; ++i) Pod(name + "-w-" + std::to_string(i), name, cpu);
  }

  void PutPod(model::Pod pod) {
    const std::string key = pod.metadata.namespace_ + "/" + pod.metadata.name;
    pod.metadata.resource_version = std::to_string(++version_);
    pods[key] = pod;
    Later([this, shared = std::make_shared<const model::Pod>(std::move(pod))] {
      seen->UpsertPod(shared);
      News();
    });
  }
  void RemovePod(const std::string& key) {
    pods.erase(key);
    Later([this, key] {
      seen->DeletePod(key.substr(0, key.find('/')), key.substr(key.find('/') + 1));
      News();
    });
  }

  // ---- The engine.

  void Start(std::string_view conf_text, batch::EngineOptions options = {},
             Workers* workers = nullptr) {
    conf_ =
        std::make_unique<batch::ConfFile>("", [](const batch::Conf&) { return Status::Ok(); }, log);
    CHECK(conf_->Open(true).ok());
    conf_->Use(batch::ParseConf(conf_text).value());
    door_ = std::make_unique<Door>(*this);
    engine =
        std::make_unique<batch::Engine>(batch::Engine::Parts{.options = options,
                                                             .world = *seen,
                                                             .writer = *door_,
                                                             .executor = executor,
                                                             .workers = workers,
                                                             .rng = rng,
                                                             .plugins = TheBatchPlugins().batch,
                                                             .filters = TheBatchPlugins().filters,
                                                             .conf = *conf_,
                                                             .log = log,
                                                             .waiting = waiting,
                                                             .stale = [this] { return stale; }});
    executor.Spawn(Loop(engine.get()));
  }
  // The process is gone, and with it all that it knew; what was on its way to the server arrives.
  // Whoever starts next sees what is true.
  void Kill() {
    door_->closed = true;
    graves_.push_back({std::move(seen), std::move(conf_), std::move(door_), std::move(engine)});
    seen = std::make_unique<cluster::World>();
    for (const auto& node : nodes_) seen->UpsertNode(node);
    for (const auto& [key, pod] : pods) seen->UpsertPod(std::make_shared<const model::Pod>(pod));
    for (const std::string& json : objects.List("scheduling.volcano.sh/v1beta1", "podgroups"))
      seen->Upsert(
          std::make_shared<const model::PodGroup>(wire::FromJson<model::PodGroup>(json).value()));
    for (const std::string& json : objects.List("scheduling.volcano.sh/v1beta1", "queues"))
      seen->Upsert(
          std::make_shared<const model::Queue>(wire::FromJson<model::Queue>(json).value()));
  }
  void Run(Duration duration) { executor.RunFor(duration); }

  batch::WaitingJobs* waiting = nullptr;
  std::vector<std::shared_ptr<const report::SessionReport>> reports;
  std::unique_ptr<batch::Engine> engine;

  // ---- What is true.

  std::string NodeOf(const std::string& pod) const {
    const auto found = pods.find("ns/" + pod);
    return found == pods.end() ? "gone" : found->second.spec.node_name;
  }
  int Bound(const std::string& group) const {
    int bound = 0;
    for (const auto& [key, pod] : pods) {
      bound += !pod.spec.node_name.empty() &&
               *pod.metadata.annotations.Find("scheduling.k8s.io/group-name") == group;
    }
    return bound;
  }
  std::string PhaseOf(const std::string& group) {
    const auto json = executor.BlockOn(
        objects.ObjectNow({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", group}));
    return json.ok() ? wire::FromJson<model::PodGroup>(*json)->status.phase : "none";
  }

  // ---- Writer.

  Task<Status> ChangeNode(std::string name, cluster::NodeChange change) override {
    if (away) co_return Unavailable("away");
    for (cluster::NodePtr& node : nodes_) {
      if (node->metadata.name != name) continue;
      auto changed = std::make_shared<model::Node>(*node);
      std::erase_if(changed->spec.taints, [&](const model::Taint& taint) {
        return std::ranges::find(change.remove_taints, taint.key) != change.remove_taints.end();
      });
      for (const model::Taint& taint : change.add_taints) changed->spec.taints.push_back(taint);
      node = changed;
      Later([this, changed] {
        seen->UpsertNode(changed);
        News();
      });
      co_return Status::Ok();
    }
    co_return NotFound("there is no node " + name);
  }
  Task<Status> Evict(cluster::PodName pod, int64_t grace) override {
    return DeletePod(std::move(pod), grace);
  }
  Task<Status> DeletePod(cluster::PodName name, int64_t) override {
    if (away) co_return Unavailable("away");
    model::Pod* pod = Find(name);
    if (pod == nullptr) co_return NotFound("gone");
    deleted.push_back(name.name);
    RemovePod(name.namespace_ + "/" + name.name);
    co_return Status::Ok();
  }
  Task<Status> Bind(cluster::PodName name, std::string node, Annotations annotations) override {
    co_await executor.Sleep(std::chrono::milliseconds(1));
    if (away) co_return Unavailable("away");
    if (before_bind) {
      Status refused = before_bind(name);
      if (!refused.ok()) co_return refused;
    }
    model::Pod* pod = Find(name);
    if (pod == nullptr) co_return NotFound("gone");
    if (pod->spec.node_name == node) co_return Status::Ok();
    if (!pod->spec.node_name.empty()) co_return Status(Code::kAborted, "on another node");
    model::Pod bound = *pod;
    bound.spec.node_name = node;
    for (auto& [key, value] : annotations) bound.metadata.annotations[key] = std::move(value);
    bindings.push_back(name.name + " -> " + node);
    PutPod(bound);
    executor.Spawn(Starts(bound.metadata.namespace_ + "/" + bound.metadata.name));
    if (answer_of_bind_is_lost) co_return DeadlineExceeded("no answer");
    co_return Status::Ok();
  }
  Task<Status> ChangePodStatus(cluster::PodName name, cluster::PodStatusChange change) override {
    if (away) co_return Unavailable("away");
    model::Pod* pod = Find(name);
    if (pod == nullptr) co_return NotFound("gone");
    model::Pod changed = *pod;
    for (const model::PodCondition& condition : change.conditions) {
      std::erase_if(changed.status.conditions,
                    [&](const auto& other) { return other.type == condition.type; });
      changed.status.conditions.push_back(condition);
    }
    if (!change.nominated_node.empty()) changed.status.nominated_node_name = change.nominated_node;
    PutPod(std::move(changed));
    co_return Status::Ok();
  }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName name) override {
    const model::Pod* pod = Find(name);
    co_return pod == nullptr ? std::optional<std::string>() : pod->spec.node_name;
  }
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override {
    if (away) co_return Unavailable("away");
    co_return co_await objects.CreateObject(std::move(object), std::move(json));
  }
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override {
    if (away) co_return Unavailable("away");
    co_return co_await objects.UpdateObject(std::move(object), std::move(patch));
  }
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override {
    if (away) co_return Unavailable("away");
    co_return co_await objects.UpdateStatus(std::move(object), std::move(patch));
  }
  Task<Status> DeleteObject(cluster::ObjectName object) override {
    return objects.DeleteObject(std::move(object));
  }
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override {
    return objects.ObjectNow(std::move(object));
  }
  void Emit(cluster::Event event) override { events.push_back(std::move(event)); }

  // A status comes along, as if somebody had written it at once.
  void Create(const cluster::ObjectName& object, const std::string& json) {
    CHECK(executor.BlockOn(objects.CreateObject(object, json)).ok());
    if (json.find("\"status\"") != std::string::npos)
      CHECK(executor.BlockOn(objects.UpdateStatus(object, json)).ok());
  }
  static model::Quantity Amount(const std::string& text) {
    return model::Quantity::Parse(text).value();
  }

 private:
  // What one process has of the API server.
  class Door final : public cluster::Writer {
   public:
    explicit Door(cluster::Writer& server) : server_(server) {}
    bool closed = false;
    Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.ChangeNode(std::move(node), std::move(change));
    }
    Task<Status> Evict(cluster::PodName pod, int64_t grace) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.Evict(std::move(pod), grace);
    }
    Task<Status> DeletePod(cluster::PodName pod, int64_t grace) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.DeletePod(std::move(pod), grace);
    }
    Task<Status> Bind(cluster::PodName pod, std::string node, Annotations a) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.Bind(std::move(pod), std::move(node), std::move(a));
    }
    Task<Status> ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.ChangePodStatus(std::move(pod), std::move(change));
    }
    Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override {
      return server_.WhereIs(std::move(pod));
    }
    Task<Result<std::string>> CreateObject(cluster::ObjectName o, std::string json) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.CreateObject(std::move(o), std::move(json));
    }
    Task<Result<std::string>> UpdateObject(cluster::ObjectName o, std::string patch) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.UpdateObject(std::move(o), std::move(patch));
    }
    Task<Result<std::string>> UpdateStatus(cluster::ObjectName o, std::string patch) override {
      if (closed) co_return Unavailable("this process has ended");
      co_return co_await server_.UpdateStatus(std::move(o), std::move(patch));
    }
    void Emit(cluster::Event event) override {
      if (!closed) server_.Emit(std::move(event));
    }

   private:
    cluster::Writer& server_;
  };
  struct Grave {  // frames of its tasks refer to it
    std::unique_ptr<cluster::World> world;
    std::unique_ptr<batch::ConfFile> conf;
    std::unique_ptr<Door> door;
    std::unique_ptr<batch::Engine> engine;
  };

  void Later(std::function<void()> then) { executor.Spawn(After(watch_delay, std::move(then))); }
  Task<void> After(Duration delay, std::function<void()> then) {
    co_await executor.Sleep(delay);
    then();
  }
  Task<void> Starts(std::string key) {
    co_await executor.Sleep(start_delay);
    const auto pod = pods.find(key);
    if (pod == pods.end() || pod->second.status.phase != "Pending") co_return;
    model::Pod running = pod->second;
    running.status.phase = "Running";
    PutPod(std::move(running));
  }
  Task<void> Loop(batch::Engine* mine) {
    while (engine.get() == mine) {
      const TimePoint now = clock.Now();
      if (mine->Due() <= now) {
        reports.push_back(co_await mine->Pass(now));
      } else {
        co_await executor.SleepUntil(std::min(mine->Due(), now + std::chrono::milliseconds(5)));
      }
    }
  }
  void News() {
    if (engine != nullptr) engine->Changed(clock.Now());
  }
  template <class T>
  void Show(const cluster::ObjectName& object, const std::string* json) {
    std::shared_ptr<const T> shown;
    if (json != nullptr) shown = std::make_shared<const T>(wire::FromJson<T>(*json).value());
    Later([this, object, shown] {
      if (shown != nullptr) {
        seen->Upsert<T>(shown);
      } else {
        seen->Erase<T>(object.namespace_, object.name);
      }
      News();
    });
  }
  model::Pod* Find(const cluster::PodName& name) {
    const auto found = pods.find(name.namespace_ + "/" + name.name);
    if (found == pods.end()) return nullptr;
    return name.uid.empty() || found->second.metadata.uid == name.uid ? &found->second : nullptr;
  }

  std::vector<cluster::NodePtr> nodes_;
  std::vector<Grave> graves_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<batch::ConfFile> conf_;
  uint64_t version_ = 0;
  uint64_t uids_ = 0;

 public:
  Executor executor{clock};  // goes first
};

}  // namespace coppice::test
