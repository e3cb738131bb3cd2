// Outcome: what a session wants done, as values. Whoever runs it carries it out.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/batch.h"
#include "model/pod.h"

namespace coppice::batch {

class BindDelegate;

struct Outcome {
  struct PodRef {
    std::string namespace_;
    std::string name;
    std::string uid;
    std::string key() const { return namespace_ + "/" + name; }
  };
  struct Bind {
    PodRef pod;
    std::string node;
    std::map<std::string, std::string> annotations = {};  // go to the pod in the same write
    std::shared_ptr<const BindDelegate> delegate = {};    // null: the scheduler binds
  };
  struct Eviction {
    PodRef pod;
    std::string reason;
  };
  struct PodCondition {  // PodScheduled=False
    PodRef pod;
    std::string reason;
    std::string message;
    std::string nominated_node;  // empty: leave it
  };
  struct EventNote {
    std::string kind;  // PodGroup, Pod
    std::string namespace_;
    std::string name;
    std::string type;  // Normal, Warning
    std::string reason;
    std::string message;
  };
  struct GroupStatus {
    std::string namespace_;
    std::string name;
    model::PodGroupStatus status;
    bool changed = false;  // and is to be written
  };
  struct QueueAllocated {
    std::string queue;
    model::ResourceList allocated;
  };

  std::vector<Bind> binds;  // in this order
  std::vector<Eviction> evictions;
  std::vector<GroupStatus> groups;  // all, by id
  std::vector<PodCondition> conditions;
  std::vector<QueueAllocated> queues;  // whose amount has changed
  std::vector<EventNote> events;
  // The session ended early and nothing after that was decided: why.
  Status failure;
};

}  // namespace coppice::batch
