// EngineRig: a small cluster for tests of the engine: objects by the rules of an API server, machines
// of a provider that behaves, kubelets that come up, and a scheduler that binds what fits. All on a
// fake clock; the engine's process can be killed at any moment and another one started. Long because
// it plays the API server, the kubelets, the scheduler and the process in one.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "cloud/fake_node_claims.h"
#include "cluster/stored_objects.h"
#include "model/resources.h"
#include "model/selector.h"
#include "model/taints.h"
#include "provision/engine.h"
#include "provision/pod_selection.h"
#include "wire/wire.h"

namespace coppice::provision {

class EngineRig : public cluster::Writer {
 public:
  using Json = nlohmann::json;
  static constexpr char kClass[] = "default";

  explicit EngineRig(EngineOptions engine_options = {}) : options(std::move(engine_options)) {
    objects.on_change = [this](const cluster::ObjectName& name, const std::string* json) {
      news_.emplace_back(name, json == nullptr ? std::nullopt : std::optional(*json));
      if (!lags) Deliver();
    };
    Start();
  }
  ~EngineRig() override { Kill(); }

  // ---- The cluster.

  FakeClock clock{TimePoint(std::chrono::seconds(1'768'478'400))};
  cloud::FakeNodeClaims cloud{clock};
  cluster::StoredObjects objects{clock};
  EngineOptions options;
  const fit::Chain* filters = nullptr;
  Workers* workers = nullptr;  // null: work is done at once; from the next start on
  cluster::WorldOptions view;  // of another engine on the same World; from the next start on
  Duration boot_time = std::chrono::seconds(30);
  bool lags = false;     // the World is told only by Deliver()
  bool kubelets = true;  // machines become nodes
  std::vector<model::Taint> boot_taints = {UnregisteredTaint()};  // of new nodes
  // From when somebody wants a new object to when it is there, and from when the World has been told
  // of it to when who made it is answered.
  Duration create_takes = Duration::zero();
  Duration create_answer_after = Duration::zero();
  bool cut_off = false;  // what is created is there, but nobody is answered
  bool schedules = true;
  bool replaces = true;                  // pods that are evicted come back as others
  std::set<std::string> protected_pods;  // a budget keeps them
  // Objects that the World is told of as ones that could not be read, by name.
  std::set<std::string> unreadable;
  std::vector<cluster::Event> events;
  std::vector<std::string> evicted;
  std::vector<std::string> deleted_pods;
  Duration view_age{};
  bool dry = false;  // what is written goes nowhere
  size_t pretended_claims = 0;
  // Asked before every write; not OK: the answer.
  std::function<Status(std::string_view what)> before_write;

  static model::Taint UnregisteredTaint() {
    model::Taint taint;
    taint.key = model::karpenter::kUnregisteredTaint;
    taint.effect = model::kNoExecute;
    return taint;
  }
  cluster::World& world() { return *process_->world; }
  Engine& engine() { return *process_->engine; }
  Executor& executor() { return *process_->executor; }
  TimePoint Now() const { return clock.Now(); }

  model::NodePool APool(const std::string& name) const {
    model::NodePool pool;
    pool.metadata.name = name;
    pool.spec.template_.spec.node_class_ref = {cloud::FakeNodeClaims::kGroup,
                                               cloud::FakeNodeClaims::kKind, kClass};
    model::FillDefaults(pool);
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "100%"}}};
    return pool;
  }
  void Put(const model::NodePool& pool) {
    Store({"karpenter.sh/v1", "nodepools", "", pool.metadata.name}, wire::ToJson(pool));
  }
  void AddPool(const std::string& name,
               const std::function<void(model::NodePool&)>& change = nullptr) {
    model::NodePool pool = APool(name);
    if (change) change(pool);
    Put(pool);
  }

