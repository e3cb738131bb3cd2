// Bodies: a job, in which every task stands four times.

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "plugins/batch/extender/bodies.h"
#include "plugins/batch/extender/go_text.h"
#include "plugins/batch/extender/group_objects.h"
#include "wire/time_text.h"

namespace coppice::batch::extender {
namespace {

using TaskTexts = std::unordered_map<const Task*, std::string>;

void Named(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":";
  AppendGoText(out, text);
}

void Numbered(std::string& out, std::string_view name, int64_t number) {
  out += ",\"";
  out += name;
  out += "\":";
  AppendGoInt(out, number);
}

void AppendTime(std::string& out, std::string_view name, const std::optional<TimePoint>& time) {
  out += ",\"";
  out += name;
  out += "\":";
  if (time) {
    AppendGoText(out, wire::FormatRfc3339(*time));
  } else {
    out += "null";
  }
}

void AppendTopologyMember(std::string& out, const std::optional<model::NetworkTopology>& topology) {
  out += R"(,"NetworkTopology":)";
  if (topology) {
    AppendTopology(out, *topology);
  } else {
    out += "null";
  }
}

// By status, as a text: 128 comes before 2.
class StatusIndex {
 public:
  StatusIndex(std::span<Task* const> tasks, const TaskTexts& texts) {
    for (const Task* task : tasks) Add(task->status, task->uid, texts.at(task));
  }
  void Add(TaskStatus status, std::string_view uid, std::string_view text) {
    by_status_[std::to_string(static_cast<int>(status))].emplace_back(uid, text);
  }
  void SortByUid() {
    for (auto& [status, those] : by_status_) std::ranges::sort(those);
  }
  void AppendTo(std::string& out) const {
    out += '{';
    for (const auto& [status, those] : by_status_) {
      if (out.back() != '{') out += ',';
      out += '"' + status + "\":{";
      for (const auto& [uid, text] : those) {
        if (out.back() != '{') out += ',';
        AppendGoText(out, uid);
        out += ':';
        out += text;
      }
      out += '}';
    }
    out += '}';
  }

 private:
  std::map<std::string, std::vector<std::pair<std::string_view, std::string_view>>> by_status_;
};

void AppendCounts(std::string& out, std::string_view name, const auto& counts) {
  out += ",\"";
  out += name;
  out += "\":{";
  for (const auto& [key, count] : counts) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, key);
    out += ':';
    AppendGoInt(out, count);
  }
  out += '}';
}

}  // namespace

void Bodies::AppendTasks(std::string& out, std::span<Task* const> tasks,
                         const TaskTexts& texts) const {
  out += '{';
  for (const Task* task : tasks) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, task->uid);
    out += ':';
    out += texts.at(task);
  }
  out += '}';
}

void Bodies::AppendSubJobs(std::string& out, const Job& job, const TaskTexts& texts) const {
  out += R"(,"SubJobs":{)";
  for (const auto& sub_job : job.sub_jobs) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, sub_job->id);
    out += R"(:{"GID":)";
    AppendGoText(out, sub_job->group_id);
    Named(out, "UID", sub_job->id);
    Named(out, "Job", job.id);
    Numbered(out, "MinAvailable", sub_job->min_available);
    Numbered(out, "Priority", sub_job->priority);
    Numbered(out, "MatchIndex", sub_job->match_index);
    out += R"(,"Tasks":)";
    AppendTasks(out, sub_job->tasks, texts);
    out += R"(,"TaskStatusIndex":)";
    StatusIndex index(sub_job->tasks, texts);
    std::deque<std::string> stale_texts;
    for (const StaleTask& stale : sub_job->stale) {
      AppendTask(stale_texts.emplace_back(), *stale.task, stale.was, stale.last_transaction);
      index.Add(stale.was.status, stale.task->uid, stale_texts.back());
    }
    if (!stale_texts.empty()) index.SortByUid();
    index.AppendTo(out);
    Named(out, "AllocatedHyperNode", sub_job->allocated_hyper_node);
    Named(out, "NominatedHyperNode", sub_job->nominated_hyper_node);
    AppendTopologyMember(out, sub_job->network_topology);
    out += '}';
  }
  out += '}';
}

void Bodies::AppendGroup(std::string& out, const Job& job) const {
  GroupText& kept = groups_[&job];
  if (kept.metadata.empty()) kept = {MetadataText(job.group), SpecText(job.group)};
  out +=
      R"(,"PodGroup":{"metadata":)" + kept.metadata + R"(,"spec":)" + kept.spec + R"(,"status":)";
  AppendGroupStatus(out, job.group.status);
  out += R"(,"Version":"v1beta1"})";
}

void Bodies::AppendJob(std::string& out, const Job& job) const {
  TaskTexts texts;
  for (const Task* task : job.tasks) AppendTask(texts[task], *task);
  out += R"({"UID":)";
  AppendGoText(out, job.id);
  Named(out, "PgUID", job.group.metadata.uid);
  Named(out, "Name", job.name);
  Named(out, "Namespace", job.namespace_);
  Named(out, "Queue", job.queue_name);
  Numbered(out, "Priority", job.priority);
  Numbered(out, "MinAvailable", job.min_available);
  if (job.waiting_time) {
    Numbered(out, "WaitingTime", job.waiting_time->count());
  } else {
    out += R"(,"WaitingTime":null)";
  }
  Named(out, "JobFitErrors", job.fit_errors);
  out += R"(,"NodesFitErrors":{)";
  for (const Task* task : job.tasks) {
    if (!job.task_fit_errors.contains(task->index)) continue;
    if (out.back() != '{') out += ',';
    AppendGoText(out, task->uid);
    out += ":{}";
  }
  out += '}';
  Named(out, "AllocatedHyperNode", job.allocated_hyper_node);
  AppendTopologyMember(out, job.network_topology);
  AppendSubJobs(out, job, texts);
  out += R"(,"TaskToSubJob":{)";
  for (const Task* task : job.tasks) {
    if (!task->sub_job) continue;
    if (out.back() != '{') out += ',';
    AppendGoText(out, task->uid);
    out += ':';
    AppendGoText(out, task->sub_job->id);
  }
  out += '}';
  AppendCounts(out, "MinSubJobs", job.min_sub_jobs);
  out += R"(,"TaskStatusIndex":)";
  StatusIndex(job.tasks, texts).AppendTo(out);
  out += R"(,"Tasks":)";
  AppendTasks(out, job.tasks, texts);
  AppendCounts(out, "TaskMinAvailable", job.group.spec.min_task_member);
  Numbered(out, "TaskMinAvailableTotal", job.role_min_total);
  out += R"(,"Allocated":)";
  AppendResource(out, job.allocated);
  out += R"(,"TotalRequest":)";
  AppendResource(out, job.total_request);
  const auto& created = job.group.metadata.creation_timestamp;
  AppendTime(out, "CreationTimestamp", created ? std::optional(created->at) : std::nullopt);
  AppendGroup(out, job);
  AppendTime(out, "ScheduleStartTimestamp", job.schedule_start);
  out += job.preemptable ? R"(,"Preemptable":true)" : R"(,"Preemptable":false)";
  Named(out, "RevocableZone", job.revocable_zone);
  out += R"(,"Budget":{"MinAvailable":)";
  AppendGoText(out, job.budget.min_available);
  Named(out, "MaxUnavailable", job.budget.max_unavailable);
  out += "}}";
}

}  // namespace coppice::batch::extender
