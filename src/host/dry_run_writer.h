// --dry-run: what would have been written goes to the log and nowhere else.
//
// A removal is walked to its end as if every step had been done: an evicted pod counts as gone when
// it is asked for, so that the log shows the whole of it. The cluster itself is only read. What is asked
// for again, because nothing ever shows it, is told once: the last thing that was to be done with each
// object is remembered.
//
// Decision thread.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "cluster/writer.h"

namespace coppice::host {

class DryRunWriter final : public cluster::Writer {
 public:
  // Questions go to `real`; nothing else does.
  DryRunWriter(cluster::Writer& real, const Log& log) : real_(real), log_(log) {}

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> DeletePod(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> Bind(cluster::PodName pod, std::string node, Annotations annotations) override;
  Task<Status> ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override;
  // Answers what was handed in, with a made-up uid.
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override;
  // Answer the object as it is, which a made-up one is not.
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override;
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override;
  Task<Status> ChangeFinalizers(cluster::ObjectName object,
                                cluster::FinalizerChange change) override;
  Task<Status> DeleteObject(cluster::ObjectName object) override;
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override;
  bool pretends() const override { return true; }
  void Emit(cluster::Event event) override;

 private:
  void TellObject(std::string_view what, const cluster::ObjectName& object,
                  const std::string& change);
  // False: that was the last thing to be done with it.
  bool IsNews(const std::string& about, std::string what);

  cluster::Writer& real_;
  const Log& log_;
  // Namespace, name and uid of the pods that count as evicted, until their node was looked at.
  std::set<std::string> evicted_;
  // Soft marks that were told: no view ever shows them, so that every pass asks for them again.
  std::set<std::pair<std::string, std::string>> soft_marks_;
  std::map<std::string, std::string> told_;
  uint64_t made_up_ = 0;
};

}  // namespace coppice::host