  // Waits, and kube-scheduler has given up on it.
  model::Pod& AddPod(const std::string& name, int64_t cpu_millis,
                     const std::function<void(model::Pod&)>& change = nullptr) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = name;
    pod->metadata.uid = "pod-" + name;
    pod->metadata.creation_timestamp = model::Time{clock.Now()};
    pod->status.phase = "Pending";
    pod->status.conditions = {
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"}};
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    pod->spec.containers.push_back(std::move(container));
    if (change) change(*pod);
    pods_[name] = pod;
    Show(*pod);
    engine().PodWaits(*pod, clock.Now());
    return *pod;
  }
  void RemovePod(const std::string& name) {
    pods_.erase(name);
    world().DeletePod("default", name);
    engine().PodGone(clock.Now());
  }
  const model::Pod* FindPod(const std::string& name) const {
    const auto it = pods_.find(name);
    return it == pods_.end() ? nullptr : it->second.get();
  }
  size_t PodsWaiting() const {
    return static_cast<size_t>(std::ranges::count_if(
        pods_, [](const auto& entry) { return entry.second->spec.node_name.empty(); }));
  }

  std::vector<model::NodeClaim> Claims() const {
    return ListOf<model::NodeClaim>("karpenter.sh/v1", "nodeclaims");
  }
  std::vector<model::Node> Nodes() const { return ListOf<model::Node>("v1", "nodes"); }
  model::NodePool Pool(const std::string& name) const {
    for (auto& pool : ListOf<model::NodePool>("karpenter.sh/v1", "nodepools")) {
      if (pool.metadata.name == name) return pool;
    }
    return {};
  }
  std::vector<model::NodeClaim> Machines() { return *cloud.List(Deadline::Never()); }
  void Patch(const cluster::ObjectName& name, const Json& patch) {
    Ignore(objects.UpdateObject(name, patch.dump()));
  }
  void DeletePool(const std::string& name) {
    Ignore(objects.DeleteObject({"karpenter.sh/v1", "nodepools", "", name}));
  }
  void DeleteClaim(const std::string& name) {
    cluster::ObjectName object{"karpenter.sh/v1", "nodeclaims", "", name};
    Ignore(objects.DeleteObject(object));
  }
  // From now on they cannot be read, or can again; the World is told at once.
  void SetUnreadable(std::set<std::string> names) {
    unreadable = std::move(names);
    for (const char* kind : {"nodepools", "nodeclaims"}) {
      for (const std::string& json : objects.List("karpenter.sh/v1", kind))
        Tell(kind, NameIn(json), &json);
    }
    for (const std::string& json : objects.List("v1", "nodes")) Tell("nodes", NameIn(json), &json);
    for (const auto& [name, pod] : pods_) Show(*pod);
    engine().ObjectsChanged(clock.Now());
  }
  size_t CountEvents(std::string_view reason) const {
    return static_cast<size_t>(std::ranges::count(events, reason, &cluster::Event::reason));
  }
  std::string EventText(std::string_view reason) const {
    const auto it = std::ranges::find(events, reason, &cluster::Event::reason);
    return it == events.end() ? "" : it->text;
  }

  // ---- Time.

  // Engine, kubelets and scheduler, until then.
  void RunFor(Duration duration) {
    const TimePoint end = clock.Now() + duration;
    while (clock.Now() < end) {
      Live();
      Turn();
      TimePoint next = std::min(end, clock.Now() + std::chrono::seconds(1));
      next = std::min(next, std::max(engine().Due(), clock.Now() + std::chrono::milliseconds(1)));
      executor().RunUntil(next);
      if (clock.Now() < next) clock.Advance(next - clock.Now());
    }
    Live();
    Turn();
  }
  bool RunUntil(const std::function<bool()>& done, Duration longest) {
    const TimePoint end = clock.Now() + longest;
    while (!done() && clock.Now() < end) RunFor(std::chrono::seconds(1));
    return done();
  }
  // One pass if it is due.
  void Turn() {
    Deliver();
    if (engine().Due() > clock.Now()) return;
    ++passes;
    last_report = executor().BlockOn(engine().Pass(clock.Now()));
    executor().RunUntilIdle();
  }
  std::shared_ptr<const report::ProvisionReport> last_report;
  size_t passes = 0;

