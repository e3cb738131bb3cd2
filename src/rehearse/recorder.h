// Recorder: what a cluster and its cloud are, written down as it changes.
//
// It compares the World with what it has written, whenever it is asked to look; between two looks a
// pod that came and went is not seen. Lines, one JSON object each:
//
//   {"coppice-log":1}                                   a file begins; what follows is everything
//   {"at":1767592800000}                                milliseconds since 1970 of what follows
//   {"shape":3,"pod":{…}}                               pods are alike in this; the owner is in it
//   {"add":"ns/name","shape":3,"created":…,"node":"n"}  a pod; "node" if it has one
//   {"bind":"ns/name","node":"n"}                       it has got one
//   {"done":"ns/name"}                                  it has ended, or is gone
//   {"node":"n","group":"g"}, {"gone":"n"}              a node, and its group or "pool" if it has one
//   {"group":"g","min":0,"max":9,"target":3,"price":0.1,"template":{…}}   what the cloud said
//   {"budget":"ns/name","pdb":{…}}                      a PodDisruptionBudget's spec; without: gone
//   {"nodepool":"p","object":{…}}                       a NodePool's spec; without: gone
//   {"gang":"ns/name","object":{…}}                     a PodGroup's spec; without: gone
//   {"queue":"q","object":{…}}                          a Queue's spec; without: gone
//   {"priority":"p","object":{…}}                       a PriorityClass; without: gone
//   {"type":"t","cpu":…,"memory":…,"gpus":…,"arch":"a","zones":["z"],"price":0.1,"spot":0.03}
//                                                       what pools can buy: milli cpus and bytes
//                                                       for pods; "spot" if it is sold so
//   {"all":true}                                        the end of "everything": on a large
//                                                       cluster it takes several looks
//
// A shape keeps what decisions read: no environment (our objects have none), no annotation but
// those that speak to autoscalers and schedulers, no volume. ConfigMaps and Secrets are not looked
// at. One thread, that of the World.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/executor.h"
#include "base/task.h"
#include "cloud/node_claims.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "rehearse/log_file.h"
#include "rehearse/recorded_pods.h"

namespace coppice::rehearse {

// Objects of a kind as they were written.
struct KeptObjects {
  struct Kept {
    std::shared_ptr<const void> object;
    std::string json;
    bool there = true;
  };
  std::optional<uint64_t> version;  // of the store, as it was looked at last
  std::map<std::string, Kept> by_name;
};

class Recorder {
 public:
  Recorder(std::shared_ptr<LogWriter> writer, const cluster::World& world,
           RecordedPods::Limits limits = {})
      : writer_(std::move(writer)), world_(world), pods_(world, limits) {}

  // Writes what has changed; of pods that the file does not know yet, so many at a time. `groups`
  // may be null: then nodes have no group; likewise `claims`: then it is not known what pools can
  // buy.
  void Look(cloud::NodeGroups* groups, TimePoint now, const cloud::NodeClaims* claims = nullptr);
  // The file has everything: what comes next is what changes.
  bool whole() const { return whole_; }

 private:
  struct Template {
    std::shared_ptr<const model::Node> node;
    std::string json;
  };

  void Forget();
  void LookAtNodes(cloud::NodeGroups* groups, std::string& lines);
  void LookAtGroups(cloud::NodeGroups& groups, TimePoint now, std::string& lines);
  void LookAtBudgets(std::string& lines);
  void LookAtPools(std::string& lines);
  void LookAtGangs(std::string& lines);
  void LookAtTypes(const cloud::NodeClaims& claims, std::string& lines);

  std::shared_ptr<LogWriter> writer_;
  const cluster::World& world_;
  uint64_t look_ = 0;
  bool whole_ = true;  // nothing has been begun
  bool lost_ = false;  // what was written last
  RecordedPods pods_;
  std::optional<uint64_t> node_set_;  // of the World, as it was looked at last
  std::map<std::string, uint64_t> nodes_;
  std::map<std::string, Template> templates_;  // by group
  std::map<std::string, std::string> groups_;  // the line that was written last
  KeptObjects budgets_;
  KeptObjects pools_;
  KeptObjects gangs_;
  KeptObjects queues_;
  KeptObjects priorities_;
  std::map<std::string, std::string> types_;  // the line
};

// Writes to `directory` what `world` goes through; null if it is empty, for whoever does not record.
// `workers` and `log` outlive it.
Result<std::unique_ptr<Recorder>> OpenRecorder(const std::string& directory,
                                               const cluster::World& world, Workers& workers,
                                               const Log& log);
// How often Record() looks: pods that live shorter are not seen.
inline constexpr Duration kLookEvery = std::chrono::seconds(5);
// While a file does not have everything yet.
inline constexpr Duration kLookSoon = std::chrono::milliseconds(200);
// The same as long as the executor runs; ends at once if `directory` is empty, and with an error in
// the log if it cannot be written. `groups` and `claims` may be null; `looked` hears of each look.
// What it refers to outlives the executor's tasks.
struct Recorded {
  const cluster::World& world;
  cloud::NodeGroups* groups = nullptr;
  const cloud::NodeClaims* claims = nullptr;
};
Task<void> Record(std::string directory, Recorded what, Executor& executor, Workers& workers,
                  const Log& log, std::function<void()> looked);

}  // namespace coppice::rehearse
