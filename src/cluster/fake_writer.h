// FakeWriter: an API server for tests of who writes: says yes unless told otherwise, and remembers.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster/writer.h"

namespace coppice::cluster {

class FakeWriter final : public Writer {
 public:
  struct Eviction {
    std::string pod;
    int64_t grace = 0;
    TimePoint at;
    friend bool operator==(const Eviction&, const Eviction&) = default;
  };

  explicit FakeWriter(const Clock& clock) : clock_(clock) {}

  std::function<Status(const std::string& node)> on_change;
  std::function<Status(const std::string& pod)> on_evict;
  std::function<Result<std::vector<LivePod>>(const std::string& node)> pods_on;  // null: unknown
  std::function<Result<LiveNode>(const std::string& node)> node_now;             // likewise
  bool is_dry_run = false;
  std::map<std::string, std::string> where;  // pod: node; a pod that is evicted goes at once
  bool stays = false;                        // evictions are accepted, and nobody goes

  std::vector<Eviction> evictions;
  std::vector<Event> events;
  std::vector<std::pair<std::string, NodeChange>> changes;

  Task<Status> ChangeNode(std::string node, NodeChange change) override {
    changes.emplace_back(node, change);
    co_return on_change ? on_change(node) : Status::Ok();
  }
  Task<Status> Evict(PodName pod, int64_t grace) override {
    const Status status = on_evict ? on_evict(pod.name) : Status::Ok();
    evictions.push_back({pod.name, grace, clock_.Now()});
    if (status.ok() && !stays) where.erase(pod.name);
    co_return status;
  }
  Task<Result<std::optional<std::string>>> WhereIs(PodName pod) override {
    const auto it = where.find(pod.name);
    if (it == where.end()) co_return std::optional<std::string>();
    co_return std::optional<std::string>(it->second);
  }
  Task<Result<std::vector<LivePod>>> PodsOn(std::string node) override {
    if (!pods_on) co_return Unimplemented("nobody to ask");
    co_return pods_on(node);
  }
  Task<Result<LiveNode>> NodeNow(std::string node) override {
    if (!node_now) co_return Unimplemented("nobody to ask");
    co_return node_now(node);
  }
  bool pretends() const override { return is_dry_run; }
  void Emit(Event event) override { events.push_back(std::move(event)); }

 private:
  const Clock& clock_;
};

}  // namespace coppice::cluster
