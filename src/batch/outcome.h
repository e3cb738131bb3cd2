// Outcome: what a session wants done, as values. Whoever runs it carries it out.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
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
    // What its annotation is to say of where it is in the network; empty: nothing. Absent: it does.
    std::optional<std::string> hyper_node = std::nullopt;
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
  // For who counts. Times are taken if the session was given a clock.
  struct Numbers {
    std::map<std::string, int> transactions;  // that evict somebody, by action
    int preemption_attempts = 0;    // nodes that preempt would have made room on, if only it could
    std::optional<size_t> victims;  // who could go, on the last node that preempt looked at
    std::vector<std::pair<std::string, Duration>> opened;  // each plug-in
    std::vector<std::pair<std::string, Duration>> closed;
    std::vector<Duration> predicate;  // of one task each
    std::vector<Duration> scoring;
  };
  Numbers numbers;
  // The session ended early and nothing after that was decided: why.
  Status failure;
};

}  // namespace coppice::batch
