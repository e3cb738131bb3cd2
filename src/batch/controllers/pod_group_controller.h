// PodGroupController: a group for every pod of ours that has none: one per owner, so that the pods
// of a Deployment or a Job share one, or per pod. In the place of Volcano's own.
//
// Decision thread.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "batch/turnstile.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "model/batch.h"

namespace coppice::batch {

class PodGroupController {
 public:
  struct Parts {
    cluster::World& world;
    cluster::ObjectWriter& writer;
    Executor& executor;
    const Log& log;
    std::vector<std::string> scheduler_names;
    std::string default_queue;  // of pods that name none
    std::function<void()> wake;
  };
  explicit PodGroupController(Parts parts)
      : parts_(std::move(parts)), doors_(parts_.executor, kAtOnce) {}

  void Sync();
  size_t under_way() const { return busy_.size(); }

 private:
  static constexpr size_t kAtOnce = 64;
  static constexpr Duration kAgain = std::chrono::seconds(1);

  // Its metadata if the World has it; null: an owner of a kind that we do not read, or none.
  const model::ObjectMeta* OwnerMeta(const model::Pod& pod) const;
  std::string GroupJson(const model::Pod& pod, const std::string& name) const;
  coppice::Task<void> GiveGroup(cluster::PodPtr pod, std::string group, bool make);

  const Parts parts_;
  Turnstile doors_;
  std::set<std::string> busy_;  // uids of pods
};

// "podgroup-" and the uid of its owner, or its own.
std::string GroupNameFor(const model::Pod& pod);

}  // namespace coppice::batch
