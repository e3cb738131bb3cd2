#include "autoscale/similar.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/go_sort.h"
#include "model/resources.h"

namespace coppice::autoscale {
namespace {

using model::Quantity;
using model::ResourceList;

using LabelNames = std::set<std::string, std::less<>>;

// Differ from node to node everywhere: the machine, its place, and the group's own name.
constexpr std::string_view kAlwaysIgnored[] = {
    "kubernetes.io/hostname",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "beta.kubernetes.io/fluentd-ds-ready",
    "kops.k8s.io/instancegroup",
};

constexpr std::string_view kAzurePool = "kubernetes.azure.com/agentpool";
constexpr std::string_view kAzureOldPool = "agentpool";

LabelNames IgnoredLabels(LabelFlavor flavor, const std::vector<std::string>& also) {
  LabelNames ignored(std::begin(kAlwaysIgnored), std::end(kAlwaysIgnored));
  const auto add = [&](std::initializer_list<std::string_view> names) {
    ignored.insert(names.begin(), names.end());
  };
  switch (flavor) {
    case LabelFlavor::kGeneric:
      break;
    case LabelFlavor::kAws:
      add({"alpha.eksctl.io/instance-id", "alpha.eksctl.io/nodegroup-name",
           "eks.amazonaws.com/nodegroup", "k8s.amazonaws.com/eniConfig", "lifecycle",
           "topology.ebs.csi.aws.com/zone", "topology.k8s.aws/zone-id"});
      break;
    case LabelFlavor::kGce:
      add({"topology.gke.io/zone"});
      break;
    case LabelFlavor::kAzure:
      add({kAzureOldPool, kAzurePool, "topology.disk.csi.azure.com/zone", "aksEngineVersion",
           "creationSource", "poolName", "resourceNameSuffix",
           "kubernetes.azure.com/node-image-version",
           "kubernetes.azure.com/consolidated-additional-properties"});
      break;
  }
  ignored.insert(also.begin(), also.end());
  return ignored;
}

// In thousandths and in floating point, as upstream compares.
bool Within(const Quantity& a, const Quantity& b, double ratio) {
  const auto x = static_cast<double>(a.MilliValue());
  const auto y = static_cast<double>(b.MilliValue());
  const double larger = std::max(x, y);
  return larger - std::min(x, y) <= larger * ratio;
}

// The first name for which `same` fails, or that only one side has. Empty if there is none.
template <class List, class Same>
std::string FirstDifference(const List& a, const List& b, Same same) {
  for (const auto& [name, value] : a) {
    const auto* other = b.Find(name);
    if (other == nullptr || !same(name, value, *other)) return name;
  }
  for (const auto& [name, value] : b) {
    if (!a.contains(name)) return name;
  }
  return "";
}

std::string Shown(const Quantity* quantity) {
  return quantity == nullptr ? "none" : quantity->ToString();
}

Similarity Different(std::string_view what, const std::string& name, const ResourceList& a,
                     const ResourceList& b) {
  return {.similar = false,
          .difference = std::string(what) + " " + name + ": " + Shown(a.Find(name)) + " and " +
                        Shown(b.Find(name))};
}

void AddWrapping(int64_t& sum, int64_t more) {  // as Go's arithmetic does
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(more));
}

// What the pods of the template leave. Names: those that pods always have, and what these pods ask
// for beyond.
ResourceList FreeOf(const NodeTemplate& node_template) {
  model::PodRequests used;
  model::FlatMap<int64_t> extended;
  for (const model::Pod& pod : node_template.pods) {
    const model::PodRequests requests = model::PlacedRequests(pod);
    AddWrapping(used.cpu_millis, requests.cpu_millis);
    AddWrapping(used.memory_bytes, requests.memory_bytes);
    AddWrapping(used.ephemeral_bytes, requests.ephemeral_bytes);
    for (const auto& [name, amount] : requests.extended) AddWrapping(extended[name], amount);
  }
  ResourceList free;
  const auto put = [&](std::string_view name, const Quantity& taken) {
    const Quantity* allocatable = node_template.node.status.allocatable.Find(name);
    Quantity left = allocatable == nullptr ? Quantity() : *allocatable;
    left.Sub(taken);
    free[name] = left;
  };
  put(model::kCpu, Quantity::FromMillis(used.cpu_millis));
  put(model::kMemory, Quantity::FromUnits(used.memory_bytes));
  put(model::kEphemeralStorage, Quantity::FromUnits(used.ephemeral_bytes));
  put(model::kPods, Quantity());  // places are not counted as taken
  for (const auto& [name, amount] : extended) put(name, Quantity::FromUnits(amount));
  return free;
}

bool SamePool(const NodeTemplate& a, const NodeTemplate& b, std::string_view label) {
  const std::string* x = a.node.metadata.labels.Find(label);
  const std::string* y = b.node.metadata.labels.Find(label);
  return x != nullptr && y != nullptr && !x->empty() && *x == *y;
}

Similarity Compare(const NodeTemplate& a, const NodeTemplate& b, const LabelNames& ignored,
                   const DifferenceRatios& ratios) {
  const auto capacity = [&](const std::string& name, const Quantity& x, const Quantity& y) {
    return name == model::kMemory ? Within(x, y, ratios.capacity_memory) : x == y;
  };
  const model::NodeStatus& x = a.node.status;
  const model::NodeStatus& y = b.node.status;
  if (const std::string name = FirstDifference(x.capacity, y.capacity, capacity); !name.empty()) {
    return Different("capacity", name, x.capacity, y.capacity);
  }
  const auto within = [](double ratio) {
    return [ratio](const std::string&, const Quantity& p, const Quantity& q) {
      return Within(p, q, ratio);
    };
  };
  if (const std::string name =
          FirstDifference(x.allocatable, y.allocatable, within(ratios.allocatable));
      !name.empty()) {
    return Different("allocatable", name, x.allocatable, y.allocatable);
  }
  const ResourceList free_a = FreeOf(a);
  const ResourceList free_b = FreeOf(b);
  if (const std::string name = FirstDifference(free_a, free_b, within(ratios.free));
      !name.empty()) {
    return Different("free", name, free_a, free_b);
  }
  const auto counted = [&](const model::Labels& labels) {
    model::Labels rest;
    for (const auto& [name, value] : labels) {
      if (!ignored.contains(name)) rest[name] = value;
    }
    return rest;
  };
  const std::string label = FirstDifference(
      counted(a.node.metadata.labels), counted(b.node.metadata.labels),
      [](const std::string&, const std::string& p, const std::string& q) { return p == q; });
  if (!label.empty()) return {.similar = false, .difference = "label " + label};
  return {};
}

}  // namespace

