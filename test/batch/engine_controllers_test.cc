// Controllers of the batch scheduler, on a cluster of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "batch/controllers/job_controller.h"
#include "batch/controllers/job_objects.h"
#include "batch/controllers/pod_group_controller.h"
#include "batch/controllers/queue_controller.h"
#include "batch/ended_pod.h"
#include "test/batch/batch_cluster.h"

namespace coppice {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using test::BatchCluster;

constexpr char kScheduling[] = "scheduling.volcano.sh/v1beta1";

// An API server that keeps everything as JSON, and shows it to a World a moment later.
class ControllerCluster final : public cluster::Writer {
 public:
  ControllerCluster() : objects(clock) {
    objects.on_change = [this](const cluster::ObjectName& object, const std::string* json) {
      if (object.resource == "pods") ShowPod(object, json);
      if (object.resource == "podgroups") Show<model::PodGroup>(object, json);
      if (object.resource == "queues") Show<model::Queue>(object, json);
      if (object.resource == "jobs") ShowJob(object, json);
    };
  }
  FakeClock clock;
  Log log = Log::Null();
  cluster::World world;
  cluster::StoredObjects objects;
  Executor executor{clock};
  std::vector<cluster::Event> events;
  int created_pods = 0;

  void Run(Duration time, const std::function<void()>& sync) {
    for (const TimePoint end = clock.Now() + time; clock.Now() < end;) {
      sync();
      executor.RunFor(50ms);
    }
  }
  Json Get(const std::string& api, const std::string& resource, const std::string& ns,
           const std::string& name) {
    const auto json = executor.BlockOn(objects.ObjectNow({api, resource, ns, name}));
    return json.ok() ? Json::parse(*json) : Json();
  }
  Json Job() { return Get("batch.volcano.sh/v1alpha1", "jobs", "ns", "train"); }
  std::string Phase() {
    const Json job = Job();
    return job.is_null() ? "none" : job.value("/status/state/phase"_json_pointer, "none");
  }
  // A status comes along, as if somebody had written it at once.
  void Create(const cluster::ObjectName& object, const std::string& json) {
    CHECK(executor.BlockOn(objects.CreateObject(object, json)).ok());
    if (json.find("\"status\"") != std::string::npos)
      CHECK(executor.BlockOn(objects.UpdateStatus(object, json)).ok());
  }
  void SetPod(const std::string& name, const std::string& phase, int exit_code = 0) {
    Json patch = {{"status", {{"phase", phase}}}};
    if (phase == "Failed") {
      patch["status"]["containerStatuses"] =
          Json::array({{{"name", "c"}, {"state", {{"terminated", {{"exitCode", exit_code}}}}}}});
    }
    CHECK(executor.BlockOn(objects.UpdateStatus({"v1", "pods", "ns", name}, patch.dump())).ok());
  }
  std::vector<std::string> Pods() {
    std::vector<std::string> names;
    for (const std::string& json : objects.List("v1", "pods"))
      names.push_back(Json::parse(json)["metadata"]["name"]);
    return names;
  }

  Task<Status> ChangeNode(std::string, cluster::NodeChange) override { co_return Status::Ok(); }
  Task<Status> Evict(cluster::PodName, int64_t) override { co_return Status::Ok(); }
  Task<Status> DeletePod(cluster::PodName pod, int64_t) override {
    return objects.DeleteObject({"v1", "pods", pod.namespace_, pod.name, pod.uid});
  }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_return std::optional<std::string>();
  }
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override {
    created_pods += object.resource == "pods";
    return objects.CreateObject(std::move(object), std::move(json));
  }
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override {
    return objects.UpdateObject(std::move(object), std::move(patch));
  }
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override {
    return objects.UpdateStatus(std::move(object), std::move(patch));
  }
  Task<Status> DeleteObject(cluster::ObjectName object) override {
    return objects.DeleteObject(std::move(object));
  }
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override {
    return objects.ObjectNow(std::move(object));
  }
  void Emit(cluster::Event event) override { events.push_back(std::move(event)); }

