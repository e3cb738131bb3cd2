// Volcano's objects as its scheduler sends them to an extender: every key that its Go types have, so
// that a server which decodes into such types takes them. Made up, and always the same.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace coppice::conform {

using Json = nlohmann::ordered_json;

struct TaskSpec {
  std::string name;
  std::string job = "conform/job";  // "namespace/podgroup"
  bool best_effort = false;
  std::string node;             // empty: pending
  size_t annotation_bytes = 0;  // to make it large
  bool null_times = false;      // creationTimestamp is null, as older libraries have it
};
Json TaskObject(const TaskSpec& spec);

// With `tasks` best-effort tasks on it.
Json NodeObject(const std::string& name, int tasks);
Json JobObject(const std::string& name, int tasks);
Json QueueObject(const std::string& name);
// What onSessionOpen is sent: one job, one queue, these nodes.
Json SessionObject(const std::vector<Json>& nodes, const std::vector<Json>& jobs);

}  // namespace coppice::conform
