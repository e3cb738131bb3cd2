// Templates: what a fresh node of a group would look like, and what would run on it before any pod
// of ours.
//
// Taken from a real node of the group where there is a good one, else from one remembered, else
// from the provider's description, else from whatever node there is. Sanitised: a fresh node has a
// name of its own, no taints of a passing state, and only the pods that every node gets (mirror and
// DaemonSet pods).

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/listed_node.h"
#include "autoscale/options.h"
#include "autoscale/taints.h"
#include "base/rng.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "model/objects.h"
#include "pack/node_template.h"

namespace coppice::autoscale {

inline constexpr std::string_view kTemplateLabel = "cluster-autoscaler.kubernetes.io/template-node";
inline constexpr std::string_view kUpcomingAnnotation = "cluster-autoscaler.k8s.io/upcoming-node";

using pack::NodeTemplate;
using pack::TemplatePtr;

struct TemplateSource {
  const model::Node* node = nullptr;
  std::vector<const model::Pod*> pods;  // on it, in node order
};

// Which DaemonSets a template gets that are not running on its source.
enum class MissingDaemonSets {
  kCriticalOnly,  // those that would push others out: system-node-critical ones that preempt
  kAll,
};

// `suffix` makes names unique; the base name is template-node-for-<group>.
NodeTemplate MakeTemplate(const TemplateSource& source, std::string_view group,
                          const std::vector<std::shared_ptr<const model::DaemonSet>>& daemon_sets,
                          MissingDaemonSets missing, const TaintConfig& taints,
                          bool ignore_unschedulable, std::string_view suffix);

// Zone, region and instance type under their old names, where the provider gave only the new ones.
void FillDeprecatedLabels(model::Labels& labels);

// Would the DaemonSet controller run this DaemonSet's pod on the node (name, affinity, taints)?
bool ShouldRunOn(const model::DaemonSet& daemon_set, const model::Node& node);

// The templates of all groups, worked out anew in each pass; remembers the last good node of a
// group.
class Templates {
 public:
  Templates(const TemplateOptions& options, const StartupTaintOptions& taints,
            cloud::NodeGroups& groups, Rng& rng);

  // `pods_of` lists what runs on a node, in node order.
  using PodsOf = std::function<std::vector<const model::Pod*>(const model::Node&)>;
  void Recompute(const std::vector<ListedNode>& nodes, const PodsOf& pods_of,
                 const std::vector<std::shared_ptr<const model::DaemonSet>>& daemon_sets,
                 TimePoint now);

  TemplatePtr Find(std::string_view group) const;  // null: this group cannot be scaled up
  const std::map<std::string, TemplatePtr, std::less<>>& all() const { return current_; }
  // What a processor made of them, until the next Recompute.
  void Replace(std::map<std::string, TemplatePtr, std::less<>> templates) {
    current_ = std::move(templates);
  }
  // Why a group has none, where its provider said so.
  const std::map<std::string, Status, std::less<>>& problems() const { return problems_; }

 private:
  struct Remembered {
    TemplatePtr made;
    TimePoint since;
  };

  std::string Suffix();

  const TemplateOptions& options_;
  cloud::NodeGroups& groups_;
  Rng& rng_;
  TaintConfig taints_;
  std::map<std::string, TemplatePtr, std::less<>> current_;
  std::map<std::string, Remembered, std::less<>> remembered_;
  std::map<std::string, Status, std::less<>> problems_;
};

}  // namespace coppice::autoscale
