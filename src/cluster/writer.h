// Writer: the door out. All that an engine asks the API server to change, and the few things it
// must ask it directly because a cached answer would not do.
//
// Called on the decision thread; each call is a coroutine that ends when the answer is there.
// Implemented by the Kubernetes edge and by fakes.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/task.h"
#include "model/node.h"
#include "model/pod.h"

namespace coppice::cluster {

struct NodeChange {
  std::vector<model::Taint> add_taints;
  std::vector<std::string> remove_taints;  // keys
  std::optional<bool> unschedulable;
};

struct PodName {
  std::string namespace_;
  std::string name;
  std::string uid = {};  // "": whoever has the name
  friend bool operator==(const PodName&, const PodName&) = default;
};

struct Event {
  std::string kind;  // of the object it is about: ConfigMap, Node, Pod
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string type;  // Normal, Warning
  std::string reason;
  std::string text;
};

using LivePod = std::shared_ptr<const model::Pod>;
using LiveNode = std::shared_ptr<const model::Node>;

class Writer {
 public:
  virtual ~Writer() = default;

  // Read, change, write, and again when somebody else was faster.
  virtual Task<Status> ChangeNode(std::string node, NodeChange change) = 0;
  // NotFound: already gone. ResourceExhausted: a budget does not allow it now.
  // kNotFound: it is gone, and a pod of the same name and another uid is not touched.
  virtual Task<Status> Evict(PodName pod, int64_t grace_period_seconds) = 0;
  // The node that the pod is on right now; absent: the pod is gone.
  virtual Task<Result<std::optional<std::string>>> WhereIs(PodName pod) = 0;
  // The pods that are bound to the node right now and have not ended. Who has nobody to ask says
  // so.
  virtual Task<Result<std::vector<LivePod>>> PodsOn(std::string node) {
    co_return Unimplemented("nobody to ask for the pods on " + node);
  }
  // The node as it is right now. kNotFound: there is none of that name. Who has nobody to ask says
  // so.
  virtual Task<Result<LiveNode>> NodeNow(std::string node) {
    co_return Unimplemented("nobody to ask for the node " + node);
  }
  // A dry run: what is asked for is told and not done, so that no view will ever show it.
  virtual bool pretends() const { return false; }
  // Never fails the caller: an event that cannot be written is logged and dropped.
  virtual void Emit(Event event) = 0;
};

}  // namespace coppice::cluster
