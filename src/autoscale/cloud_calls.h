// CloudCalls: the cloud's slow verbs as coroutines. Each call runs on a worker and is answered on
// the decision thread, so that a slow cloud stops nobody else. With InlineWorkers it runs on the
// spot: for tests and simulations.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/on_worker.h"
#include "base/pool.h"
#include "cloud/node_groups.h"

namespace coppice::autoscale {

struct CallTimeouts {
  Duration refresh = std::chrono::seconds(30);
  Duration change = std::chrono::minutes(1);
};

class CloudCalls {
 public:
  CloudCalls(cloud::NodeGroups& groups, Workers& workers, Executor& executor,
             CallTimeouts timeouts = {})
      : groups_(groups), workers_(workers), executor_(executor), timeouts_(timeouts) {}

  Task<Status> Refresh();
  // `all_or_nothing` falls back to an ordinary increase where the provider has no atomic one.
  Task<Status> Increase(std::string group, int delta, bool all_or_nothing);
  Task<Status> Delete(std::string group, std::vector<cloud::NodeRef> nodes);
  Task<Status> DecreaseTarget(std::string group, int delta);
  // Anything else that waits for the outside (base/on_worker.h).
  Task<Status> Elsewhere(std::function<void()> work) {
    return OnWorker(workers_, executor_, std::move(work));
  }

 private:
  Task<Status> Run(std::function<Status()> call);

  cloud::NodeGroups& groups_;
  Workers& workers_;
  Executor& executor_;
  CallTimeouts timeouts_;
};

}  // namespace coppice::autoscale
