// Scores: how well a pod would sit on a node, 0 to 100, as kube-scheduler's score plug-ins say.
//
// Pure functions. Those that look at one node only are functions of a few numbers; those that
// compare candidates give raw numbers that NormalizeByMax or NormalizeByRange brings into 0..100
// over the candidates. What they read of pods elsewhere is in score_pods.h.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/node_selector.h"
#include "model/pod.h"

namespace coppice::fit {

inline constexpr int64_t kMaxNodeScore = 100;

// What would be requested of a resource with the pod on the node; an allocatable of zero does not
// count.
struct ScoredResource {
  int64_t requested = 0;
  int64_t allocatable = 0;
  int64_t weight = 1;
  int64_t held = 0;  // without the pod; only BalancedAllocationScore looks at it
};
int64_t LeastAllocatedScore(std::span<const ScoredResource> resources);
int64_t MostAllocatedScore(std::span<const ScoredResource> resources);
// 75 if the pod leaves the resources as evenly used as they were, more if it evens them out.
int64_t BalancedAllocationScore(std::span<const ScoredResource> resources);

// The largest becomes 100; reversed, what has nothing does.
void NormalizeByMax(std::span<int64_t> scores, bool reversed);
// The smallest becomes 0 and the largest 100; all 0 if they are equal.
void NormalizeByRange(std::span<int64_t> scores);

// Preferred node affinity: the weights of the terms that match. To be normalized by maximum.
class PreferredNodeAffinity {
 public:
  explicit PreferredNodeAffinity(const model::PodSpec& spec);
  bool empty() const { return terms_.empty(); }
  int64_t Score(const model::Labels& labels, std::string_view node_name) const;

 private:
  struct Term {
    model::CompiledNodeTerm term;
    int64_t weight;
  };
  std::vector<Term> terms_;
};

// PreferNoSchedule taints that the pod does not tolerate. To be normalized, reversed.
int64_t UntoleratedWishes(const std::vector<model::Taint>& taints,
                          const std::vector<model::Toleration>& tolerations);

// Of the images that a node has already: the sum of their sizes, each scaled by the part of the
// nodes that have it.
int64_t ImageLocalityScore(int64_t scaled_bytes, size_t containers);
// image:latest for an image without a tag.
std::string NormalizedImageName(std::string_view image);

}  // namespace coppice::fit
