// Engine: node pools on a cluster. Pods wait, claims are created, machines are launched, registered
// and initialised, taken away when they are empty, outdated or too dear, and ended.
//
// A pass looks at the World and begins what is due; it never waits for a cloud. Whatever takes time
// (a launch, a drain, the fifteen seconds before a command is checked again, a search for what
// could be consolidated) is a coroutine of its own, on values and not on the World's snapshot, so
// that a slow machine delays nobody else. Each step can be repeated: what a process that was killed
// has left is taken up by the next from the objects alone.
//
// Objects are read from World::objects<model::NodePool>(), <NodeClaim>(), <NodeClass>() beside
// nodes, pods, DaemonSets, PodDisruptionBudgets, namespaces and storage. Written are NodeClaims,
// NodePools and NodeClasses (metadata, status, finalizers) and, through the same ObjectWriter as
// "v1" "nodes", Nodes: labels, annotations, owner, finalizer, deletion, and creation for classes
// with registerNode. Taints go through NodeWriter, evictions through PodWriter.
//
// Decision thread. Tasks that it has spawned refer to it: the executor goes first.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "base/metric_source.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/node_claims.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "fit/chain.h"
#include "market/seller.h"
#include "provision/options.h"
#include "report/provision_report.h"

namespace coppice::provision {

// What the engine reads of the object that a nodeClassRef names.
struct NodeClassFacts {
  int64_t generation = 0;
  bool deleting = false;
  // Its condition Ready; absent: unknown.
  std::optional<bool> ready;
  std::string reason;
  std::string message;
};

// All references outlive the engine.
struct EngineParts {
  EngineOptions options;
  cluster::World& world;
  cluster::Writer& writer;
  cloud::NodeClaims& claims;  // behind a gate that asks the lease, as all that changes a cloud
  Executor& executor;
  Workers& workers;  // for the provider's slow calls, and for the search of consolidation
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  // For what is worked out when /metrics is asked for; null: it is not.
  MetricSources* metric_sources = nullptr;
  // kube-scheduler's filters; null: they are not asked.
  const fit::Chain* filters = nullptr;
  // How old the view of the cluster is; null: always fresh.
  std::function<Duration()> view_age = nullptr;
  std::function<std::string()> oldest_kind = nullptr;  // what it is so old of
  // Pods that somebody else buys for (a gang that batch holds). Null: none.
  std::function<bool(const model::Pod&)> not_ours = nullptr;
  // The class objects that are no coppice.dev NodeClass, of the kinds that the provider supports.
  // Those of ours are read from the World, and their Secrets through the writer. Null: none.
  std::function<std::vector<cloud::NodeClassInput>()> foreign_classes = nullptr;
  // Due() may have come nearer without anybody having told: something under way has ended.
  std::function<void()> wake = nullptr;
};

class Engine {
 public:
  explicit Engine(EngineParts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  static constexpr char kName[] = "provision";  // also in HeldNodes

  // When a pass is wanted next, as far as is known now. Cheap.
  TimePoint Due() const;
  // One pass; the next begins after its end. The report is never changed.
  Task<std::shared_ptr<const report::ProvisionReport>> Pass(TimePoint now);

  // ---- News, each true if it may have hastened Due(). None is needed for being right, all for
  // being quick: the engine looks every second while anything is under way, else every ten.
  bool PodWaits(const model::Pod& pod, TimePoint now);
  bool PodGone(TimePoint now);
  bool NodesChanged(TimePoint now);
  bool ObjectsChanged(TimePoint now);  // NodePools, NodeClaims, NodeClasses

  // The pools as who sells machines to gangs.
  market::Seller& seller();

  // Of the last pass; null before the first.
  std::shared_ptr<const report::ProvisionReport> report() const;
  // Coroutines that go on between passes: cloud calls, drains, commands.
  size_t under_way() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace coppice::provision