  // The process dies with everything under way, and another one starts.
  void Restart() {
    Kill();
    Start();
  }
  void Kill() { process_.reset(); }
  void Start() {
    process_ = std::make_unique<Process>();
    process_->world = std::make_unique<cluster::World>(view);
    process_->executor = std::make_unique<Executor>(clock);
    news_.clear();
    for (const char* kind : {"nodepools", "nodeclaims"}) {
      for (const std::string& json : objects.List("karpenter.sh/v1", kind))
        Tell(kind, NameIn(json), &json);
    }
    for (const std::string& json : objects.List("v1", "nodes")) Tell("nodes", NameIn(json), &json);
    for (const auto& [name, pod] : pods_) Show(*pod);
    EngineParts parts{.options = options,
                      .world = *process_->world,
                      .writer = *this,
                      .claims = cloud,
                      .executor = *process_->executor,
                      .workers = workers != nullptr ? *workers : own_workers_,
                      .rng = rng_,
                      .log = log_,
                      .metrics = metrics,
                      .metric_sources = &metric_sources,
                      .filters = filters,
                      .view_age = [this] { return view_age; },
                      .oldest_kind = [] { return "Pod"; },
                      .foreign_classes = [this] { return Classes(); }};
    process_->engine = std::make_unique<Engine>(std::move(parts));
  }
  Metrics metrics;
  MetricSources metric_sources;

  // What the World is told later.
  void Deliver() {
    auto news = std::exchange(news_, {});
    for (const auto& [name, json] : news) Tell(name.resource, name.name, json ? &*json : nullptr);
    if (!news.empty() && process_ != nullptr && process_->engine != nullptr)
      process_->engine->ObjectsChanged(clock.Now());
  }

  // Kubelets, the cloud's failures, the scheduler.
  void Live() {
    if (kubelets) ComeUp();
    if (schedules) Schedule();
  }

  // ---- Writer.

  bool pretends() const override { return dry; }
  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override {
    const Status may = May("node");
    if (!may.ok() || dry) co_return may;
    cluster::ObjectName name{"v1", "nodes", "", node};
    const auto json = co_await objects.ObjectNow(name);
    if (!json.ok()) co_return json.status();
    model::Node now = *wire::FromJson<model::Node>(*json);
    auto& taints = now.spec.taints;
    for (const std::string& key : change.remove_taints)
      std::erase_if(taints, [&](const model::Taint& taint) { return taint.key == key; });
    for (const model::Taint& taint : change.add_taints) {
      std::erase_if(taints, [&](const model::Taint& t) { return model::SameTaint(t, taint); });
      taints.push_back(taint);
    }
    Json patch;
    patch["spec"]["taints"] = Json::array();
    const Json whole = Json::parse(wire::ToJson(now));
    if (whole.at("spec").contains("taints")) patch["spec"]["taints"] = whole["spec"]["taints"];
    co_return (co_await objects.UpdateObject(name, patch.dump())).status();
  }
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override {
    cluster::ObjectName name{"v1", "nodes", "", node};
    const auto json = co_await objects.ObjectNow(name);
    if (!json.ok()) co_return json.status();
    co_return std::make_shared<const model::Node>(*wire::FromJson<model::Node>(*json));
  }
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override {
    std::vector<cluster::LivePod> pods;
    for (const auto& [name, pod] : pods_) {
      if (pod->spec.node_name == node) pods.push_back(pod);
    }
    co_return pods;
  }
  Task<Status> Evict(cluster::PodName pod, int64_t) override {
    const Status may = May("evict");
    if (!may.ok()) co_return may;
    if (!pods_.contains(pod.name)) co_return NotFound("gone");
    if (protected_pods.contains(pod.name)) co_return ResourceExhausted("a budget keeps it");
    evicted.push_back(pod.name);
    Leave(pod.name);
    co_return Status::Ok();
  }
  Task<Status> DeletePod(cluster::PodName pod, int64_t) override {
    if (!pods_.contains(pod.name)) co_return NotFound("gone");
    deleted_pods.push_back(pod.name);
    Leave(pod.name);
    co_return Status::Ok();
  }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override {
    const auto it = pods_.find(pod.name);
    if (it == pods_.end()) co_return std::optional<std::string>();
    co_return std::optional<std::string>(it->second->spec.node_name);
  }
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override {
    const Status may = May("create");
    if (!may.ok()) co_return may;
    if (dry) {
      Json made = Json::parse(json);
      made["metadata"]["uid"] = "dry-run-" + std::to_string(++pretended_claims);
      co_return made.dump();
    }
    if (create_takes > Duration::zero()) co_await executor().Sleep(create_takes);
    auto made = co_await objects.CreateObject(std::move(object), std::move(json));
    if (cut_off) co_return Unavailable("cut off");
    if (create_answer_after > Duration::zero()) co_await executor().Sleep(create_answer_after);
    co_return made;
  }
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override {
    const Status may = May("update");
    if (!may.ok()) co_return may;
    if (dry) co_return co_await objects.ObjectNow(std::move(object));
    co_return co_await objects.UpdateObject(std::move(object), std::move(patch));
  }
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override {
    const Status may = May("status");
    if (!may.ok()) co_return may;
    if (dry) co_return co_await objects.ObjectNow(std::move(object));
    co_return co_await objects.UpdateStatus(std::move(object), std::move(patch));
  }
  Task<Status> ChangeFinalizers(cluster::ObjectName object,
                                cluster::FinalizerChange change) override {
    const Status may = May("finalizers");
    if (!may.ok() || dry) co_return may;
    co_return co_await objects.ChangeFinalizers(std::move(object), std::move(change));
  }
  Task<Status> DeleteObject(cluster::ObjectName object) override {
    const Status may = May("delete");
    if (!may.ok() || dry) co_return may;
    co_return co_await objects.DeleteObject(std::move(object));
  }
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override {
    if (cut_off) co_return Unavailable("cut off");
    co_return co_await objects.ObjectNow(std::move(object));
  }
  void Emit(cluster::Event event) override { events.push_back(std::move(event)); }

