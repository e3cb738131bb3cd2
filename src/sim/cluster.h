// Cluster: the API server of a model: nodes, pods and what else decisions read, with the truth
// about them and a list of who is told of changes.
//
// Pods begin, are bound, are told to end and are gone here; who decides any of that is elsewhere
// (scheduler.h, controllers.h, machines.h, api.h). When something has changed, everybody who may
// want to react is asked once at the same instant ("settling"), until nobody changes anything any
// more.
//
// One thread, that of the Agenda.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "cluster/world.h"
#include "sim/agenda.h"

namespace coppice::sim {

using cluster::NodePtr;
using cluster::PodPtr;

class Cluster {
 public:
  // A change as it travels to a view of the cluster.
  using Change = std::function<void(cluster::World&)>;
  using Watcher = std::function<void(const Change&)>;

  explicit Cluster(Agenda& agenda);

  Agenda& agenda() { return agenda_; }
  TimePoint Now() const { return agenda_.Now(); }
  // The truth. Read it, and try things on its snapshot; change it through the functions below.
  cluster::World& objects() { return objects_; }
  const cluster::World& objects() const { return objects_; }

  // Everything there is, as a first list would say it.
  void ListInto(cluster::World& world) const;
  // From now on; the answer is for Unwatch.
  int Watch(Watcher watcher);
  void Unwatch(int id);

  void UpsertNode(model::Node node);
  // And the pods on it, as the garbage collector does. One with finalizers is marked, and stays.
  void DeleteNode(const std::string& name);
  void RemoveNode(const std::string& name);  // finalizers or not
  template <class T>
  void Upsert(T object) {
    List<T>();
    const auto shared = std::make_shared<const T>(std::move(object));
    Publish([shared](cluster::World& world) { world.Upsert(shared); });
  }
  template <class T>
  void Erase(const std::string& namespace_, const std::string& name) {
    Publish([namespace_, name](cluster::World& world) { world.Erase<T>(namespace_, name); });
  }

  // Pending, or on its node if it names one. Fills in uid, time and phase.
  void CreatePod(model::Pod pod);
  void UpdatePod(model::Pod pod);
  void Bind(const model::Pod& pod, const std::string& node);
  // Tells the pod to end; it is gone when its grace or the time it needs is over, whichever is
  // shorter. Nothing happens to one that is ending already.
  void EndPod(const std::string& namespace_, const std::string& name, int64_t grace_seconds);
  void RemovePod(const std::string& namespace_, const std::string& name);

  // How long a pod takes to end when asked to, at most its grace; max: it never does. Set by
  // whoever knows.
  std::function<Duration(const model::Pod&)> time_to_end;
  // Pods that were bound; pods that begin to end or are gone, once each; nodes that change.
  std::function<void(const model::Pod&)> pod_bound;
  std::function<void(const model::Pod&)> pod_leaves;
  std::function<void(const std::string& node)> node_changed;

  // Who acts when something has changed; in this order. Each says whether it changed anything.
  void OnSettle(std::function<bool()> act) { acts_.push_back(std::move(act)); }
  void Touch();  // settle at this instant

 private:
  // From now on T is part of what a first list says.
  template <class T>
  void List() {
    const auto list = [](const cluster::World& from, cluster::World& to) {
      from.objects<T>().ForEach([&](const auto& object) { to.Upsert(object); });
    };
    lists_.try_emplace(std::type_index(typeid(T)), list);
  }
  void Publish(const Change& change);
  void Leaves(const model::Pod& pod);

  Agenda& agenda_;
  cluster::World objects_;
  using ListKind = std::function<void(const cluster::World& from, cluster::World& to)>;
  std::map<std::type_index, ListKind> lists_;  // each into a store of its own: any order will do
  std::map<int, Watcher> watchers_;
  int next_watcher_ = 0;
  std::vector<std::function<bool()>> acts_;
  bool settling_ = false;
  uint64_t next_uid_ = 0;
  uint64_t node_version_ = 0;
};

// Whether a node can run pods: what its Ready condition says.
bool IsReady(const model::Node& node);

}  // namespace coppice::sim
