// ClusterFeed: every kind that decisions read, from the API server into the World.
//
// One reflector per kind. What is required for any decision (nodes, pods, what drains look at) has
// to be readable; the rest counts as empty where our rights do not reach.
//
// The kinds of the World are there from the start. An engine that reads more adds its own, each
// into a store of its own: kinds that `wire` knows by their type, custom resources with a codec
// (custom_codec.h). One that the server does not know counts as empty until it is installed.
//
// Decision thread, but for what says otherwise.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/world.h"
#include "kube/custom_codec.h"
#include "kube/reflector.h"

namespace coppice::kube {

struct FeedOptions {
  // The one ConfigMap that is watched (the priority expander's), in that namespace; empty: none.
  std::string config_map_namespace;
  std::string config_map_name;
  bool stream_first = true;
  // Prefixes of annotations with which a node, or a pod on one, says whether it may go: a change of
  // one of them, or of a node's labels, is news. No others are: some change every few seconds.
  // Unset: no annotation and no label is.
  std::optional<std::vector<std::string>> telling_annotations = std::nullopt;
  // How soon a kind that the server does not know is looked for again; unset: as reflectors do.
  std::optional<BackoffOptions> absent_backoff = std::nullopt;
};

// Where the objects of one kind go. Decision thread.
template <class T>
struct KindSink {
  std::function<void(std::shared_ptr<const T> object)> upsert;  // new, or another version
  Reflector::Remove remove;
  Reflector::Changed changed = nullptr;  // after a batch of both
};

// A store is whatever takes objects and lets them go: cluster::ObjectStore, or an engine's own.
template <class Store, class T>
concept ObjectStore = requires(Store& store, std::shared_ptr<const T> object, std::string_view s) {
  store.Upsert(object);
  store.Erase(s, s);
};

struct KindOptions {
  bool optional = true;   // counts as empty where it cannot be seen or is not installed
  std::string path = {};  // instead of the kind's own: one namespace only
  std::string field_selector = {};
  // What it is called in the log and in metrics; "": as the API calls it. Of two that are read of
  // one kind one needs a name.
  std::string name = {};
};

class ClusterFeed {
 public:
  ClusterFeed(FeedOptions options, cluster::World& world, Client& client, const Log& log);

  // A further kind, before or after Start. What it feeds outlives the executor.
  template <class T>
  Reflector& Add(KindSink<T> sink, KindOptions options = {}) {
    return Add<T>(CodecOf<T>(), std::move(sink), std::move(options));
  }
  template <class T>
  Reflector& Add(KindCodec codec, KindSink<T> sink, KindOptions options = {}) {
    return AddErased(
        std::move(codec),
        [upsert = std::move(sink.upsert)](const std::shared_ptr<const void>& object) {
          upsert(std::static_pointer_cast<const T>(object));
        },
        std::move(sink.remove), std::move(sink.changed), std::move(options));
  }
  template <class T, class Store>
    requires ObjectStore<Store, T>
  Reflector& Add(Store& store, KindOptions options = {}) {
    return Add<T>(SinkInto<T>(store), std::move(options));
  }
  template <class T, class Store>
    requires ObjectStore<Store, T>
  Reflector& Add(KindCodec codec, Store& store, KindOptions options = {}) {
    return Add<T>(std::move(codec), SinkInto<T>(store), std::move(options));
  }

  // Into the World, where it waits with everything else while somebody plans.
  template <class T>
  Reflector& AddToWorld(KindOptions options = {}) {
    return AddToWorld<T>(CodecOf<T>(), std::move(options));
  }
  template <class T>
  Reflector& AddToWorld(KindCodec codec, KindOptions options = {}) {
    return Add<T>(
        std::move(codec),
        {.upsert = [this](std::shared_ptr<const T> object) { world_.Upsert(std::move(object)); },
         .remove = [this](std::string_view ns,
                          std::string_view name) { world_.Erase<T>(ns, name); }},
        std::move(options));
  }

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
  // A node came, went or changed its readiness; or it or a pod on a node says something else about
  // whether it may go (telling_annotations).
  std::function<void()> on_nodes;
  // A pod went, or has ended.
  std::function<void()> on_pod_gone;

  const std::vector<std::unique_ptr<Reflector>>& reflectors() const { return reflectors_; }

 private:
  template <class T, class Store>
  static KindSink<T> SinkInto(Store& store) {
    return {
        .upsert = [&store](std::shared_ptr<const T> object) { store.Upsert(std::move(object)); },
        .remove = [&store](std::string_view ns, std::string_view name) { store.Erase(ns, name); }};
  }
  bool CanReadTheRequired() const;
  bool SayTheSame(const model::Labels& before, const model::Labels& now) const;
  bool IsNews(const model::Node* before, const model::Node& now) const;
  bool IsNews(const model::Pod& now) const;
  void PutPod(std::shared_ptr<const model::Pod> pod);
  Reflector& AddErased(KindCodec codec, Reflector::Upsert upsert, Reflector::Remove remove,
                       Reflector::Changed changed, KindOptions options);

  FeedOptions options_;
  cluster::World& world_;
  Client& client_;
  const Log& log_;
  bool started_ = false;
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  Reflector* nodes_ = nullptr;
  Reflector* pods_ = nullptr;
};

}  // namespace coppice::kube
