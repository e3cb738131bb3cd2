// Cloud: all that the engine asks of a place that rents machines.
//
// Four verbs and no policy. Node groups, target sizes, bounded fan-out, the roll-back of partial
// failures and the hunt for orphans are written once, above this interface, in order_book.h,
// cloud_node_groups.h (the Cluster Autoscaler contract) and cloud_node_claims.h (Karpenter's).
//
// Calls come from a small pool of threads, so an implementation holds no mutable state or guards
// it. Nobody calls Cloud while holding a lock.

#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/registry.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/yaml.h"
#include "cloud/flavor_grid.h"
#include "cloud/group_config.h"
#include "cloud/types.h"

namespace coppice::cloud {

class Cloud {
 public:
  virtual ~Cloud() = default;

  // Every machine that carries all of `tags`, in any state. The answer replaces what the caller
  // believed, so a page that could not be read is an error and never a shorter list.
  virtual Result<std::vector<Machine>> List(const Tags& tags, Deadline deadline) = 0;

  // Orders one machine; it need not be up on return. Its tags go into the same request: a crash
  // between "create" and "tag" would leave a machine that bills and belongs to nobody.
  // Codes: kResourceExhausted = quota or stock-out (back-off class 1); kInvalidArgument = the order
  // itself is wrong; kUnavailable and kDeadlineExceeded = unknown whether it happened.
  //
  // An order is repeated under its name, and the name is bought once. Who looks: both. The caller
  // repeats an order only after a list that was late enough has not shown its machine; the
  // implementation looks for the name before it creates, for lists lag and processes restart, and
  // answers with the machine that is there (or kAlreadyExists). One whose API has nothing to look
  // by says so in its conformance test (kCallerLooks); it is then bought twice when a list lags for
  // longer than the caller waits. The name of a machine that is gone is free again.
  virtual Result<Machine> Create(const MachineSpec& spec, Deadline deadline) = 0;

  // Ends one machine. kNotFound is how an implementation says "already gone".
  virtual Status Delete(const ProviderId& id, Deadline deadline) = 0;

  // What can be ordered: the hardware as sold. What the kubelet leaves of it for pods is worked
  // out once, in template.h. Out of stock stays listed, marked so: not now is not never.
  virtual Result<std::vector<Flavor>> Flavors(Deadline deadline) = 0;

  // What follows has a default: a cloud that has nothing to add implements the four verbs only.

  // Does this id have the form of one of ours? A malformed id is refused before anything is looked
  // up.
  virtual bool OwnsId(const ProviderId& id) const { return !id.empty(); }

  // With which every id of this cloud begins, "acme://"; "": not said. For a server that speaks for
  // this cloud to others.
  virtual std::string IdPrefix() const { return ""; }

  // Start-up check of one group against the real API: a sentence per mistake (flavor, image, zone,
  // network that do not exist). An error: the check itself could not be made. By default the flavor
  // has to be one of Flavors() and sold in the group's zone.
  virtual Result<std::vector<std::string>> Validate(const GroupConfig& group, Deadline deadline);

  // What an order of this group needs beyond the fields of MachineSpec (networks, ssh keys, server
  // groups). Whoever fills a MachineSpec puts the answer into its `extra` unread; Create() reads it
  // back.
  virtual std::map<std::string, std::string> Extra(const GroupConfig& group) const {
    return group.extra;
  }

  // Hardware of any measure, beside Flavors(): as of the last time that those were asked for. Its
  // flavors can be ordered by their names (FlavorGrid::NameOf). Calls nobody.
  virtual std::optional<FlavorGrid> Grid() const { return std::nullopt; }

  // Label that marks a node with GPUs of this cloud, "" if there is none.
  virtual std::string GpuLabel() const { return ""; }

  // Under which the metrics of node groups on this cloud are shown. A cloud that takes the place of
  // somebody else's provider keeps that one's names.
  virtual std::string MetricPrefix() const { return "coppice_provider"; }
};

// What a cloud's factory is given. All references outlive the cloud.
struct CloudContext {
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  // The `cloud:` part of the configuration file; absent keys read as empty.
  yaml::Node config;
  // Complaints about it, with file, line and column.
  yaml::Problems& problems;
};

// How a cloud is made, and what every one of its node groups has to say in the file.
class CloudFactory {
 public:
  using Make = std::function<Result<std::unique_ptr<Cloud>>(const CloudContext&)>;

  // `required` are keys of an element of nodeGroups beside name and flavor, which every cloud
  // needs; "extra.KEY" is one of the cloud's own. They are given here and not asked of a Cloud,
  // because a file is checked where there is no token to make one with.
  template <class F>
    requires(!std::same_as<F, CloudFactory>) && std::constructible_from<Make, F>
  CloudFactory(F make, std::vector<std::string> required = {})  // NOLINT: a function is one
      : make_(std::move(make)), required_group_keys_(std::move(required)) {}

  Result<std::unique_ptr<Cloud>> operator()(const CloudContext& context) const {
    return make_(context);
  }
  const std::vector<std::string>& required_group_keys() const { return required_group_keys_; }

 private:
  Make make_;
  std::vector<std::string> required_group_keys_;
};
using CloudRegistry = Registry<CloudFactory>;

}  // namespace coppice::cloud
