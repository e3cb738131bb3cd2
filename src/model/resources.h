// What a pod asks of a node, as kube-scheduler works it out: containers together, the peaks of init
// containers, sidecars, overhead, pod-level resources, and what an in-place resize left in the
// status.
//
// Amounts are added exactly, as quantities, and only the pod's total is rounded up. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace coppice::model {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kEphemeralStorage = "ephemeral-storage";
inline constexpr std::string_view kPods = "pods";

// A resource list in the units that filters compute in. Names that do not count are gone.
struct PodRequests {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int64_t ephemeral_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> extended;  // sorted by name; zero amounts are kept

  int64_t Extended(std::string_view name) const;  // 0 if absent
  friend bool operator==(const PodRequests&, const PodRequests&) = default;
};

// A node's allocatable, in the same units.
struct NodeAmounts : PodRequests {
  int64_t pods = 0;
  friend bool operator==(const NodeAmounts&, const NodeAmounts&) = default;
};

// Besides cpu, memory, ephemeral-storage and pods: extended resources (with a domain), hugepages-*,
// attachable-volumes-* and names under kubernetes.io/. Others ("storage", "oddball") are ignored.
bool IsScalarResource(std::string_view name);
// A name with a domain that is not kubernetes.io's, and valid as a quota: what device plug-ins
// offer.
bool IsExtendedResource(std::string_view name);

PodRequests ToRequests(const ResourceList& list);
NodeAmounts ToNodeAmounts(const ResourceList& allocatable);

// The exact sums, as `kubectl describe` would show them.
ResourceList RequestList(const Pod& pod);
ResourceList LimitList(const Pod& pod);
// As PlacedRequests, before rounding.
ResourceList PlacedRequestList(const Pod& pod);

// What the Fit filter compares for a pod that asks for a node: from the spec alone, and never below
// zero.
PodRequests IncomingRequests(const Pod& pod);
// What a pod on a node takes there: of spec, allocated and actual resources the most (what it was
// resized to counts from the moment it is asked for, what it had until it is given up).
PodRequests PlacedRequests(const Pod& pod);

// Only for scoring: as PlacedRequests, but a container without a request counts as 100m and 200Mi.
struct NonZeroRequests {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  friend bool operator==(const NonZeroRequests&, const NonZeroRequests&) = default;
};
NonZeroRequests ScoringRequests(const Pod& pod);
// The same of a pod that has no node yet. What is asked for at the level of the pod does not count
// then: kube-scheduler forgets to tell its scorer of used resources about that level.
NonZeroRequests IncomingScoringRequests(const Pod& pod);

std::string_view QosClass(
    const Pod& pod);  // Guaranteed, Burstable, BestEffort: computed, not from the status
int32_t PriorityOf(const Pod& pod);  // 0 if none is set

}  // namespace coppice::model