 private:
  struct Process {
    std::unique_ptr<cluster::World> world;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Executor> executor;  // goes first
  };

  std::vector<cloud::NodeClassInput> Classes() const {
    cloud::NodeClassInput input;
    input.kind = {cloud::FakeNodeClaims::kGroup, "v1", cloud::FakeNodeClaims::kKind};
    input.node_class.metadata.name = kClass;
    input.node_class = *AsRead(std::move(input.node_class));
    return {input};
  }
  static std::string NameIn(const std::string& json) {
    return Json::parse(json).at("metadata").at("name").get<std::string>();
  }
  Status May(std::string_view what) { return before_write ? before_write(what) : Status::Ok(); }
  template <class T>
  static T Run(Task<T> task) {
    FakeClock clock;
    Executor executor(clock);
    return executor.BlockOn(std::move(task));
  }
  template <class T>
  static void Ignore(Task<T> task) {
    const T result = Run(std::move(task));
    (void)result;
  }
  template <class T>
  std::vector<T> ListOf(std::string_view version, std::string_view resource) const {
    std::vector<T> all;
    for (const std::string& json : objects.List(version, resource))
      all.push_back(*wire::FromJson<T>(json));
    return all;
  }
  void Store(cluster::ObjectName name, const std::string& json) {
    if (!Run(objects.CreateObject(name, json)).ok()) Ignore(objects.UpdateObject(name, json));
  }
  template <class T>
  std::shared_ptr<const T> AsRead(T object) const {
    if (unreadable.contains(object.metadata.name))
      object.metadata.unreadable = model::Unreadable{.what = "spec: odd", .reason = "malformed"};
    return std::make_shared<const T>(std::move(object));
  }
  void Show(const model::Pod& pod) {
    if (process_ != nullptr) world().UpsertPod(AsRead(pod));
  }
  void Tell(const std::string& resource, const std::string& name, const std::string* json) {
    if (process_ == nullptr) return;
    if (resource == "nodeclaims") TellAs<model::NodeClaim>(name, json);
    if (resource == "nodepools") TellAs<model::NodePool>(name, json);
    if (resource != "nodes") return;
    if (json == nullptr) return world().DeleteNode(name);
    world().UpsertNode(AsRead(*wire::FromJson<model::Node>(*json)));
  }
  template <class T>
  void TellAs(const std::string& name, const std::string* json) {
    if (json == nullptr) return world().Erase<T>("", name);
    world().Upsert<T>(AsRead(*wire::FromJson<T>(*json)));
  }

  void Leave(const std::string& name) {
    model::Pod again = *pods_.at(name);
    pods_.erase(name);
    if (process_ != nullptr) world().DeletePod("default", name);
    if (!replaces) return;
    AddPod(name + "r", 0, [&](model::Pod& pod) {
      pod.spec = again.spec;
      pod.spec.node_name.clear();
      pod.metadata.labels = again.metadata.labels;
      pod.metadata.annotations = again.metadata.annotations;
    });
  }

