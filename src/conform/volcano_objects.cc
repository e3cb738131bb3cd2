#include "conform/volcano_objects.h"

namespace coppice::conform {
namespace {

constexpr int kPending = 1;
constexpr int kRunningTask = 32;
constexpr char kCreated[] = "2026-01-01T00:00:00Z";

Json Amount(double cpu_millis, double memory, Json scalars = nullptr, int max_tasks = 0) {
  return {{"MilliCPU", cpu_millis},
          {"Memory", memory},
          {"ScalarResources", std::move(scalars)},
          {"MaxTaskNum", max_tasks}};
}

Json Meta(const std::string& name, const std::string& uid) {
  return {{"name", name}, {"uid", uid}, {"creationTimestamp", kCreated}};
}

}  // namespace

Json TaskObject(const TaskSpec& spec) {
  const std::string uid = "uid-" + spec.name;
  Json annotations = {{"scheduling.k8s.io/group-name", "job"}, {"volcano.sh/task-spec", "worker"}};
  if (spec.annotation_bytes > 0) annotations["conform"] = std::string(spec.annotation_bytes, 'x');
  Json metadata = Meta(spec.name, uid);
  if (spec.null_times) metadata["creationTimestamp"] = nullptr;
  metadata["namespace"] = "conform";
  metadata["annotations"] = annotations;
  Json resources = Json::object();
  if (!spec.best_effort) resources["requests"] = {{"cpu", "1"}, {"memory", "1Gi"}};
  Json pod_spec = {
      {"containers",
       Json::array({{{"name", "main"}, {"image", "image"}, {"resources", resources}}})},
      {"schedulerName", "volcano"}};
  if (!spec.node.empty()) pod_spec["nodeName"] = spec.node;
  const Json request =
      spec.best_effort ? Amount(0, 0, {{"pods", 1}}) : Amount(1000, 1 << 30, {{"pods", 1}});
  return {{"UID", uid},
          {"Job", spec.job},
          {"Name", spec.name},
          {"Namespace", "conform"},
          {"TaskRole", "worker"},
          {"Resreq", request},
          {"InitResreq", request},
          {"DRAResreq", nullptr},
          {"ResourceClaimKeys", nullptr},
          {"ResourceClaimDRAResreq", nullptr},
          {"NodeName", spec.node},
          {"EvictionOccurred", false},
          {"JobAllocatedHyperNode", ""},
          {"Status", spec.node.empty() ? kPending : kRunningTask},
          {"LastTransaction", nullptr},
          {"Priority", 1},
          {"VolumeReady", false},
          {"Preemptable", true},
          {"BestEffort", spec.best_effort},
          {"HasRestartableInitContainer", false},
          {"SchGated", false},
          {"RevocableZone", ""},
          {"NumaInfo", {{"Policy", ""}, {"ResMap", Json::object()}}},
          {"Pod",
           {{"metadata", metadata},
            {"spec", pod_spec},
            {"status", {{"phase", spec.node.empty() ? "Pending" : "Running"}}}}},
          {"PodAnnotations", annotations},
          {"CustomBindErrHandlerSucceeded", false}};
}

Json NodeObject(const std::string& name, int tasks) {
  const Json sizes = {{"cpu", "8"}, {"memory", "32Gi"}, {"pods", "110"}};
  const Json whole = Amount(8000, 34359738368.0, {{"pods", 110}}, 110);
  const Json none = Amount(0, 0);
  Json on_it = Json::object();
  for (int i = 0; i < tasks; ++i) {
    const std::string task = name + "-task-" + std::to_string(i);
    on_it["conform/" + task] = TaskObject({.name = task, .best_effort = true, .node = name});
  }
  return {
      {"Name", name},
      {"Node",
       {{"metadata",
         {{"name", name},
          {"labels", {{"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", "a"}}}}},
        {"spec", Json::object()},
        {"status", {{"capacity", sizes}, {"allocatable", sizes}}}}},
      {"State", {{"Phase", 1}, {"Reason", ""}}},
      {"Releasing", none},
      {"Pipelined", none},
      {"Idle", whole},
      {"Used", none},
      {"Allocatable", whole},
      {"Capacity", whole},
      {"ResourceUsage",
       {{"MetricsTime", "0001-01-01T00:00:00Z"},
        {"CPUUsageAvg", Json::object()},
        {"MEMUsageAvg", Json::object()}}},
      {"Tasks", on_it},
      {"NumaInfo", nullptr},
      {"UnassignedNumaPods", nullptr},
      {"NumaSchedulerInfo", nullptr},
      {"RevocableZone", ""},
      {"Others", Json::object()},
      {"OversubscriptionNode", false},
      {"OfflineJobEvicting", false},
      {"OversubscriptionResource", none},
      {"ImageStates", Json::object()},
      {"Generation", 0},
      {"BindGeneration", 0}};
}

Json JobObject(const std::string& name, int tasks) {
  const std::string uid = "conform/" + name;
  Json all = Json::object();
  Json sub_job_of = Json::object();
  for (int i = 0; i < tasks; ++i) {
    const std::string task = name + "-" + std::to_string(i);
    all["uid-" + task] = TaskObject({.name = task, .job = uid});
    sub_job_of["uid-" + task] = uid;
  }
  const Json by_status = {{std::to_string(kPending), all}};
  const Json sub_job = {{"GID", uid},
                        {"UID", uid},
                        {"Job", uid},
                        {"MinAvailable", tasks},
                        {"Priority", 1},
                        {"MatchIndex", 0},
                        {"Tasks", all},
                        {"TaskStatusIndex", by_status},
                        {"AllocatedHyperNode", ""},
                        {"NominatedHyperNode", ""},
                        {"NetworkTopology", nullptr}};
  Json metadata = Meta(name, "uid-" + name);
  metadata["namespace"] = "conform";
  return {{"UID", uid},
          {"PgUID", "uid-" + name},
          {"Name", name},
          {"Namespace", "conform"},
          {"Queue", "default"},
          {"Priority", 0},
          {"MinAvailable", tasks},
          {"WaitingTime", nullptr},
          {"JobFitErrors", ""},
          {"NodesFitErrors", Json::object()},
          {"AllocatedHyperNode", ""},
          {"NetworkTopology", nullptr},
          {"SubJobs", {{uid, sub_job}}},
          {"TaskToSubJob", sub_job_of},
          {"MinSubJobs", Json::object()},
          {"TaskStatusIndex", by_status},
          {"Tasks", all},
          {"TaskMinAvailable", Json::object()},
          {"TaskMinAvailableTotal", 0},
          {"Allocated", Amount(0, 0)},
          {"TotalRequest", Amount(1000.0 * tasks, double{1 << 30} * tasks, {{"pods", tasks}})},
          {"CreationTimestamp", kCreated},
          {"PodGroup",
           {{"metadata", metadata},
            {"spec",
             {{"minMember", tasks},
              {"queue", "default"},
              {"minResources", {{"cpu", "1"}, {"memory", "1Gi"}}}}},
            {"status", {{"phase", "Pending"}}},
            {"Version", "v1beta1"}}},
          {"ScheduleStartTimestamp", nullptr},
          {"Preemptable", false},
          {"RevocableZone", ""},
          {"Budget", {{"MinAvailable", ""}, {"MaxUnavailable", ""}}}};
}

Json QueueObject(const std::string& name) {
  return {{"UID", name},
          {"Name", name},
          {"Weight", 1},
          {"Weights", ""},
          {"Hierarchy", ""},
          {"Queue",
           {{"metadata", Meta(name, "uid-" + name)},
            {"spec", {{"weight", 1}, {"guarantee", Json::object()}}},
            {"status", {{"state", "Open"}, {"reservation", Json::object()}}}}}};
}

Json SessionObject(const std::vector<Json>& nodes, const std::vector<Json>& jobs) {
  Json by_name = Json::object();
  for (const Json& node : nodes) by_name[node.at("Name").get<std::string>()] = node;
  Json by_uid = Json::object();
  for (const Json& job : jobs) by_uid[job.at("UID").get<std::string>()] = job;
  return {{"Jobs", by_uid},
          {"Nodes", by_name},
          {"Queues", {{"default", QueueObject("default")}}},
          {"NamespaceInfo", {{"conform", {{"Name", "conform"}, {"QuotaStatus", Json::object()}}}}},
          {"RevocableNodes", Json::object()},
          {"NodeList", nullptr}};
}

}  // namespace coppice::conform