 private:
  Task<void> After(std::function<void()> then) {
    co_await executor.Sleep(5ms);
    then();
  }
  template <class T>
  void Show(const cluster::ObjectName& object, const std::string* json) {
    std::shared_ptr<const T> shown;
    if (json != nullptr) shown = std::make_shared<const T>(wire::FromJson<T>(*json).value());
    executor.Spawn(After([this, object, shown] {
      if (shown != nullptr) {
        world.Upsert<T>(shown);
      } else {
        world.Erase<T>(object.namespace_, object.name);
      }
    }));
  }
  void ShowPod(const cluster::ObjectName& object, const std::string* json) {
    std::shared_ptr<const model::Pod> pod;
    if (json != nullptr)
      pod = std::make_shared<const model::Pod>(wire::FromJson<model::Pod>(*json).value());
    executor.Spawn(After([this, object, pod] {
      world.Erase<batch::EndedPod>(object.namespace_, object.name);
      if (pod == nullptr) return world.DeletePod(object.namespace_, object.name);
      if (pod->status.phase != "Succeeded" && pod->status.phase != "Failed")
        return world.UpsertPod(pod);
      world.DeletePod(object.namespace_, object.name);
      auto ended = std::make_shared<batch::EndedPod>();
      static_cast<model::Pod&>(*ended) = *pod;
      world.Upsert<batch::EndedPod>(ended);
    }));
  }
  void ShowJob(const cluster::ObjectName& object, const std::string* json) {
    std::shared_ptr<batch::VolcanoJob> job;
    if (json != nullptr) {
      job = std::make_shared<batch::VolcanoJob>(batch::ReadVolcanoJob(*json).value());
    }
    executor.Spawn(After([this, object, job] {
      if (job != nullptr) {
        world.Upsert<batch::VolcanoJob>(job);
      } else {
        world.Erase<batch::VolcanoJob>(object.namespace_, object.name);
      }
    }));
  }
};

class JobControllerTest : public testing::Test {
 protected:
  // What is under way refers to the controller.
  ~JobControllerTest() override { cluster_.executor.RunFor(10s); }

  ControllerCluster cluster_;
  batch::JobController controller_{
      {cluster_.world, cluster_, cluster_.executor, cluster_.log, [] {}}};

  void Run(Duration time) {
    cluster_.Run(time, [&] { controller_.Sync(cluster_.clock.Now()); });
  }
  void Job(const std::string& more = "", const std::string& worker_more = "") {
    cluster_.Create({"batch.volcano.sh/v1alpha1", "jobs", "ns", "train"},
                    R"({"kind":"Job","spec":{"minAvailable":3,"queue":"research","tasks":[
            {"name":"ps","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i",
             "resources":{"requests":{"cpu":"1"}}}]}}},
            {"name":"w","replicas":2,"template":{"metadata":{"labels":{"own":"kept"}},"spec":{
             "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]}})" +
                        worker_more + "}]" + more + "}}");
  }
  void AllRun() {
    for (const char* pod : {"train-ps-0", "train-w-0", "train-w-1"})
      cluster_.SetPod(pod, "Running");
    Run(1s);
  }
};