SimilarityCheck CompareTemplates(LabelFlavor flavor, const std::vector<std::string>& also_ignored,
                                 const DifferenceRatios& ratios) {
  return [flavor, ratios, ignored = IgnoredLabels(flavor, also_ignored)](const NodeTemplate& a,
                                                                         const NodeTemplate& b) {
    if (flavor == LabelFlavor::kAzure &&
        (SamePool(a, b, kAzurePool) || SamePool(a, b, kAzureOldPool))) {
      return Similarity{};
    }
    return Compare(a, b, ignored, ratios);
  };
}

SimilarityCheck CompareLabels(const std::vector<std::string>& labels) {
  return [labels](const NodeTemplate& a, const NodeTemplate& b) -> Similarity {
    for (const std::string& label : labels) {
      const std::string* x = a.node.metadata.labels.Find(label);
      const std::string* y = b.node.metadata.labels.Find(label);
      if (x == nullptr || y == nullptr || *x != *y)
        return {.similar = false, .difference = "label " + label};
    }
    return {};
  };
}

SimilarityCheck SimilarityFrom(const SimilarityOptions& options, std::string_view cloud_provider) {
  if (!options.balancing_label.empty()) return CompareLabels(options.balancing_label);
  const std::pair<std::string_view, LabelFlavor> clouds[] = {
      {"aws", LabelFlavor::kAws}, {"gce", LabelFlavor::kGce}, {"azure", LabelFlavor::kAzure}};
  for (const auto& [name, flavor] : clouds) {
    if (name != cloud_provider) continue;
    return CompareTemplates(flavor, options.balancing_ignore_label,
                            {.capacity_memory = options.memory_difference_ratio,
                             .allocatable = options.max_allocatable_difference_ratio,
                             .free = options.max_free_difference_ratio});
  }
  return CompareTemplates(LabelFlavor::kGeneric, {}, {});
}

Result<std::vector<GroupSize>> Balance(std::vector<GroupSize> groups, int new_nodes) {
  if (groups.empty()) return Internal("Can't balance scale up between 0 groups");
  int room = 0;
  std::vector<GroupSize> sorted;
  for (GroupSize& group : groups) {
    group.planned = group.current;
    if (group.current == group.max) continue;
    room += std::max(group.max - group.current, 0);
    sorted.push_back(std::move(group));
  }
  // Upstream's sort is not stable: above twelve groups its steps say who of equals is first.
  GoSort(sorted, [](const GroupSize& a, const GroupSize& b) { return a.current < b.current; });

  // Before `open` stand the full groups. The cursor gives a node and moves on while the next group
  // is smaller, and starts again at the first open one otherwise. Who gets the remainder depends on
  // exactly these steps.
  size_t open = 0;
  size_t cursor = 0;
  for (int left = std::min(new_nodes, room); left > 0;) {
    if (sorted[cursor].planned < sorted[cursor].max) {
      ++sorted[cursor].planned;
      --left;
    } else {
      std::swap(sorted[open], sorted[cursor]);
      ++open;
    }
    const bool next_is_smaller =
        cursor + 1 < sorted.size() && sorted[cursor].planned > sorted[cursor + 1].planned;
    cursor = next_is_smaller ? cursor + 1 : open;
  }
  std::erase_if(sorted, [](const GroupSize& group) { return group.planned == group.current; });
  return sorted;
}

}  // namespace coppice::autoscale
