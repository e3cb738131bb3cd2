// Filter: one reason why a pod may not run on a node. What kube-scheduler calls a Filter plug-in,
// with its PreFilter.
//
// A filter comes in one of two kinds. A ShapeFilter is a pure function of what scheduling can see
// of the pod and of the node; it is asked once per pair of shapes and its answer remembered, so it
// may take its time. A StateFilter depends on what else is placed, or on one pod or node in
// particular: it prepares once per pod (PreFilter's four outcomes: skip, reject everywhere, narrow
// to some nodes, or a NodeCheck) and the NodeCheck is asked per node.
//
// Whoever says no names its plug-in, kube-scheduler's code and kube-scheduler's text
// (model::Verdict). A filter holds no state of its own beyond its configuration; everything here
// runs on one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "base/status.h"
#include "cluster/shapes.h"
#include "cluster/snapshot.h"
#include "fit/scheduler_config.h"
#include "model/verdict.h"

namespace coppice::fit {

// A key for Snapshot::Memory that nobody else has.
uint64_t NewMemoryId();

// What a pod asks of one resource column, and what it takes once placed.
struct ResourceNeed {
  cluster::ResourceId resource;
  int64_t asked;
  int64_t taken;  // differs from asked while the pod is being resized
};

// One pod's question to the nodes, valid until the snapshot changes.
class NodeCheck {
 public:
  virtual ~NodeCheck() = default;

  virtual model::Verdict Check(cluster::NodeIndex node) const = 0;

  // The same question to up to 64 nodes at once: bit i of `alive` stands for nodes[i]; answers
  // `alive` without those that say no. Override it where a loop over columns is faster than asking
  // one by one; it must agree with Check.
  virtual uint64_t Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const;

  // True: the answer is a function of the pod's spec shape, the node's facts and what is placed on
  // this very node, and placing one more never turns a no into a yes. Then a search remembers the
  // nodes that said no until something is taken off them. Claim it only if it holds.
  virtual bool OwnNodeOnly() const { return false; }

  // Not null: OwnNodeOnly holds, and the answer is yes exactly if asked <= free for each of these.
  // Then packing is arithmetic.
  virtual const std::vector<ResourceNeed>* Needs() const { return nullptr; }
};

// What a filter says about a pod before any node is looked at.
class Preparation {
 public:
  // Nothing to check for this pod.
  static Preparation Skip() { return Preparation(Kind::kSkip); }
  // No node can take it.
  static Preparation Reject(model::Verdict verdict) {
    Preparation p(Kind::kReject);
    p.rejection = std::move(verdict);
    return p;
  }
  // The answer depends on the two shapes alone: Filter::Check is asked, and remembered.
  static Preparation AskShapes() { return Preparation(Kind::kShapes); }
  // Every node is asked.
  static Preparation Ask(std::unique_ptr<NodeCheck> check) {
    Preparation p(Kind::kNodes);
    p.check = std::move(check);
    return p;
  }
  // In addition: nodes with other names need not be asked at all. Names of absent nodes may be
  // among them.
  Preparation&& Only(std::vector<std::string> names) && {
    only = std::move(names);
    return std::move(*this);
  }

  // In addition: the same would be said of every plain pod (Snapshot::IsPlain) of this spec shape
  // and these labels, and a NodeCheck stays good, until facts change, an anti-affinity term gets
  // its first carrier or loses its last (Counters::terms_version), or a node shape is new.
  Preparation&& ForKind() && {
    for_kind = true;
    return std::move(*this);
  }

  // In addition to ForKind: whatever their labels and namespace.
  Preparation&& ForSpec() && {
    for_kind = for_spec = true;
    return std::move(*this);
  }

  enum class Kind : uint8_t { kSkip, kReject, kShapes, kNodes };
  Kind kind;
  model::Verdict rejection = model::Verdict::Yes();
  std::unique_ptr<NodeCheck> check;
  std::optional<std::vector<std::string>> only;
  bool for_kind = false;
  bool for_spec = false;

 private:
  explicit Preparation(Kind k) : kind(k) {}
};

class Filter {
 public:
  Filter();
  virtual ~Filter() = default;
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // Never reused in this process: the key of what a filter remembers in Snapshot::Memory.
  uint64_t id() const { return id_; }

  // PreFilter.
  virtual Preparation Prepare(const cluster::PodView& pod,
                              const cluster::Snapshot& snapshot) const = 0;

  // Asked when Prepare said AskShapes. Must not depend on anything but its arguments.
  virtual model::Verdict Check(const cluster::PodSpecShape& pod,
                               const cluster::NodeShape& node) const;

 private:
  uint64_t id_;
};

// A pure function of two shapes. Prepare may be overridden for the pods that need more.
class ShapeFilter : public Filter {
 public:
  Preparation Prepare(const cluster::PodView& pod,
                      const cluster::Snapshot& snapshot) const override;
  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override = 0;
};

// Depends on placements, on objects, or on the identity of pod or node.
class StateFilter : public Filter {};

// A filter is made once per chain, from the scheduler's configuration. Registered under
// kube-scheduler's name; where it stands in the chain is the configuration's business (filters it
// does not know come last).
using FilterFactory = std::function<Result<std::unique_ptr<Filter>>(const SchedulerConfig& config)>;
using FilterRegistry = Registry<FilterFactory>;

// The factory of a filter that is made from the configuration, or from nothing.
template <class F>
FilterFactory FactoryOf() {
  return [](const SchedulerConfig& config) -> Result<std::unique_ptr<Filter>> {
    if constexpr (std::is_constructible_v<F, const SchedulerConfig&>) {
      return std::unique_ptr<Filter>(std::make_unique<F>(config));
    } else {
      return std::unique_ptr<Filter>(std::make_unique<F>());
    }
  };
}

}  // namespace coppice::fit