TEST_F(JobControllerTest, MakesPodsAndAGroupAtOnce) {
  Job();
  Run(500ms);
  EXPECT_THAT(cluster_.Pods(), testing::ElementsAre("train-ps-0", "train-w-0", "train-w-1"));
  EXPECT_EQ(cluster_.Phase(), "Pending");
  const std::string uid = cluster_.Job()["metadata"]["uid"];
  const Json group = cluster_.Get(kScheduling, "podgroups", "ns", "train-" + uid);
  EXPECT_EQ(group["spec"]["minMember"], 3);
  EXPECT_EQ(group["spec"]["queue"], "research");
  EXPECT_EQ(group["spec"]["minResources"]["cpu"], "5");
  EXPECT_EQ(group["spec"]["minTaskMember"]["w"], 2);
  const Json pod = cluster_.Get("v1", "pods", "ns", "train-w-1");
  EXPECT_EQ(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"], "train-" + uid);
  EXPECT_EQ(pod["metadata"]["annotations"]["volcano.sh/task-spec"], "w");
  EXPECT_EQ(pod["metadata"]["labels"]["own"], "kept");
  EXPECT_EQ(pod["spec"]["schedulerName"], "volcano");
  Run(5s);
  EXPECT_EQ(cluster_.created_pods, 3);
}

TEST_F(JobControllerTest, RunsAndCompletes) {
  Job(R"(,"ttlSecondsAfterFinished":60)");
  Run(500ms);
  AllRun();
  EXPECT_EQ(cluster_.Phase(), "Running");
  EXPECT_EQ(cluster_.Job()["status"]["running"], 3);
  for (const char* pod : {"train-ps-0", "train-w-0", "train-w-1"})
    cluster_.SetPod(pod, "Succeeded");
  Run(1s);
  EXPECT_EQ(cluster_.Phase(), "Completed");
  EXPECT_EQ(cluster_.created_pods, 3);
  Run(70s);
  EXPECT_EQ(cluster_.Phase(), "none");
}

TEST_F(JobControllerTest, WithoutAPolicyAFailureLeavesTheOthersAndFailsTheJobAtTheEnd) {
  Job();
  Run(500ms);
  AllRun();
  cluster_.SetPod("train-w-0", "Failed", 1);
  Run(1s);
  EXPECT_EQ(cluster_.Phase(), "Running");
  cluster_.SetPod("train-w-1", "Succeeded");
  cluster_.SetPod("train-ps-0", "Succeeded");
  Run(1s);
  EXPECT_EQ(cluster_.Phase(), "Failed");
}

TEST_F(JobControllerTest, RestartsAsOftenAsItMayAndThenFails) {
  Job(R"(,"maxRetry":1,"policies":[{"event":"PodFailed","action":"RestartJob"}])");
  Run(500ms);
  AllRun();
  cluster_.SetPod("train-w-0", "Failed", 1);
  Run(3s);
  EXPECT_EQ(cluster_.Phase(), "Pending");
  EXPECT_EQ(cluster_.Job()["status"]["version"], 1);
  EXPECT_EQ(cluster_.Job()["status"]["retryCount"], 1);
  EXPECT_EQ(cluster_.created_pods, 6);
  const Json pod = cluster_.Get("v1", "pods", "ns", "train-w-0");
  EXPECT_EQ(pod["metadata"]["annotations"]["volcano.sh/job-version"], "1");
  AllRun();
  cluster_.SetPod("train-w-0", "Failed", 1);
  Run(3s);
  EXPECT_EQ(cluster_.Phase(), "Failed");
}

TEST_F(JobControllerTest, AnExitCodeAborts) {
  Job(R"(,"policies":[{"exitCode":3,"action":"AbortJob"},{"event":"PodFailed","action":"RestartPod"}])");
  Run(500ms);
  AllRun();
  cluster_.SetPod("train-w-0", "Failed", 1);
  Run(2s);
  EXPECT_EQ(cluster_.Phase(), "Running");
  EXPECT_EQ(cluster_.created_pods, 4);  // only that one, once more
  cluster_.SetPod("train-w-1", "Failed", 3);
  Run(2s);
  EXPECT_EQ(cluster_.Phase(), "Aborted");
}

TEST_F(JobControllerTest, APodThatWasEvictedIsAnsweredForOrMadeAgain) {
  Job("", R"(,"policies":[{"event":"PodEvicted","action":"TerminateJob"}])");
  Run(500ms);
  AllRun();
  const auto removed =
      cluster_.executor.BlockOn(cluster_.objects.DeleteObject({"v1", "pods", "ns", "train-ps-0"}));
  ASSERT_TRUE(removed.ok());
  Run(2s);
  EXPECT_EQ(cluster_.created_pods, 4);  // ps has no policy
  const auto worker =
      cluster_.executor.BlockOn(cluster_.objects.DeleteObject({"v1", "pods", "ns", "train-w-0"}));
  ASSERT_TRUE(worker.ok());
  Run(2s);
  EXPECT_EQ(cluster_.Phase(), "Terminated");
}

TEST_F(JobControllerTest, ATaskWaitsForThoseThatItDependsOn) {
  Job("", R"(,"dependsOn":{"name":["ps"]})");
  Run(500ms);
  EXPECT_THAT(cluster_.Pods(), testing::ElementsAre("train-ps-0"));
  cluster_.SetPod("train-ps-0", "Running");
  Run(1s);
  EXPECT_EQ(cluster_.Pods().size(), 3u);
}

TEST_F(JobControllerTest, AnotherProcessGoesOnWithoutMakingAnythingTwice) {
  Job();
  Run(500ms);
  AllRun();
  batch::JobController other({cluster_.world, cluster_, cluster_.executor, cluster_.log, [] {}});
  cluster_.Run(3s, [&] { other.Sync(cluster_.clock.Now()); });
  EXPECT_EQ(cluster_.created_pods, 3);
  EXPECT_EQ(cluster_.Phase(), "Running");
  cluster_.executor.RunFor(10s);
}

TEST_F(JobControllerTest, APolicyWithATimeoutWaitsForIt) {
  Job(R"(,"policies":[{"event":"PodFailed","action":"AbortJob","timeout":"30s"}])");
  Run(1s);
  AllRun();
  cluster_.SetPod("train-w-0", "Failed", 1);
  Run(20s);
  EXPECT_EQ(cluster_.Phase(), "Running");
  Run(15s);
  EXPECT_EQ(cluster_.Phase(), "Aborted");
}

TEST_F(JobControllerTest, APodThatStaysPendingIsAnsweredForOnlyWithATimeout) {
  for (const bool timed : {false, true}) {
    const std::string timeout = timed ? R"(,"timeout":"30s")" : "";
    Job(R"(,"policies":[{"event":"PodPending","action":"TerminateJob")" + timeout + "}]");
    Run(1s);
    cluster_.SetPod("train-ps-0", "Running");
    for (const char* pod : {"train-w-0", "train-w-1"}) cluster_.SetPod(pod, "Pending");
    Run(20s);
    EXPECT_EQ(cluster_.Phase(), "Pending");
    Run(20s);
    EXPECT_EQ(cluster_.Phase(), timed ? "Terminated" : "Pending");
    ASSERT_TRUE(cluster_.executor
                    .BlockOn(cluster_.objects.DeleteObject(
                        {"batch.volcano.sh/v1alpha1", "jobs", "ns", "train"}))
                    .ok());
    Run(1s);
    for (const std::string& pod : cluster_.Pods())
      (void)cluster_.executor.BlockOn(cluster_.objects.DeleteObject({"v1", "pods", "ns", pod}));
    Run(5s);
  }
}

TEST_F(JobControllerTest, APodThatStartsInTimeIsNotAnsweredFor) {
  Job(R"(,"policies":[{"event":"PodPending","action":"AbortJob","timeout":"30s"}])");
  Run(1s);
  for (const char* pod : {"train-ps-0", "train-w-0", "train-w-1"}) cluster_.SetPod(pod, "Pending");
  Run(20s);
  AllRun();
  Run(30s);
  EXPECT_EQ(cluster_.Phase(), "Running");
}

TEST_F(JobControllerTest, WhatHasNoEffectIsTold) {
  Job(R"(,"volumes":[{"mountPath":"/data","volumeClaimName":"data"}])",
      R"(,"topologyPolicy":"single-numa-node")");
  Run(3s);
  std::vector<std::string> told;
  for (const cluster::Event& event : cluster_.events)
    if (event.reason == "FieldIgnored") told.push_back(event.text);
  EXPECT_THAT(told, testing::ElementsAre(
                        "spec.volumes is not supported here and has no effect",
                        "spec.tasks[1].topologyPolicy is not supported here and has no effect"));
}

TEST(GroupOfJob, MinimumsAreThoseOfTheMoreImportantTasksFirst) {
  const auto minimum = [](const std::string& least) {
    const auto job = batch::ReadVolcanoJob(R"({"spec":{)" + least + R"("tasks":[
        {"name":"low","replicas":4,"minAvailable":1,"template":{"spec":{"containers":[
         {"name":"c","resources":{"requests":{"cpu":"1"}}}]}}},
        {"name":"high","replicas":3,"minAvailable":2,"template":{"spec":{
         "priorityClassName":"urgent","containers":[
         {"name":"c","resources":{"requests":{"cpu":"10"}}}]}}}]}})");
    const auto priority = [](const std::string& name) { return name == "urgent" ? 100 : 0; };
    return Json::parse(batch::GroupOfJob(job.value(), priority))["spec"]["minResources"]["cpu"]
        .get<std::string>();
  };
  EXPECT_EQ(minimum(R"("minAvailable":1,)"), "10") << "fewer than the tasks demand: the first";
  EXPECT_EQ(minimum(""), "21") << "what each demands";
  EXPECT_EQ(minimum(R"("minAvailable":5,)"), "32") << "and then others, the important ones first";
}

