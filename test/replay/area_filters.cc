// coppice-replay filters: asks the whole chain what kube-scheduler was asked, and compares every
// answer.
//
// The chain and the snapshot are the product's own. Each case is one snapshot from its first step
// to its last, so that forks, removed nodes and counters that outlive a revert are tried, too.

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/chain.h"
#include "fit/scheduler_config.h"
#include "fit/search.h"
#include "test/replay/parts.h"
#include "test/replay/replay.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

using cluster::NodeIndex;
using cluster::PodIndex;

// The chain of a configuration; cases without one share the default chain.
std::shared_ptr<const fit::Chain> ChainFor(const std::string& config) {
  const auto make = [](const fit::SchedulerConfig& scheduler) {
    auto chain = fit::Chain::Create(ThePlugins().filters, scheduler);
    if (!chain.ok()) throw std::runtime_error(chain.status().ToString());
    return std::make_shared<const fit::Chain>(std::move(chain).value());
  };
  static const std::shared_ptr<const fit::Chain> kDefault = make({});
  if (config.empty()) return kDefault;
  const auto scheduler = fit::ParseSchedulerConfig(config, "config");
  if (!scheduler.ok()) throw std::runtime_error(scheduler.status().ToString());
  return make(*scheduler);
}

template <class T>
T Read(const Json& json) {
  auto object = wire::FromJson<T>(json.dump());
  if (!object.ok()) throw std::runtime_error(object.status().ToString() + " in " + json.dump());
  return std::move(object).value();
}

model::Pod ReadPod(const Json& json) {
  model::Pod pod = Read<model::Pod>(json);
  if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "default";
  return pod;
}

// Texts of these are Go's own and are not compared.
bool ComparesReasons(const std::string& plugin, const std::string& code, const Json& reasons,
                     bool prefilter) {
  if (code == "Error") return false;
  if (!prefilter || plugin != "InterPodAffinity" || reasons.empty()) return true;
  return !reasons[0].get<std::string>().starts_with("parsing pod: ");
}

std::string Describe(const Json& verdict) {
  if (verdict.is_null()) return "yes";
  std::string text =
      verdict["plugin"].get<std::string>() + " " + verdict["code"].get<std::string>();
  for (const auto& reason : verdict["reasons"]) text += " '" + reason.get<std::string>() + "'";
  return text;
}

std::string Describe(const model::Verdict& verdict) {
  if (verdict.yes()) return "yes";
  std::string text = std::string(verdict.plugin()) + " " + std::string(ToString(verdict.code()));
  std::vector<std::string> reasons = verdict.reasons();
  std::ranges::sort(reasons);
  for (const auto& reason : reasons) text += " '" + reason + "'";
  return text;
}

bool Same(const Json& theirs, const model::Verdict& ours, bool prefilter) {
  if (theirs.is_null() || ours.yes()) return theirs.is_null() && ours.yes();
  const std::string code = theirs["code"];
  if (theirs["plugin"] != std::string(ours.plugin()) || code != ToString(ours.code())) return false;
  if (!ComparesReasons(theirs["plugin"], code, theirs["reasons"], prefilter)) return true;
  std::multiset<std::string> a, b(ours.reasons().begin(), ours.reasons().end());
  for (const auto& reason : theirs["reasons"]) a.insert(reason.get<std::string>());
  return a == b;
}

class Case {
 public:
  Case(const Json& c, Report& report)
      : report_(report),
        chain_(ChainFor(c.value("config", std::string()))),
        search_(snapshot_, *chain_) {
    if (c.contains("objects")) ReadObjects(c["objects"]);
    for (const auto& node : c.at("nodes")) AddNode(node);
    if (c.contains("pods")) {
      for (const auto& json : c["pods"]) {
        const model::Pod pod = ReadPod(json);
        snapshot_.AddPod(pod, Node(pod.spec.node_name));
      }
    }
  }

