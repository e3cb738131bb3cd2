// The door out: all that engines ask the API server to change, and the few things that they must
// ask it directly because a cached answer would not do. By small interfaces, so that nobody is
// handed more than it uses: nodes, pods, objects of any kind, events. Writer is all of them; behind
// it every write passes one fence (kube/kube_writer.h).
//
// Called on the decision thread; each call is a coroutine that ends when the answer is there.
// Implemented by the Kubernetes edge, by the model cluster and by fakes. Who has nobody to ask says
// so (kUnimplemented).

#pragma once

#include <cstdint>
#include <map>
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

// What a scheduler says about a pod that it has looked at.
struct PodStatusChange {
  std::vector<model::PodCondition> conditions;  // each replaces the one of its type
  std::string nominated_node = {};              // "": leave it
};

// An object of any kind, as the API server addresses it.
struct ObjectName {
  std::string api_version;  // "karpenter.sh/v1"; "v1" for the core kinds
  std::string resource;     // as in paths: "nodeclaims"
  std::string namespace_;   // "" for kinds without
  std::string name;
  std::string uid = {};  // "": whoever has the name
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

struct FinalizerChange {
  std::vector<std::string> add = {};
  std::vector<std::string> remove = {};
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

class NodeWriter {
 public:
  virtual ~NodeWriter() = default;

  // Read, change, write, and again when somebody else was faster.
  virtual Task<Status> ChangeNode(std::string node, NodeChange change) = 0;
  // The node as it is right now. kNotFound: there is none of that name.
  virtual Task<Result<LiveNode>> NodeNow(std::string node) {
    co_return Unimplemented("nobody to ask for the node " + node);
  }
  // The pods that are bound to the node right now and have not ended.
  virtual Task<Result<std::vector<LivePod>>> PodsOn(std::string node) {
    co_return Unimplemented("nobody to ask for the pods on " + node);
  }
};

// Where a uid is given, a pod of the same name and another uid is not touched: kNotFound.
class PodWriter {
 public:
  virtual ~PodWriter() = default;

  // NotFound: already gone. ResourceExhausted: a budget does not allow it now.
  virtual Task<Status> Evict(PodName pod, int64_t grace_period_seconds) = 0;
  // Without asking budgets. kNotFound: already gone.
  virtual Task<Status> DeletePod(PodName pod, int64_t) {
    co_return Unimplemented("nobody to delete the pod " + pod.name);
  }
  // Puts a pod on a node, once: a pod that is on that node already is bound. The annotations go to
  // the pod in the same write. kAborted: it is on another node, or is being deleted.
  using Annotations = std::map<std::string, std::string>;
  virtual Task<Status> Bind(PodName pod, std::string, Annotations) {
    co_return Unimplemented("nobody to bind the pod " + pod.name);
  }
  // kNotFound: it is gone.
  virtual Task<Status> ChangePodStatus(PodName pod, PodStatusChange) {
    co_return Unimplemented("nobody to tell of the pod " + pod.name);
  }
  // The node that the pod is on right now; absent: the pod is gone.
  virtual Task<Result<std::optional<std::string>>> WhereIs(PodName pod) = 0;
};

// Objects of any kind, as the JSON that the API server takes and gives: what we do not know of a
// kind is not ours to lose. Where a uid is given, an object of the same name and another uid is not
// touched (kNotFound).
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  // `json` is the whole object; its name and namespace are those of `object` (no name: that of its
  // generateName, which is in the answer). kAlreadyExists: somebody, maybe an attempt of ours whose
  // answer was lost, has made it. The answer is the object as it is stored.
  virtual Task<Result<std::string>> CreateObject(ObjectName object, std::string) {
    co_return Nobody(object);
  }
  // A JSON merge patch of all but the status, so that patching twice is as good as once. A
  // metadata.resourceVersion in it makes it fail (kAborted) if the object has changed since. The
  // answer is the object as it is then.
  virtual Task<Result<std::string>> UpdateObject(ObjectName object, std::string) {
    co_return Nobody(object);
  }
  // The same through the status subresource.
  virtual Task<Result<std::string>> UpdateStatus(ObjectName object, std::string) {
    co_return Nobody(object);
  }
  // Read, change, write, and again when somebody else was faster. OK if all is as wanted already.
  // kNotFound: it is gone.
  virtual Task<Status> ChangeFinalizers(ObjectName object, FinalizerChange) {
    co_return Nobody(object);
  }
  // One with finalizers stays until they are taken off. kNotFound: already gone.
  virtual Task<Status> DeleteObject(ObjectName object) { co_return Nobody(object); }
  // As it is right now. kNotFound: there is none.
  virtual Task<Result<std::string>> ObjectNow(ObjectName object) { co_return Nobody(object); }

 private:
  static Status Nobody(const ObjectName& object) {
    return Unimplemented("nobody to ask for " + object.resource + "/" + object.name);
  }
};

class EventWriter {
 public:
  virtual ~EventWriter() = default;
  // Never fails the caller: an event that cannot be written is logged and dropped.
  virtual void Emit(Event event) = 0;
  // The same of each of these pods. They may be very many: who can put it off does.
  virtual void EmitAboutPods(std::vector<LivePod> pods, Event what) {
    what.kind = "Pod";
    for (const LivePod& pod : pods) {
      what.namespace_ = pod->metadata.namespace_;
      what.name = pod->metadata.name;
      what.uid = pod->metadata.uid;
      Emit(what);
    }
  }
};

class Writer : public NodeWriter, public PodWriter, public ObjectWriter, public EventWriter {
 public:
  // A dry run: what is asked for is told and not done, so that no view will ever show it.
  virtual bool pretends() const { return false; }
};

}  // namespace coppice::cluster