TEST(QueueController, MakesWhatEverybodyReliesOnAndKeepsCounts) {
  ControllerCluster cluster;
  batch::QueueController controller(
      {cluster.world, cluster, cluster.executor, cluster.log, "default", [] {}});
  const auto sync = [&] { controller.Sync(); };
  cluster.Run(1s, sync);
  EXPECT_EQ(cluster.Get(kScheduling, "queues", "", "root")["spec"]["reclaimable"], false);
  EXPECT_EQ(cluster.Get(kScheduling, "queues", "", "default")["status"]["state"], "Open");
  cluster.Create({kScheduling, "podgroups", "ns", "g"},
                 R"({"kind":"PodGroup","spec":{"minMember":1},"status":{"phase":"Inqueue"}})");
  cluster.Run(2s, sync);
  EXPECT_EQ(cluster.Get(kScheduling, "queues", "", "default")["status"]["inqueue"], 1);
  const auto closed = cluster.executor.BlockOn(cluster.objects.UpdateObject(
      {kScheduling, "queues", "", "default"},
      R"({"metadata":{"annotations":{"coppice.dev/queue-state":"Closed"}}})"));
  ASSERT_TRUE(closed.ok());
  cluster.Run(2s, sync);
  EXPECT_EQ(cluster.Get(kScheduling, "queues", "", "default")["status"]["state"], "Closing");
  const auto gone =
      cluster.executor.BlockOn(cluster.objects.DeleteObject({kScheduling, "podgroups", "ns", "g"}));
  ASSERT_TRUE(gone.ok());
  cluster.Run(2s, sync);
  EXPECT_EQ(cluster.Get(kScheduling, "queues", "", "default")["status"]["state"], "Closed");
  cluster.executor.RunFor(10s);
}

