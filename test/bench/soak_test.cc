// A process that runs for months: pods of Jobs come and go, each Job with a uid and labels of its
// own, nodes are marked, tainted and replaced. Memory and the time of a pass must be those of what
// lives, not of what has ever been there. COPPICE_SOAK_JOBS makes it longer or shorter.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>

#include "test/bench/autoscale_rig.h"

namespace coppice::bench {
namespace {

constexpr int kNodes = 200;
constexpr int kPodsOfAJob = 10;
constexpr int kJobsAtATime = 400;
constexpr int kJobsPerNode = 10;   // a node is replaced after so many Jobs
constexpr int kJobsPerPass = 250;  // and the autoscaler looks

double ResidentMb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Of this thread: what else the machine does is not our growth.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// What a pass takes when nothing disturbs it: a quarter of them are quicker.
double Quick(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 4];
}

class Soak {
 public:
  Soak() : rig_({"--scale-down-unneeded-time=5m", "--v=0"}, clock_, groups_) {
    groups_.Add({.id = "pool", .min_size = 0, .max_size = 2 * kNodes}, Shared(ANode("template")));
    for (int i = 0; i < kNodes; ++i) AddNode();
  }

  // One Job more, one Job less, now and then another node.
  void Step() {
    StartJob(next_job_);
    if (next_job_ >= kJobsAtATime) EndJob(next_job_ - kJobsAtATime);
    if (next_job_ % kJobsPerNode == 0) ReplaceNode();
    ++next_job_;
    clock_.Set(clock_.Now() + std::chrono::seconds(2));
  }

  // Seconds.
  double Pass() {
    // Some pods wait for it, two of them with constraints that name their own Job.
    for (int i = 0; i < 5; ++i) rig_.world().UpsertPod(Shared(Unschedulable(APod(-1 - i, 0))));
    const double before = CpuSeconds();
    const auto report = rig_.Pass();
    const double took = CpuSeconds() - before;
    EXPECT_EQ(report->error, "");
    for (int i = 0; i < 5; ++i) rig_.world().DeletePod("default", APod(-1 - i, 0).metadata.name);
    waiting_ += 5;
    return took;
  }

  const cluster::World& world() { return rig_.world(); }

 private:
  static constexpr int64_t kGi = int64_t{1} << 30;

