// LastLook: whether a node is still the one that the plan meant, and still without pods, right
// before its machine goes.
//
// A name is not an identity: between plan and deletion there are minutes of draining, in which the
// machine may have been replaced by another of the same name. What the view shows is not enough
// either, for it may be behind; so the API server itself is asked (deviations.fuses). Whether it is
// the same machine is looked at in any case, where plan and view say it.
//
// Decision thread.

#pragma once

#include <string>
#include <vector>

#include "autoscale/options.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::autoscale {

// A node on its way out, as the plan saw it.
struct Leaving {
  std::string node;
  std::string group;
  std::string uid;          // "": the plan did not know
  std::string provider_id;  // likewise
  bool drain = false;
};

class LastLook {
 public:
  LastLook(const PodOptions& options, const Deviations& deviations, cluster::Writer& writer,
           const cluster::World& world)
      : options_(options), deviations_(deviations), writer_(writer), world_(world) {}

  // What the cloud is to delete, or why the node stays.
  Task<Result<cloud::NodeRef>> At(Leaving leaving);

 private:
  Task<Status> LookAtPods(std::string node);

  const PodOptions& options_;
  const Deviations& deviations_;
  cluster::Writer& writer_;
  const cluster::World& world_;
};

}  // namespace coppice::autoscale