TEST(PodGroupController, PodsOfOneOwnerShareAGroup) {
  ControllerCluster cluster;
  batch::PodGroupController controller(
      {cluster.world, cluster, cluster.executor, cluster.log, {"volcano"}, "spare", [] {}});
  for (const char* name : {"web-1", "web-2"}) {
    cluster.Create({"v1", "pods", "ns", name},
                   R"({"kind":"Pod","metadata":{"annotations":{
                        "scheduling.volcano.sh/queue-name":"q",
                        "scheduling.volcano.sh/group-min-member":"2"},"ownerReferences":[
                        {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"rs-uid",
                         "controller":true}]},"spec":{"schedulerName":"volcano","containers":[
                        {"name":"c","image":"i","resources":{"requests":{"cpu":"1500m"}}}]},
                        "status":{"phase":"Pending"}})");
  }
  cluster.Create({"v1", "pods", "ns", "foreign"},
                 R"({"kind":"Pod","spec":{"schedulerName":"default-scheduler","containers":[]},
                     "status":{"phase":"Pending"}})");
  cluster.Create({"v1", "pods", "ns", "alone"},
                 R"({"kind":"Pod","metadata":{"uid":"alone-uid"},"spec":{"schedulerName":"volcano",
                     "containers":[]},"status":{"phase":"Pending"}})");
  cluster.Run(2s, [&] { controller.Sync(); });
  const Json alone = cluster.Get("v1", "pods", "ns", "alone");
  const std::string own = alone["metadata"]["annotations"]["scheduling.k8s.io/group-name"];
  EXPECT_EQ(cluster.Get(kScheduling, "podgroups", "ns", own)["spec"]["queue"], "spare")
      << "not the one of --default-queue";
  const Json group = cluster.Get(kScheduling, "podgroups", "ns", "podgroup-rs-uid");
  EXPECT_EQ(group["spec"]["minMember"], 2);
  EXPECT_EQ(group["spec"]["queue"], "q");
  EXPECT_EQ(group["spec"]["minResources"]["cpu"], "3");
  EXPECT_EQ(group["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
  for (const char* name : {"web-1", "web-2"}) {
    const Json pod = cluster.Get("v1", "pods", "ns", name);
    EXPECT_EQ(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"], "podgroup-rs-uid");
  }
  EXPECT_FALSE(cluster.Get("v1", "pods", "ns", "foreign")["metadata"].contains("annotations"));
  cluster.executor.RunFor(10s);
}

}  // namespace
}  // namespace coppice