  model::Node ANode(const std::string& name) {
    model::Node node = TestNode(name, 8'000, 64 * kGi, clock_.Now());
    node.metadata.labels["kubernetes.io/hostname"] = name;
    node.metadata.labels["zone"] = std::string(1, static_cast<char>('a' + next_node_ % 3));
    return node;
  }
  void AddNode() {
    const std::string name = "node-" + std::to_string(next_node_);
    rig_.world().UpsertNode(Shared(ANode(name)));
    groups_.AddInstance(0, name);
    names_.push_back(name);
    ++next_node_;
  }
  void ReplaceNode() {
    const std::string name = names_.front();
    names_.pop_front();
    const auto seconds =
        std::chrono::floor<std::chrono::seconds>(clock_.Now().time_since_epoch()).count();
    model::Node node = *rig_.world().FindNode(name);
    node.spec.taints = {{.key = "DeletionCandidateOfClusterAutoscaler",
                         .value = std::to_string(seconds - 600),
                         .effect = "PreferNoSchedule"}};
    rig_.world().UpsertNode(Shared(node));
    node.spec.taints.push_back({.key = "ToBeDeletedByClusterAutoscaler",
                                .value = std::to_string(seconds),
                                .effect = "NoSchedule"});
    rig_.world().UpsertNode(Shared(node));
    rig_.world().DeleteNode(name);
    groups_.RemoveInstance(name);
    AddNode();
  }

  // Negative numbers wait for a pass and are others every time.
  model::Pod APod(int job, int index) const {
    const int number = job < 0 ? job - waiting_ : job;
    const std::string name = "job" + std::to_string(number);
    model::Pod pod = TestPod(name + "-" + std::to_string(index), 200, kGi / 4);
    pod.metadata.labels["job-name"] = name;
    pod.metadata.labels["controller-uid"] = name + "-uid";
    pod.metadata.owner_references = {{.api_version = "batch/v1",
                                      .kind = "Job",
                                      .name = name,
                                      .uid = name + "-uid",
                                      .controller = true}};
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - std::chrono::minutes(1)};
    pod.spec.containers.front().name = name;  // as some templates have it
    if (number % 20 == 0) {
      model::TopologySpreadConstraint spread{
          .max_skew = 1, .topology_key = "zone", .when_unsatisfiable = "DoNotSchedule"};
      spread.label_selector.emplace().match_labels["job-name"] = name;
      pod.spec.topology_spread_constraints.push_back(spread);
    } else if (number % 20 == 1) {
      model::PodAffinityTerm apart{.topology_key = "kubernetes.io/hostname"};
      apart.label_selector.emplace().match_labels["job-name"] = name;
      pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(apart);
    }
    return pod;
  }
  void StartJob(int job) {
    for (int i = 0; i < kPodsOfAJob; ++i) {
      model::Pod pod = APod(job, i);
      pod.status.phase = "Pending";
      rig_.world().UpsertPod(Shared(pod));
      pod.status.phase = "Running";
      pod.spec.node_name = names_[static_cast<size_t>(job * kPodsOfAJob + i) % names_.size()];
      rig_.world().UpsertPod(Shared(std::move(pod)));
    }
  }
  void EndJob(int job) {
    for (int i = 0; i < kPodsOfAJob; ++i) {
      const std::string name = APod(job, i).metadata.name;
      model::Pod pod = *rig_.world().FindPod("default", name);
      pod.metadata.deletion_timestamp = model::Time{clock_.Now()};
      rig_.world().UpsertPod(Shared(std::move(pod)));
      rig_.world().DeletePod("default", name);
    }
  }

  FakeClock clock_{TimePoint(std::chrono::hours(500'000))};
  BenchGroups groups_;
  Rig rig_;
  std::deque<std::string> names_;
  int next_node_ = 0;
  int next_job_ = 0;
  int waiting_ = 0;
};

TEST(SoakTest, MemoryAndTimeAreThoseOfWhatLives) {
  const char* wanted = std::getenv("COPPICE_SOAK_JOBS");
  const int jobs = wanted != nullptr ? std::atoi(wanted) : 100'000;
  ASSERT_GE(jobs, 10 * kJobsPerPass);
  Soak soak;
  std::vector<double> early;
  std::vector<double> late;
  double early_mb = 0;
  for (int job = 0; job < jobs; ++job) {
    soak.Step();
    if (job == jobs / 10) early_mb = ResidentMb();
    if (job % kJobsPerPass != kJobsPerPass - 1) continue;
    const double took = soak.Pass();
    if (job <= jobs / 10) early.push_back(took);
    if (job >= jobs - jobs / 10) late.push_back(took);
  }
  const double late_mb = ResidentMb();
  const cluster::Interner& interner = soak.world().snapshot().interner();
  std::printf("%d Jobs: %.1f MB after a tenth, %.1f MB at the end; a pass %.2f ms, then %.2f ms\n",
              jobs, early_mb, late_mb, Quick(early) * 1e3, Quick(late) * 1e3);
  EXPECT_LT(interner.label_set_count(), 20 * kJobsAtATime);
  EXPECT_LT(interner.eviction_count(), 20 * kJobsAtATime);
  EXPECT_LT(interner.node_shape_count(), 1'000);
#ifdef NDEBUG
  EXPECT_LT(late_mb, 1.3 * early_mb);
  EXPECT_LT(Quick(late), 1.3 * Quick(early) + 0.0005);
#endif
}

}  // namespace
}  // namespace coppice::bench
