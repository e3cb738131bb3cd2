// EngineSeat: an engine in a process on a real cluster, with all that the process does on its
// account: which kinds it reads, how it is put together once the cluster has been read, what it
// answers over HTTP, and what it leaves behind. `real_cluster` drives a list of them and knows none;
// engine_seats.cc has the list.
//
// Decision thread, but for what says otherwise.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/flags.h"
#include "base/changes_under_way.h"
#include "base/metric_source.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/guarded_groups.h"
#include "cloud/node_claims.h"
#include "cluster/writer.h"
#include "host/api_server.h"
#include "host/engine.h"
#include "host/pages.h"
#include "market/seller.h"
#include "report/pass_report.h"
#include "report/provision_report.h"
#include "report/session_report.h"
#include "seats/plugins.h"

namespace coppice::seats {

// What a seat is given. All of it outlives the seat; the executor ends before.
struct ProcessParts {
  const autoscale::FlagValues& flags;  // beside autoscale's own: those of the process
  Plugins& plugins;
  cluster::World& world;
  Clock& clock;
  const Log& log;
  Metrics& metrics;
  MetricSources& metric_sources;
  Executor& executor;
  Workers& workers;
  Rng& rng;
  Rng& provider_rng;  // for a provider, which draws on its own threads
  ChangesUnderWay& changes;
  host::ApiServer& server;
  cluster::Writer& writer;           // the server's, or what --dry-run puts before it
  std::function<void()> look_again;  // Turns::LookAgain
  // For who shows it: of the autoscaler, of node pools, of batch. Each may be null.
  std::function<void(std::shared_ptr<const report::PassReport>, Duration took)> pass_ended;
  std::function<void(std::shared_ptr<const report::ProvisionReport>)> pools_passed;
  std::function<void(std::shared_ptr<const report::SessionReport>)> session_ended;

  // What every change of a cloud passes: the lease, its end, --dry-run.
  cloud::Gate CloudGate() const;
};

// Kinds of an engine beside those that everybody reads: into the World; whoever takes turns is told
// of changes. One that the server does not know counts as empty until it is installed.
class EngineKinds {
 public:
  EngineKinds(kube::ClusterFeed& feed, cluster::World& world, std::function<void()> changed)
      : feed_(feed), world_(world), changed_(std::move(changed)) {}

  // A kind that several engines read is read once.
  template <class T>
  void Add(kube::KindOptions options = {}) {
    constexpr model::Kind kind = model::kKind<T>;
    if (!added_.insert(std::string(kind.api_version) + "/" + std::string(kind.resource)).second)
      return;
    kube::KindCodec codec = kube::CodecOf<T>();
    codec.json_only = IsCustom(kind.api_version);
    feed_.Add<T>(
        std::move(codec),
        kube::KindSink<T>{
            .upsert = [this](std::shared_ptr<const T> object) { world_.Upsert(std::move(object)); },
            .remove = [this](std::string_view namespace_,
                             std::string_view name) { world_.Erase<T>(namespace_, name); },
            .changed = changed_},
        std::move(options));
  }

 private:
  // Of a group that no API server has by itself: it comes as JSON only.
  static bool IsCustom(std::string_view api_version);

  kube::ClusterFeed& feed_;
  cluster::World& world_;
  std::function<void()> changed_;
  std::set<std::string> added_;
};

// All of a model::KindList.
template <class List>
void AddAll(EngineKinds& kinds) {
  List::Any([&kinds]<class T>() {
    kinds.Add<T>();
    return false;
  });
}

class EngineSeat {
 public:
  virtual ~EngineSeat() = default;

  virtual host::Engine& engine() = 0;

  // Before the cluster is read.
  virtual void AddKinds(EngineKinds&) {}
  virtual void AddPages(host::Pages&) {}

  // We lead.
  virtual void Leads() {}
  // Once the cluster has been read and we lead, before the first turn. Not OK ends the process.
  virtual Task<Status> Open() = 0;
  // At the end, before the lease goes, at most until `by`.
  virtual Task<void> Leave(Deadline) { co_return; }

  // Who sells machines to gangs, if it does; null before it is open.
  virtual market::Seller* seller() { return nullptr; }
  // What it buys by the group, once it is open; null: nothing.
  virtual cloud::NodeGroups* groups() { return nullptr; }
  // Whom it asks for machines by the claim; null before it is open, and if it does not.
  virtual const cloud::NodeClaims* claims() { return nullptr; }

  // What it has to say to /explain?...; absent: the question is not for it. Any thread.
  virtual std::optional<Result<std::string>> Explain(const net::ServerRequest&) { return {}; }
};

// What all of them have to say: the answer of the only one that has any, or each under its name.
// Before that `of_all`, which is true whichever engines there are, if it is not empty.
Result<std::string> ExplainAll(const std::vector<std::unique_ptr<EngineSeat>>& seats,
                               const net::ServerRequest& request, std::string of_all = "");

}  // namespace coppice::seats
