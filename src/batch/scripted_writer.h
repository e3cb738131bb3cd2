// ScriptedWriter: an API server for tests of what a session has decided: answers as it is told, and
// remembers what it was asked for.

#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/writer.h"

namespace coppice::batch {

class ScriptedWriter final : public cluster::Writer {
 public:
  // The answers to come, of every verb in turn; then OK.
  std::deque<Status> answers;
  // Where a pod is; nullopt: gone.
  std::function<std::optional<std::string>(const std::string& pod)> where;
  std::vector<std::string> asked;  // "evict p1 30", "bind p1 to n1", "patch claim {...}"
  std::vector<cluster::Event> events;

  coppice::Task<Status> ChangeNode(std::string node, cluster::NodeChange) override {
    co_return Next("change " + node);
  }
  coppice::Task<Status> Evict(cluster::PodName pod, int64_t grace) override {
    co_return Next("evict " + pod.name + " " + std::to_string(grace));
  }
  coppice::Task<Status> DeletePod(cluster::PodName pod, int64_t grace) override {
    co_return Next("delete " + pod.name + " " + std::to_string(grace));
  }
  coppice::Task<Status> Bind(cluster::PodName pod, std::string node, Annotations) override {
    co_return Next("bind " + pod.name + " to " + node);
  }
  coppice::Task<Status> ChangePodStatus(cluster::PodName pod,
                                        cluster::PodStatusChange change) override {
    std::string types;
    for (const model::PodCondition& condition : change.conditions) types += " " + condition.type;
    co_return Next("tell " + pod.name + types);
  }
  coppice::Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override {
    co_return where ? where(pod.name) : std::optional<std::string>("");
  }
  coppice::Task<Result<std::string>> UpdateObject(cluster::ObjectName object,
                                                  std::string patch) override {
    const Status status = Next("patch " + object.resource + " " + object.name);
    patches.push_back(std::move(patch));
    if (!status.ok()) co_return status;
    co_return patches.back();
  }
  void Emit(cluster::Event event) override { events.push_back(std::move(event)); }

  std::vector<std::string> patches;

 private:
  Status Next(std::string what) {
    asked.push_back(std::move(what));
    if (answers.empty()) return Status::Ok();
    const Status answer = answers.front();
    answers.pop_front();
    return answer;
  }
};

}  // namespace coppice::batch
