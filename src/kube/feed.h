// ClusterFeed: every kind that decisions read, from the API server into the World.
//
// One reflector per kind. What is required for any decision (nodes, pods, what drains look at) has
// to be readable; the rest counts as empty where our rights do not reach.
//
// Decision thread, but for what says otherwise.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/world.h"
#include "kube/reflector.h"

namespace coppice::kube {

struct FeedOptions {
  // The one ConfigMap that is watched (the priority expander's), in that namespace; empty: none.
  std::string config_map_namespace;
  std::string config_map_name;
  bool stream_first = true;
};

class ClusterFeed {
 public:
  ClusterFeed(FeedOptions options, cluster::World& world, Client& client, const Log& log);

  // Starts reading; call once.
  void Start();
  // Until every kind has been seen whole, or `deadline`; then the failure names what is missing.
  Task<Status> WaitUntilSynced(Deadline deadline);
  bool synced() const;
  std::string Missing() const;  // the kinds that have not been seen yet, and why

  // How old the view of nodes and pods may be, and which of the two it is; zero when they were
  // heard of just now.
  Duration view_age() const;
  const std::string& oldest_kind() const;

  // Any thread. Of each kind that we may see: when it was last read, and whether it ever was.
  struct KindAge {
    std::string kind;
    bool synced = false;
    TimePoint heard;  // of one that has not been read yet: the start
    Duration age{};
  };
  std::vector<KindAge> Ages() const;
  // Any thread. "" if every kind that has been read once was read within `limit`; else which not,
  // and since when: "Pod has not been read since 2026-01-02T03:04:05Z (4m10s ago)".
  std::string StaleKinds(Duration limit) const;

  // What is there and could not be read.
  struct UnreadableObject {
    std::string kind;
    std::string name;  // namespace/name, or /name; "" if not even that is known
    model::Unreadable why;
  };
  std::vector<UnreadableObject> Unreadable() const;

  // A pod without a node was marked unschedulable, or is new. Decision thread.
  std::function<void(const model::Pod& pod)> on_pending;
  // A node came, went or changed its readiness.
  std::function<void()> on_nodes;
  // A pod went, or has ended.
  std::function<void()> on_pod_gone;

  const std::vector<std::unique_ptr<Reflector>>& reflectors() const { return reflectors_; }

 private:
  template <class T>
  Reflector& Add(bool optional, std::function<void(std::shared_ptr<const T>)> upsert,
                 Reflector::Remove remove, std::string path = "", std::string field_selector = "");
  template <class T>
  void AddFact(cluster::ObjectTable<T>& table);
  template <class T>
  void AddObjects(cluster::OrderedObjects<T>& objects, cluster::ObjectTable<T>* table = nullptr,
                  bool optional = false);

  FeedOptions options_;
  cluster::World& world_;
  Client& client_;
  const Log& log_;
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  Reflector* nodes_ = nullptr;
  Reflector* pods_ = nullptr;
};

}  // namespace coppice::kube
