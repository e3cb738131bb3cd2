#include "model/resources.h"

#include <algorithm>

#include "model/label_names.h"

namespace coppice::model {
namespace {

constexpr std::string_view kNativeDomain = "kubernetes.io/";
constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kQuotaPrefix = "requests.";

// What a pod without requests is taken for when nodes are scored (kube-scheduler's constants).
constexpr int64_t kDefaultCpuMillis = 100;
constexpr int64_t kDefaultMemoryBytes = int64_t{200} << 20;

struct Options {
  bool use_status = false;                 // in-place resize: the pod is on a node
  const ResourceList* defaults = nullptr;  // for what a container does not ask for
  bool containers_only = false;
};

void AddAll(ResourceList& sum, const ResourceList& more) {
  for (const auto& [name, amount] : more) {
    if (sum.contains(name)) {
      sum[name].Add(amount);
    } else {
      sum[name] = amount;
    }
  }
}

void TakeMax(ResourceList& most, const ResourceList& other) {
  for (const auto& [name, amount] : other) {
    const Quantity* present = most.Find(name);
    if (present == nullptr) {
      most[name] = amount;
    } else if (amount.Compare(*present) > 0) {
      const bool was_big = present->is_big();
      Quantity& slot = most[name];
      slot = amount;
      // Upstream's comparison leaves the winner in the big form, which answers differently at the
      // limits.
      if (was_big) slot.ToBig();
    }
  }
}

bool IsPodLevelResource(std::string_view name) {
  return name == kCpu || name == kMemory || name.starts_with(kHugePages);
}

bool HasPodLevel(const ResourceList& list) {
  return std::ranges::any_of(list,
                             [](const auto& entry) { return IsPodLevelResource(entry.first); });
}

bool ResizeInfeasible(const Pod& pod) {
  const auto it = std::ranges::find(pod.status.conditions, "PodResizePending", &PodCondition::type);
  return it != pod.status.conditions.end() && it->reason == "Infeasible";
}

// A resize is paid for from the moment it is asked for, unless the kubelet said that it cannot be.
ResourceList Effective(const Pod& pod, const ResourceList& spec, const ResourceList& actual,
                       const ResourceList& allocated) {
  ResourceList most = ResizeInfeasible(pod) ? actual : spec;
  TakeMax(most, actual);
  TakeMax(most, allocated);
  return most;
}

bool IsSidecar(const Container& container) { return container.restart_policy == "Always"; }

const ContainerStatus* StatusOf(const Pod& pod, const std::string& container) {
  const ContainerStatus* found =
      nullptr;  // the last of that name, init containers after the others
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    for (const ContainerStatus& status : *list) {
      if (status.name == container) found = &status;
    }
  }
  return found;
}

ResourceList RequestsOf(const Pod& pod, const Container& container, bool resizable,
                        const Options& options) {
  ResourceList requests = container.resources.requests;
  if (options.use_status && resizable) {
    const ContainerStatus* status = StatusOf(pod, container.name);
    if (status != nullptr && status->resources) {
      requests = Effective(pod, requests, status->resources->requests, status->allocated_resources);
    }
  }
  if (options.defaults != nullptr) {
    for (const auto& [name, amount] : *options.defaults) {
      if (!requests.contains(name)) requests[name] = amount;
    }
  }
  return requests;
}

// All containers together; but while an init container runs, it and the sidecars started before it
// may need more. `of` yields the amounts of one container, told whether it runs as long as the pod
// does.
template <class Of>
ResourceList Aggregate(const Pod& pod, const Of& of) {
  ResourceList sum;
  for (const Container& container : pod.spec.containers) AddAll(sum, of(container, true));
  ResourceList sidecars;
  ResourceList peak;
  for (const Container& container : pod.spec.init_containers) {
    const bool sidecar = IsSidecar(container);
    ResourceList amounts = of(container, sidecar);
    if (sidecar) {
      AddAll(sum, amounts);
      AddAll(sidecars, amounts);
      TakeMax(peak, sidecars);
    } else {
      AddAll(amounts, sidecars);
      TakeMax(peak, amounts);
    }
  }
  TakeMax(sum, peak);
  return sum;
}

ResourceList Requests(const Pod& pod, const Options& options) {
  ResourceList sum = Aggregate(pod, [&](const Container& container, bool resizable) {
    return RequestsOf(pod, container, resizable, options);
  });
  if (!options.containers_only && pod.spec.resources && HasPodLevel(pod.spec.resources->requests)) {
    const ResourceList& spec = pod.spec.resources->requests;
    ResourceList effective;
    const bool resized = options.use_status && pod.status.resources;
    if (resized) {
      effective =
          Effective(pod, spec, pod.status.resources->requests, pod.status.allocated_resources);
    }
    for (const auto& [name, amount] : spec) {
      if (!IsPodLevelResource(name)) continue;
      if (!resized) {
        sum[name] = amount;
      } else {
        const Quantity* found = effective.Find(name);
        sum[name] = found != nullptr ? *found : Quantity();
      }
    }
  }
  AddAll(sum, pod.spec.overhead);
  return sum;
}

// cpu and memory with more than nothing asked, summed over what QoS looks at.
void AddForQos(ResourceList& sum, const ResourceList& list) {
  for (const std::string_view name : {kCpu, kMemory}) {
    const Quantity* amount = list.Find(name);
    if (amount != nullptr && amount->Sign() > 0) sum[name].Add(*amount);
  }
}

bool LimitsBoth(const ResourceList& limits) {
  return std::ranges::all_of(std::initializer_list<std::string_view>{kCpu, kMemory},
                             [&](std::string_view name) {
                               const Quantity* amount = limits.Find(name);
                               return amount != nullptr && amount->Sign() > 0;
                             });
}

}  // namespace

