// What a cloud and we speak about: machines, flavors, orders. Plain values.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace coppice::cloud {

// "cloudscale://<uuid>": what the node's spec.providerID says. Opaque to everybody but its cloud.
using ProviderId = std::string;
using Tags = std::map<std::string, std::string>;

// Tags that make a machine ours. Both go into the create request itself.
inline constexpr char kGroupTag[] = "k8s-autoscaler-group";
inline constexpr char kClusterTag[] = "k8s-cluster";
// The same for machines of node claims: the pool. A machine with a group is never a claim's, and
// one with a pool never a group's.
inline constexpr char kPoolTag[] = "coppice-node-pool";

// Ways to buy a machine, as a cloud and node pools name them. "" is on-demand, too.
inline constexpr char kOnDemandCapacity[] = "on-demand";
inline constexpr char kSpotCapacity[] = "spot";

enum class MachineState { kCreating, kRunning, kStopped, kDeleting, kFailed };

// Why a machine is not coming; the numbers are the wire's (1 and 99).
enum class ErrorClass { kNone = 0, kOutOfResources = 1, kOther = 99 };

struct MachineError {
  ErrorClass error_class = ErrorClass::kNone;
  std::string code;     // short and stable, a label in metrics: "QUOTA_EXCEEDED"
  std::string message;  // for people

  friend bool operator==(const MachineError&, const MachineError&) = default;
};

struct Machine {
  ProviderId id;
  std::string name;
  std::string flavor;
  std::string zone;
  Tags tags;
  MachineState state = MachineState::kCreating;
  std::optional<MachineError> error;  // with kFailed
  TimePoint created_at;
  std::string capacity_type;  // "": on-demand
  std::string image;          // "": the cloud does not say

  friend bool operator==(const Machine&, const Machine&) = default;
};

// One place and way to buy a flavor.
struct FlavorOffering {
  std::string zone;
  std::string capacity_type = kOnDemandCapacity;
  std::optional<double> price_per_hour;
  bool in_stock = true;

  friend bool operator==(const FlavorOffering&, const FlavorOffering&) = default;
};

// Hardware as sold, before the kubelet takes its share.
struct Flavor {
  std::string name;
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int64_t disk_bytes = 0;  // 0: the disk is ordered separately
  std::string architecture = "amd64";
  std::string gpu_type;  // "" without GPUs
  int64_t gpu_count = 0;
  std::vector<std::string> zones;
  std::optional<double> price_per_hour;  // in the cloud's currency
  bool in_stock = true;
  // Only where price or stock differ by zone, or spot is sold: then all there are. Empty: on-demand
  // in each of `zones`, as the flavor itself says.
  std::vector<FlavorOffering> offerings;
  std::string operating_system = "linux";
  int64_t max_pods = 0;                      // 0: what the kubelet is told, else its default
  std::map<std::string, int64_t> resources;  // what a node reports beside all this, by its name

  friend bool operator==(const Flavor&, const Flavor&) = default;
};

// One order. `name` is unique per order and stays the same when the order is repeated, so that an
// implementation can find what a lost answer has already created.
struct MachineSpec {
  std::string name;
  std::string flavor;
  std::string zone;
  std::string image;
  int64_t disk_bytes = 0;
  Tags tags;
  std::string user_data;  // bytes, passed through
  // What only this cloud understands (networks, ssh keys, server groups): its own plug-in made
  // these from the group's configuration and reads them back.
  std::map<std::string, std::string> extra;
  std::string capacity_type;  // "": on-demand. Asked for only if the flavor offers it
};

}  // namespace coppice::cloud
