// session: whole cycles of the real Volcano scheduler, and what came of them.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "test/replay/parts.h"
#include "test/replay/replay.h"
#include "test/replay/session_case.h"

namespace coppice::replay {
namespace {

using batch::Outcome;
using batch::Session;
using batch::TaskStatus;

std::string KeyOf(const batch::Task& task) {
  return std::string(task.namespace_) + "/" + std::string(task.name);
}

Json Counted(const std::map<std::string, int>& counts) {
  Json json = Json::object();
  for (const auto& [key, count] : counts) json[key] = count;
  return json;
}

Json InPhase(const Session& session, std::string_view phase) {
  Json names = Json::array();
  for (const batch::Job* job : session.jobs()) {
    if (job->group.status.phase == phase) names.push_back(job->id);
  }
  return names;
}

// Pods that ended with `status`, with their nodes.
Json WithStatus(const Session& session, TaskStatus status) {
  Json json = Json::object();
  for (const batch::Job* job : session.jobs()) {
    for (const batch::Task* task : job->tasks) {
      if (task->status == status) json[KeyOf(*task)] = task->node_name;
    }
  }
  return json;
}

// Weaker facts, given where the exact ones are random: how many per job and per node.
void AddCounts(Json& ours, const std::string& what, const Json& places, const Session& session) {
  std::map<std::string, int> per_job;
  std::map<std::string, int> per_node;
  for (const batch::Task& task : session.tasks()) {
    const auto place = places.find(KeyOf(task));
    if (place == places.end()) continue;
    ++per_job[std::string(task.job_id)];
    ++per_node[place->get<std::string>()];
  }
  ours[what + "PerJob"] = Counted(per_job);
  ours[what + "PerNode"] = Counted(per_node);
}

void AddGroups(Json& ours, const Outcome& outcome) {
  for (const Outcome::GroupStatus& group : outcome.groups) {
    const std::string key = group.namespace_ + "/" + group.name;
    ours["podGroupPhases"][key] = group.status.phase;
    const auto count = [&](const char* what, int32_t number) {
      if (number != 0) ours["podGroupCounts"][key][what] = number;
    };
    count("running", group.status.running);
    count("succeeded", group.status.succeeded);
    count("failed", group.status.failed);
    for (const auto& condition : group.status.conditions) {
      ours["conditions"][key].push_back(condition.type + "=" + condition.status + " " +
                                        condition.reason);
      if (!condition.message.empty()) {
        ours["conditionMessages"][key][condition.type] = condition.message;
      }
    }
  }
}

void AddPods(Json& ours, const Outcome& outcome, const Session& session) {
  std::map<std::string, std::string> nominated;
  for (const batch::Task& task : session.tasks()) {
    nominated[KeyOf(task)] = task.nominated_node();
  }
  for (const Outcome::PodCondition& condition : outcome.conditions) {
    const std::string key = condition.pod.key();
    ours["podReasons"][key] = condition.reason;
    ours["podMessages"][key] = condition.message;
    const std::string node =
        condition.nominated_node.empty() ? nominated[key] : condition.nominated_node;
    if (!node.empty()) ours["nominatedNodes"][key] = node;
  }
}

Json OutcomeJson(const Outcome& outcome, const Session& session, const Json& inqueue) {
  Json ours{{"binds", Json::object()}, {"evicts", Json::array()}, {"inqueue", inqueue}};
  for (const Outcome::Bind& bind : outcome.binds) {
    ours["binds"][bind.pod.key()] = bind.node;
    ours["bindOrder"].push_back(bind.pod.key());
  }
  Json evicted = Json::object();
  for (const Outcome::Eviction& eviction : outcome.evictions) {
    ours["evictReasons"][eviction.pod.key()] = eviction.reason;
    for (const batch::Task& task : session.tasks()) {
      if (KeyOf(task) == eviction.pod.key()) evicted[eviction.pod.key()] = task.node_name;
    }
  }
  for (const auto& [key, node] : evicted.items()) ours["evicts"].push_back(key);
  ours["pipelined"] = WithStatus(session, TaskStatus::kPipelined);
  ours["allocated"] = WithStatus(session, TaskStatus::kAllocated);
  AddCounts(ours, "binds", ours["binds"], session);
  AddCounts(ours, "evicts", evicted, session);
  AddCounts(ours, "pipelined", ours["pipelined"], session);
  AddGroups(ours, outcome);
  AddPods(ours, outcome, session);
  for (const Outcome::QueueAllocated& queue : outcome.queues) {
    Json& amounts = ours["queueAllocated"][queue.queue];
    for (const auto& [name, amount] : queue.allocated) amounts[name] = amount.ToString();
  }
  // The others only repeat conditions.
  for (const Outcome::EventNote& event : outcome.events) {
    if (event.type != "Normal" || event.reason != "Unschedulable") continue;
    ours["events"].push_back(event.kind + " " + event.namespace_ + "/" + event.name + " " +
                             event.type + " " + event.reason + ": " + event.message);
  }
  if (ours.contains("events")) std::sort(ours["events"].begin(), ours["events"].end());
  return ours;
}

bool IsEmpty(const Json& json) {
  return json.is_null() || ((json.is_array() || json.is_object()) && json.empty());
}

}  // namespace

void session(const Json& c, Report& report) { ReplaySession(c, report, nullptr); }

void ReplaySession(const Json& c, Report& report, const AdjustOutcome& adjust) {
  static const std::vector<std::string> kKeys{
      "binds",          "evicts",           "pipelined",       "podGroupPhases",   "inqueue",
      "queueAllocated", "podReasons",       "conditions",      "allocated",        "nominatedNodes",
      "evictReasons",   "podGroupCounts",   "bindOrder",       "bindsPerJob",      "bindsPerNode",
      "evictsPerJob",   "evictsPerNode",    "pipelinedPerJob", "pipelinedPerNode", "events",
      "podMessages",    "conditionMessages"};
  const Json& expect = c.at("expect");
  SessionCase world(c);
  if (adjust) world.KeepTexts(report.text);
  auto opened = world.Open(ThePlugins().batch, ThePlugins().filters);
  if (expect.contains("confError")) {
    if (opened.ok()) report.Differs("confError", expect.at("confError").dump(), "accepted");
    return;
  }
  if (!opened.ok() && expect.contains("panic")) return;  // what upstream could not open, either
  if (!opened.ok()) return report.Unreadable(opened.status().ToString());
  Session& session = **opened;
  session.Run();
  const Json inqueue = InPhase(session, "Inqueue");
  const Outcome outcome = session.Close();
  if (expect.contains("panic") || !outcome.failure.ok()) {
    if (expect.contains("panic") && !outcome.failure.ok()) return;
    return report.Differs("panic", expect.value("panic", "none"), outcome.failure.ToString());
  }
  const Json ours = OutcomeJson(outcome, session, inqueue);
  const auto unstable = c.value("unstable", std::vector<std::string>());
  for (const std::string& key : kKeys) {
    // Counts are given only where the exact map is not.
    if (!expect.contains(key) && (key.find("Per") != std::string::npos ||
                                  std::ranges::find(unstable, key) != unstable.end())) {
      continue;
    }
    Json theirs = expect.value(key, Json());
    Json own = ours.value(key, Json());
    if (adjust) adjust(key, theirs, own);
    if (theirs != own && !(IsEmpty(theirs) && IsEmpty(own))) {
      report.Differs(key, theirs.dump(), own.dump());
    }
  }
}

}  // namespace coppice::replay
