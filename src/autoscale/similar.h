// Similar node groups: which groups are the same but for the zone, and how new nodes are spread
// over them.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/options.h"
#include "autoscale/templates.h"
#include "base/status.h"

namespace coppice::autoscale {

// By how much two templates may differ, relative to the larger amount.
struct DifferenceRatios {
  double capacity_memory = 0.015;
  double allocatable = 0.05;
  double free = 0.05;
};

struct Similarity {
  bool similar = true;
  std::string difference = {};  // the first that was found, with both sides
};

// Symmetric. Pure.
using SimilarityCheck = std::function<Similarity(const NodeTemplate&, const NodeTemplate&)>;

// Which labels do not count, besides those that every cloud's nodes differ in.
enum class LabelFlavor { kGeneric, kAws, kGce, kAzure };

// Same resources within the ratios and same labels but the ignored ones. Taints are not compared.
// Azure: nodes of one node pool are similar whatever else differs.
SimilarityCheck CompareTemplates(LabelFlavor flavor, const std::vector<std::string>& also_ignored,
                                 const DifferenceRatios& ratios);
// All of these labels there and equal, and nothing else looked at.
SimilarityCheck CompareLabels(const std::vector<std::string>& labels);

// What the options ask for: --balancing-label, or the templates. The ratios and
// --balancing-ignore-label reach only the three clouds' own comparisons, as upstream has it; every
// other provider gets the defaults.
SimilarityCheck SimilarityFrom(const SimilarityOptions& options, std::string_view cloud_provider);

struct GroupSize {
  std::string group;
  int current = 0;
  int max = 0;
  int planned = 0;
  friend bool operator==(const GroupSize&, const GroupSize&) = default;
};

// Gives `new_nodes` one by one to the smallest group that has room, so that sizes level out; no
// more than there is room for. Only groups that change are returned, in the order in which upstream
// resizes them. `planned` is ignored on the way in. An error if there is no group at all.
Result<std::vector<GroupSize>> Balance(std::vector<GroupSize> groups, int new_nodes);

}  // namespace coppice::autoscale