int64_t PodRequests::Extended(std::string_view name) const {
  const auto it = std::ranges::lower_bound(
      extended, name, {}, [](const auto& entry) -> std::string_view { return entry.first; });
  return it != extended.end() && it->first == name ? it->second : 0;
}

bool IsExtendedResource(std::string_view name) {
  if (name.find('/') == name.npos || name.find(kNativeDomain) != name.npos) return false;
  if (name.starts_with(kQuotaPrefix)) return false;
  return WrongWithLabelKey(std::string(kQuotaPrefix).append(name)).empty();
}

bool IsScalarResource(std::string_view name) {
  return name.starts_with(kHugePages) || name.starts_with("attachable-volumes-") ||
         name.find(kNativeDomain) != name.npos || IsExtendedResource(name);
}

NodeAmounts ToNodeAmounts(const ResourceList& list) {
  NodeAmounts amounts;
  for (const auto& [name, amount] : list) {  // sorted by name, and so is `extended`
    if (name == kCpu) {
      amounts.cpu_millis = amount.MilliValue();
    } else if (name == kMemory) {
      amounts.memory_bytes = amount.Value();
    } else if (name == kEphemeralStorage) {
      amounts.ephemeral_bytes = amount.Value();
    } else if (name == kPods) {
      amounts.pods = amount.Value();
    } else if (IsScalarResource(name)) {
      amounts.extended.emplace_back(name, amount.Value());
    }
  }
  return amounts;
}

PodRequests ToRequests(const ResourceList& list) { return ToNodeAmounts(list); }

ResourceList RequestList(const Pod& pod) { return Requests(pod, {}); }

ResourceList LimitList(const Pod& pod) {
  ResourceList sum =
      Aggregate(pod, [](const Container& container, bool) { return container.resources.limits; });
  if (pod.spec.resources) {
    for (const auto& [name, amount] : pod.spec.resources->limits) {
      if (IsPodLevelResource(name)) sum[name] = amount;
    }
  }
  for (const auto& [name, amount] : pod.spec.overhead) {  // no limit stays no limit
    const Quantity* limit = sum.Find(name);
    if (limit != nullptr && !limit->IsZero()) sum[name].Add(amount);
  }
  return sum;
}

PodRequests IncomingRequests(const Pod& pod) {
  PodRequests requests = ToRequests(RequestList(pod));
  for (int64_t* amount :
       {&requests.cpu_millis, &requests.memory_bytes, &requests.ephemeral_bytes}) {
    *amount = std::max<int64_t>(*amount, 0);
  }
  for (auto& [name, amount] : requests.extended) amount = std::max<int64_t>(amount, 0);
  return requests;
}

ResourceList PlacedRequestList(const Pod& pod) { return Requests(pod, {.use_status = true}); }

PodRequests PlacedRequests(const Pod& pod) { return ToRequests(PlacedRequestList(pod)); }

NonZeroRequests ScoringRequests(const Pod& pod) {
  const ResourceList asked = Requests(pod, {.use_status = true});
  const bool pod_level = pod.spec.resources && HasPodLevel(pod.spec.resources->requests);
  // With pod-level resources, a default only for what neither the pod nor any container asks for.
  ResourceList defaults;
  if (!pod_level || !asked.contains(kCpu)) defaults[kCpu] = Quantity::FromMillis(kDefaultCpuMillis);
  if (!pod_level || !asked.contains(kMemory))
    defaults[kMemory] = Quantity::FromUnits(kDefaultMemoryBytes);
  const PodRequests amounts =
      ToRequests(Requests(pod, {.use_status = true, .defaults = &defaults}));
  return {.cpu_millis = amounts.cpu_millis, .memory_bytes = amounts.memory_bytes};
}

NonZeroRequests IncomingScoringRequests(const Pod& pod) {
  ResourceList defaults;
  defaults[kCpu] = Quantity::FromMillis(kDefaultCpuMillis);
  defaults[kMemory] = Quantity::FromUnits(kDefaultMemoryBytes);
  const PodRequests amounts =
      ToRequests(Requests(pod, {.defaults = &defaults, .containers_only = true}));
  return {.cpu_millis = amounts.cpu_millis, .memory_bytes = amounts.memory_bytes};
}

std::string_view QosClass(const Pod& pod) {
  ResourceList requests;
  ResourceList limits;
  bool guaranteed = true;
  if (pod.spec.resources) {
    AddForQos(requests, pod.spec.resources->requests);
    AddForQos(limits, pod.spec.resources->limits);
    // Pod-level requests without any limit stay a candidate here, and fail below for want of an
    // equal limit.
    if (!pod.spec.resources->limits.empty()) guaranteed = LimitsBoth(pod.spec.resources->limits);
  } else {
    for (const auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
      for (const Container& container : *containers) {
        AddForQos(requests, container.resources.requests);
        AddForQos(limits, container.resources.limits);
        guaranteed = guaranteed && LimitsBoth(container.resources.limits);
      }
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  return guaranteed && requests == limits ? "Guaranteed" : "Burstable";
}

int32_t PriorityOf(const Pod& pod) { return pod.spec.priority.value_or(0); }

}  // namespace coppice::model