  void Run(const Json& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      where_ = "step " + std::to_string(i);
      Step(steps[i]);
    }
  }

 private:
  template <class T>
  void ReadStore(const Json& objects, const char* key, cluster::ObjectStore<T>& store) {
    if (!objects.contains(key)) return;
    for (const auto& json : objects[key]) store.Upsert(Read<T>(json));
  }

  void ReadObjects(const Json& objects) {
    ReadStore(objects, "namespaces", facts_.namespaces);
    ReadStore(objects, "pvcs", facts_.claims);
    ReadStore(objects, "pvs", facts_.volumes);
    ReadStore(objects, "storageClasses", facts_.storage_classes);
    ReadStore(objects, "csiNodes", facts_.csi_nodes);
    ReadStore(objects, "csiDrivers", facts_.csi_drivers);
    ReadStore(objects, "csiStorageCapacities", facts_.storage_capacities);
    ReadStore(objects, "volumeAttachments", facts_.volume_attachments);
    ReadStore(objects, "services", facts_.services);
    ReadStore(objects, "replicaSets", facts_.replica_sets);
    ReadStore(objects, "statefulSets", facts_.stateful_sets);
    ReadStore(objects, "replicationControllers", facts_.replication_controllers);
  }

  void AddNode(const Json& json) {
    const auto added = snapshot_.AddNode(Read<model::Node>(json));
    if (!added.ok()) throw std::runtime_error(added.status().ToString());
  }

  NodeIndex Node(const std::string& name) const {
    const NodeIndex node = snapshot_.FindNode(name);
    if (node == cluster::kNone) throw std::runtime_error(where_ + ": no node '" + name + "'");
    return node;
  }

  void Step(const Json& step) {
    const std::string op = step.at("op");
    if (op == "ask") {
      Ask(ReadPod(step.at("pod")), step.at("expect"));
    } else if (op == "place") {
      snapshot_.AddPod(ReadPod(step.at("pod")), Node(step.at("node")));
    } else if (op == "remove") {
      Remove(step.at("pod"));
    } else if (op == "addNode") {
      AddNode(step.at("node"));
    } else if (op == "updateNode") {
      const auto node = Read<model::Node>(step.at("node"));
      snapshot_.UpdateNode(Node(node.metadata.name), node);
    } else if (op == "removeNode") {
      snapshot_.RemoveNode(Node(step.at("node")));
    } else if (op == "fork") {
      snapshot_.OpenFork();
    } else if (op == "revert" || op == "commit") {
      if (snapshot_.forks() == 0) throw std::runtime_error(where_ + ": " + op + " without fork");
      op == "revert" ? snapshot_.RevertFork() : snapshot_.CommitFork();
    } else {
      throw std::runtime_error(where_ + ": unknown operation '" + op + "'");
    }
  }

  void Remove(const std::string& key) {
    const size_t slash = key.find('/');
    if (slash == std::string::npos)
      throw std::runtime_error(where_ + ": '" + key + "' is no namespace/name");
    const auto pods = snapshot_.FindPods(key.substr(0, slash), key.substr(slash + 1));
    if (pods.empty()) throw std::runtime_error(where_ + ": no pod '" + key + "'");
    for (PodIndex pod : pods) snapshot_.RemovePod(pod);
  }

  void Ask(const model::Pod& object, const Json& expect) {
    const std::string pod_name = object.metadata.namespace_ + "/" + object.metadata.name;
    const std::string where = where_ + ", pod " + pod_name;
    const PodIndex pod = snapshot_.AddPod(object);
    {
      const fit::Question question = chain_->Ask(snapshot_, pod);
      Compare(question, expect, where);
      CheckFinding(question, pod, where);
    }
    snapshot_.RemovePod(pod);
  }

  void Compare(const fit::Question& question, const Json& expect, const std::string& where) {
    const Json& rejection = expect.at("prefilter");
    if (!Same(rejection, question.rejection(), true)) {
      return report_.Differs(where + ", PreFilter", Describe(rejection),
                             Describe(question.rejection()));
    }
    if (!rejection.is_null()) return;
    const Json& theirs = expect.contains("prefilterNodes") ? expect["prefilterNodes"] : Json();
    const Json ours = question.only() ? Json(*question.only()) : Json();
    if (theirs != ours) report_.Differs(where + ", PreFilter's nodes", theirs.dump(), ours.dump());
    const Json nodes = expect.contains("nodes") ? expect["nodes"] : Json::object();
    for (const auto& [name, verdict] : nodes.items()) {
      const NodeIndex node = snapshot_.FindNode(name);
      if (node == cluster::kNone) {
        report_.Differs(where + ", node " + name, Describe(verdict), "no such node");
        continue;
      }
      const model::Verdict answer = question.Check(node);
      if (!Same(verdict, answer, false)) {
        report_.Differs(where + ", node " + name, Describe(verdict), Describe(answer));
      }
    }
    if (nodes.size() != snapshot_.nodes().size()) {
      report_.Differs(where, std::to_string(nodes.size()) + " nodes",
                      std::to_string(snapshot_.nodes().size()) + " nodes");
    }
  }

  // The search must agree with the verdicts, from any start: one that remembers what it was told in
  // earlier steps, and one that knows nothing yet.
  void CheckFinding(const fit::Question& question, PodIndex pod, const std::string& where) {
    const auto nodes = snapshot_.nodes();
    const fit::Accept every_node{.cordoned = true};
    fit::Search fresh(snapshot_, *chain_);
    const fit::NodeSet all = fresh.FindAll(pod, every_node);
    for (size_t start = 0; start < nodes.size(); ++start) {
      size_t at = start;
      size_t tried = 0;
      while (tried < nodes.size() && !question.Check(nodes[at]).yes()) {
        at = (at + 1) % nodes.size();
        ++tried;
      }
      const NodeIndex expected = tried == nodes.size() ? cluster::kNone : nodes[at];
      search_.MoveTo(start + nodes.size() - 1);
      if (search_.Find(pod, every_node) != expected) {
        report_.Differs(where + ", any node from " + std::to_string(start), "the chain's",
                        "another");
      }
      if (all.Has(nodes[start]) != question.Check(nodes[start]).yes()) {
        report_.Differs(where + ", all nodes, " + snapshot_.node(nodes[start]).name, "the chain's",
                        "another");
      }
    }
  }

  Report& report_;
  std::shared_ptr<const fit::Chain> chain_;
  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
  fit::Search search_;
  std::string where_ = "the initial state";
};

}  // namespace

void filters(const Json& c, Report& report) { Case(c, report).Run(c.at("steps")); }

}  // namespace coppice::replay