  void ComeUp() {
    std::set<std::string> alive;
    std::map<std::string, std::string> known;  // provider id: node
    for (const model::Node& node : Nodes()) known[node.spec.provider_id] = node.metadata.name;
    for (const model::NodeClaim& machine : Machines()) {
      const std::string& id = machine.status.provider_id;
      alive.insert(id);
      if (known.contains(id) || made_.contains(id)) continue;
      if (clock.Now() < machine.metadata.creation_timestamp->at + boot_time) continue;
      made_.insert(id);
      model::Node node;
      node.metadata.name = "node-" + id.substr(id.rfind('/') + 1);
      node.metadata.labels = machine.metadata.labels;
      node.metadata.labels[model::kHostnameLabel] = node.metadata.name;
      node.spec.provider_id = id;
      node.spec.taints = boot_taints;
      node.status.capacity = machine.status.capacity;
      node.status.allocatable = machine.status.allocatable;
      node.status.conditions = {
          {.type = "Ready", .status = "True", .last_transition_time = model::Time{clock.Now()}}};
      cluster::ObjectName name{"v1", "nodes", "", node.metadata.name};
      Ignore(objects.CreateObject(name, wire::ToJson(node)));
      Ignore(objects.UpdateStatus(name, wire::ToJson(node)));
    }
    for (const model::Node& node : Nodes()) {
      if (alive.contains(node.spec.provider_id)) continue;
      const bool ready = node.status.conditions[0].status == "True";
      if (ready) SetReady(node.metadata.name, "Unknown");
      // As a cloud controller does with Nodes whose machine is gone.
      if (!ready && clock.Now() > node.status.conditions[0].last_transition_time->at +
                                      std::chrono::minutes(5))
        Ignore(objects.DeleteObject({"v1", "nodes", "", node.metadata.name}));
    }
  }

 public:
  void SetReady(const std::string& name, const std::string& status) {
    for (model::Node& node : ListOf<model::Node>("v1", "nodes")) {
      if (node.metadata.name != name) continue;
      node.status.conditions[0].status = status;
      node.status.conditions[0].last_transition_time = model::Time{clock.Now()};
      PutStatus(node);
    }
  }
  void PutStatus(const model::Node& node) {
    Ignore(objects.UpdateStatus({"v1", "nodes", "", node.metadata.name}, wire::ToJson(node)));
  }

 private:
  void Schedule() {
    std::map<std::string, int64_t> used;
    for (const auto& [name, pod] : pods_)
      used[pod->spec.node_name] += model::IncomingRequests(*pod).cpu_millis;
    const auto nodes = Nodes();
    for (auto& [name, pod] : pods_) {
      if (!pod->spec.node_name.empty()) continue;
      const int64_t wants = model::IncomingRequests(*pod).cpu_millis;
      for (const model::Node& node : nodes) {
        if (node.status.conditions[0].status != "True" || node.metadata.deletion_timestamp)
          continue;
        if (model::FirstUntolerated(node.spec.taints, pod->spec.tolerations) != nullptr) continue;
        bool selected = true;
        for (const auto& [key, value] : pod->spec.node_selector) {
          const std::string* has = node.metadata.labels.Find(key);
          selected = selected && has != nullptr && *has == value;
        }
        const int64_t room = node.status.allocatable.Find("cpu")->MilliValue();
        if (!selected || used[node.metadata.name] + wants > room) continue;
        used[node.metadata.name] += wants;
        auto bound = std::make_shared<model::Pod>(*pod);
        bound->spec.node_name = node.metadata.name;
        bound->status.phase = "Running";
        bound->status.start_time = model::Time{clock.Now()};
        const model::Time at{clock.Now()};
        bound->status.conditions = {
            {.type = "PodScheduled", .status = "True", .last_transition_time = at},
            {.type = "Ready", .status = "True", .last_transition_time = at}};
        pod = bound;
        Show(*pod);
        break;
      }
    }
  }

  InlineWorkers own_workers_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  std::map<std::string, std::shared_ptr<model::Pod>> pods_;
  std::set<std::string> made_;  // provider ids that have had a node
  std::vector<std::pair<cluster::ObjectName, std::optional<std::string>>> news_;
  std::unique_ptr<Process> process_;
};

}  // namespace coppice::provision
