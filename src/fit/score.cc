#include "fit/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "model/taints.h"

namespace coppice::fit {
namespace {

template <class Of>
int64_t WeightedScore(std::span<const ScoredResource> resources, Of of) {
  int64_t sum = 0;
  int64_t weights = 0;
  for (const ScoredResource& resource : resources) {
    if (resource.allocatable == 0) continue;
    sum += of(resource) * resource.weight;
    weights += resource.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

}  // namespace

int64_t LeastAllocatedScore(std::span<const ScoredResource> resources) {
  return WeightedScore(resources, [](const ScoredResource& r) -> int64_t {
    if (r.requested > r.allocatable) return 0;
    return (r.allocatable - r.requested) * kMaxNodeScore / r.allocatable;
  });
}

int64_t MostAllocatedScore(std::span<const ScoredResource> resources) {
  return WeightedScore(resources, [](const ScoredResource& r) {
    return std::min(r.requested, r.allocatable) * kMaxNodeScore / r.allocatable;
  });
}

namespace {

// How evenly the resources are used, 100 being the most.
template <class Amount>
int64_t Evenness(std::span<const ScoredResource> resources, Amount amount) {
  std::vector<double> fractions;
  double total = 0;
  for (const ScoredResource& r : resources) {
    if (r.allocatable == 0) continue;
    fractions.push_back(
        std::min(static_cast<double>(amount(r)) / static_cast<double>(r.allocatable), 1.0));
    total += fractions.back();
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    const auto count = static_cast<double>(fractions.size());
    const double mean = total / count;
    double sum = 0;
    for (const double fraction : fractions) sum += (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(sum / count);
  }
  return static_cast<int64_t>((1 - deviation) * static_cast<double>(kMaxNodeScore));
}

}  // namespace

int64_t BalancedAllocationScore(std::span<const ScoredResource> resources) {
  const int64_t with = Evenness(resources, [](const ScoredResource& r) { return r.requested; });
  const int64_t without = Evenness(resources, [](const ScoredResource& r) { return r.held; });
  return kMaxNodeScore / 2 + (kMaxNodeScore / 2 + with - without) / 2;
}

void NormalizeByMax(std::span<int64_t> scores, bool reversed) {
  int64_t most = 0;
  for (const int64_t score : scores) most = std::max(most, score);
  for (int64_t& score : scores) {
    if (most != 0) score = kMaxNodeScore * score / most;
    if (reversed) score = kMaxNodeScore - score;
  }
  if (most == 0 && reversed) std::ranges::fill(scores, kMaxNodeScore);
}

void NormalizeByRange(std::span<int64_t> scores) {
  if (scores.empty()) return;
  const auto [least, most] = std::ranges::minmax(scores);
  const int64_t range = most - least;
  for (int64_t& score : scores) {
    const double part =
        range > 0 ? static_cast<double>(score - least) / static_cast<double>(range) : 0;
    score = static_cast<int64_t>(static_cast<double>(kMaxNodeScore) * part);
  }
}

PreferredNodeAffinity::PreferredNodeAffinity(const model::PodSpec& spec) {
  if (!spec.affinity || !spec.affinity->node_affinity) return;
  for (const model::PreferredSchedulingTerm& preferred : spec.affinity->node_affinity->preferred) {
    Term term{.term = model::CompiledNodeTerm(preferred.preference), .weight = preferred.weight};
    if (!term.term.empty() && term.weight != 0) terms_.push_back(std::move(term));
  }
}

int64_t PreferredNodeAffinity::Score(const model::Labels& labels,
                                     std::string_view node_name) const {
  int64_t score = 0;
  for (const Term& term : terms_) {
    if (term.term.Matches(labels, node_name)) score += term.weight;
  }
  return score;
}

int64_t UntoleratedWishes(const std::vector<model::Taint>& taints,
                          const std::vector<model::Toleration>& tolerations) {
  return std::ranges::count_if(taints, [&](const model::Taint& taint) {
    if (taint.effect != model::kPreferNoSchedule) return false;
    return std::ranges::none_of(tolerations, [&](const model::Toleration& toleration) {
      return (toleration.effect.empty() || toleration.effect == model::kPreferNoSchedule) &&
             model::Tolerates(toleration, taint);
    });
  });
}

int64_t ImageLocalityScore(int64_t scaled_bytes, size_t containers) {
  constexpr int64_t kMebibyte = 1024 * 1024;
  constexpr int64_t kLeast = 23 * kMebibyte;
  const int64_t most = 1000 * kMebibyte * static_cast<int64_t>(containers);
  const int64_t bytes = std::clamp(scaled_bytes, kLeast, std::max(kLeast, most));
  if (most <= kLeast) return 0;
  return kMaxNodeScore * (bytes - kLeast) / (most - kLeast);
}

std::string NormalizedImageName(std::string_view image) {
  const size_t colon = image.rfind(':');
  const size_t slash = image.rfind('/');
  const auto place = [](size_t at) {
    return at == std::string_view::npos ? int64_t{-1} : static_cast<int64_t>(at);
  };
  std::string name(image);
  if (place(colon) <= place(slash)) name += ":latest";
  return name;
}

}  // namespace coppice::fit
