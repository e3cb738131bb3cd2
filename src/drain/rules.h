// Drain rules: what happens to each pod of a node that is to go, and whether one of them keeps it.
//
// Thirteen rules, asked in the order of one list (DefaultRules); the first that has an opinion
// decides. A pod without one is movable. Pure: reads pods, controllers and budgets, changes
// nothing.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "drain/options.h"
#include "drain/pdb_tracker.h"
#include "model/objects.h"

namespace coppice::drain {

enum class Outcome {
  kUndefined,          // this rule does not care
  kOk,                 // may go; nothing later is asked
  kSkip,               // stays on the machine and dies with it
  kWaitForCompletion,  // the node goes when this pod has ended by itself
  kBlock,              // keeps the node
};

enum class BlockingReason {
  kNone,
  kControllerNotFound,
  kMinReplicasReached,
  kNotReplicated,
  kLocalStorageRequested,
  kNotSafeToEvictAnnotation,
  kUnmovableKubeSystemPod,
  kNotEnoughPdb,
  kUnexpectedError,
  kUnreadable,  // ours
};
std::string_view ToString(BlockingReason reason);  // upstream's spelling

struct Verdict {
  Outcome outcome = Outcome::kUndefined;
  BlockingReason reason = BlockingReason::kNone;
  std::string text = {};  // of a block: a sentence with names and numbers
  // If not empty: this verdict waits, and holds if a later rule says one of these.
  std::vector<Outcome> overrides = {};
  std::string_view rule = {};  // who decided; set by JudgePod
};

// Who makes pods, as far as rules ask about them.
class Controllers {
 public:
  virtual ~Controllers() = default;
  struct Found {
    std::optional<int32_t> replicas;  // of kinds that have them
  };
  // Kinds: ReplicationController, ReplicaSet, StatefulSet, DaemonSet, Job.
  virtual std::optional<Found> Find(std::string_view kind, std::string_view namespace_,
                                    std::string_view name) const = 0;
};

// Controllers as listed: filled once, then asked.
class ListedControllers final : public Controllers {
 public:
  void Add(std::string_view kind, const model::ObjectMeta& meta,
           std::optional<int32_t> replicas = {});
  std::optional<Found> Find(std::string_view kind, std::string_view namespace_,
                            std::string_view name) const override;

 private:
  std::unordered_map<std::string, Found> by_key_;
};

struct Context {
  const PdbTracker& budgets;
  const Controllers* controllers = nullptr;  // null: not known, and not asked about
  TimePoint now;
};

// Of the pod it reads what cluster::Interner::Eviction has in its key, and nothing else: pods of
// one key are judged once. But for times: a rule may read those of a pod that is going, and, behind
// the rule about DaemonSets, those of the system's pods.
struct Rule {
  std::string_view name;
  std::function<Verdict(const model::Pod&, const Context&)> judge;
  // What it says of a pod does not change while one evaluation goes on, whatever else is removed.
  bool lasts = false;
};

std::vector<Rule> DefaultRules(const RuleOptions& options);

Verdict JudgePod(const std::vector<Rule>& rules, const model::Pod& pod, const Context& context);

// What becomes of a node's pods, in their order, up to the first that blocks.
struct PodsToMove {
  std::vector<const model::Pod*> movable;
  std::vector<const model::Pod*> daemon_set;     // not moved; evicted if asked for
  std::vector<const model::Pod*> on_completion;  // waited for
  const model::Pod* blocking = nullptr;
  Verdict blocked_by;  // if there is a blocking pod
};
PodsToMove FindPodsToMove(const std::vector<Rule>& rules,
                          const std::vector<const model::Pod*>& pods, const Context& context);

// Terminating for longer than its grace period and a margin: as good as gone.
bool IsLongTerminating(const model::Pod& pod, TimePoint now);

}  // namespace coppice::drain
