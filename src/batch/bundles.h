// Bundles: what can be taken from a job at once. Tasks whose loss leaves the gang ready are safe to
// take; of the rest either all go or none does.

#pragma once

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "batch/job.h"

namespace coppice::batch {

struct Bundle {
  enum class Kind : uint8_t { kSafe, kWhole } kind;
  Job* job;
  std::vector<Task*> tasks;
  Resource local;   // what goes here
  Resource global;  // what the job would lose with it; nothing if the bundle is safe
};

// Of the job's tasks in one part of the cluster.
std::vector<Bundle> MakeBundles(Job& job, std::vector<Task*> tasks);
// Without tasks that may not go, and without whole bundles of which one may not.
std::vector<Bundle> OnlyAllowed(std::vector<Bundle> bundles, const std::vector<Task*>& allowed);
// Safe ones first, then by `before` (asked both ways: an opinion that contradicts itself is none),
// then by what is gained for what is lost.
void SortBundles(std::vector<Bundle>& bundles, const Resource& need,
                 const std::function<bool(const Job&, const Job&)>& before);

Resource SumOfRequests(std::span<Task* const> tasks);

}  // namespace coppice::batch
