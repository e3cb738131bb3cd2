// GangLoad: what users of a batch scheduler do to a model cluster: gangs of all sizes in three
// queues, some as Volcano Jobs and some as a PodGroup with its pods, some more important than
// others, some that can do with fewer pods than they would like, some that can never start. All
// drawn from one seed.
//
// Plays the users and whoever makes their pods: a pod that is lost comes back, a gang that has run
// its time ends, one that cannot start is given up after a while.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/model.h"

namespace coppice::whatif {

struct GangQueue {
  std::string name;
  int32_t weight = 1;
  int64_t most_cores = 0;  // its capability; 0: none
};

struct GangLoadOptions {
  std::vector<GangQueue> queues = {{"gold", 3, 0}, {"silver", 2, 240}, {"bronze", 1, 96}};
  double gangs_per_hour = 4;  // on average
  int smallest = 2;
  int largest = 256;
  size_t most_at_once = 12;  // gangs that there are; nobody comes while there are so many
  Duration longest = std::chrono::minutes(90);
  double as_jobs = 0.4;    // of all gangs, those that come as Jobs of batch.volcano.sh
  double elastic = 0.4;    // those that start with half of their pods
  double hopeless = 0.06;  // those that ask for more than there can ever be
  // Pods of gangs of up to eight name this resource, of which they want nothing: for extenders that
  // look after it. "": nobody does.
  std::string asks_for = {};
  Duration patience = std::chrono::hours(2);  // with a gang that cannot start
};

struct PlayedGang {
  std::string name;  // of its PodGroup, or of its Job
  std::string queue;
  int size = 0;
  int min = 0;
  int64_t cpu_millis = 0;  // of each pod
  int32_t priority = 0;
  bool as_job = false;
  bool asks = false;      // GangLoadOptions::asks_for
  bool hopeless = false;  // no machine takes a pod of it, or its queue may never have so much
  Duration runs_for{};
  TimePoint came;
  std::optional<TimePoint> started;
};

class GangLoad {
 public:
  GangLoad(sim::Model& model, GangLoadOptions options, uint64_t seed);

  // Queues, priority classes, and from now on everything that happens.
  void Start();
  void Stop() { on_ = false; }  // nobody new comes
  // Everybody goes home.
  void EndAll();

  std::function<void(const PlayedGang&)> came;
  std::function<void(const PlayedGang&)> started;
  std::function<void(const PlayedGang&)> ended;  // it has run, or was given up

  const std::map<std::string, PlayedGang>& gangs() const { return gangs_; }
  // The gang that a pod belongs to; null: none of ours.
  const PlayedGang* Of(const model::Pod& pod) const;
  // "namespace/name" of its PodGroup.
  std::string GroupOf(const PlayedGang& gang) const;
  // Its pods that have a node and are not about to end.
  int BoundOf(const PlayedGang& gang) const;
  size_t ever() const { return number_; }

  static constexpr char kNamespace[] = "research";

 private:
  void NextGang();
  void Add(PlayedGang gang);
  void AddGroup(const PlayedGang& gang);
  void AddJob(const PlayedGang& gang);
  void AddPod(const PlayedGang& gang, int index);
  void AddBudget(const PlayedGang& gang);
  void Look();
  void Collect();
  void LookAt(PlayedGang& gang);
  void MakeMissing(const PlayedGang& gang);
  bool End(const PlayedGang& gang);  // false: its controller is still at it
  std::vector<sim::PodPtr> PodsOf(const PlayedGang& gang) const;
  Duration Until(double per_hour);

  sim::Model& model_;
  const GangLoadOptions options_;
  SeededRng rng_;
  bool on_ = false;
  size_t number_ = 0;
  std::map<std::string, PlayedGang> gangs_;  // by name
  std::map<std::string, TimePoint> over_;    // Jobs whose pods have ended, since when
};

}  // namespace coppice::whatif
