// Long because: the model that is always true and the sequences that try it belong
// together. Seeded sequences of calls and faults on a fake clock, held against what must always be
// true:
//
//   - nothing foreign is deleted, and nothing that nobody asked for;
//   - every machine of a configured group is listed, under its id or as the order it came of;
//   - no order exists twice; the target is what is listed and not going, and never above
//   max;
//   - a delete with one bad id deletes nothing and names the id;
//   - when the faults end and time passes, what is listed is what exists, and all of it can be
//   deleted.
//
// COPPICE_SEQUENCES says how many (10,000; 1,000 under a sanitizer), COPPICE_SEED which seed comes
// first (1). A failure prints its seed: COPPICE_SEED=<it> COPPICE_SEQUENCES=1 plays it again.
// tools/soak plays a million.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "cloud/group_instances.h"
#include "test/support/must.h"
#include "test/support/step_workers.h"

namespace coppice::cloud {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLag = seconds(60);

class Sequence {
 public:
  Sequence(uint64_t seed, Metrics& metrics) : rng_(seed), metrics_(metrics) {
    cloud_.on_create = [this](const MachineSpec&) { return CreateAnswer(); };
    cloud_.on_delete = [this](const ProviderId&) { return DeleteAnswer(); };
    cloud_.on_list = [this] {
      return FakeAnswer{.status =
                            rng_.Chance(faults_ / 2) ? Unavailable("list failed") : Status::Ok()};
    };
    cloud_.draw_lag = [this] { return seconds(rng_.Below(50)); };
    workers_.now = [this] { return rng_.Chance(0.6); };
    for (const char* name : {"a", "b", "c"}) {
      const int min = static_cast<int>(rng_.Below(3));
      configs_.push_back({.name = name,
                          .min_size = min,
                          .max_size = min + 1 + static_cast<int>(rng_.Below(6)),
                          .flavor = "small",
                          .zone = "zone1"});
    }
    // Not ours, though they look it.
    foreign_.insert(cloud_.Plant("a-0000", {{kGroupTag, "a"}, {kClusterTag, "theirs"}}));
    foreign_.insert(cloud_.Plant("cp", {{kClusterTag, "ours"}}));
    foreign_.insert(cloud_.Plant("plain", {}));
    foreign_.insert(cloud_.Plant("old", {{kGroupTag, "gone"}, {kClusterTag, "ours"}}));
    Start();
  }

  // "" or what went wrong.
  std::string Play() {
    const uint64_t steps = 10 + rng_.Below(40);
    faults_ = rng_.Chance(0.3) ? 0 : rng_.Unit() * 0.5;
    for (uint64_t i = 0; i < steps && wrong_.empty(); ++i) {
      Act();
      Check();
    }
    if (wrong_.empty()) End();
    return wrong_.empty() ? "" : wrong_ + "\nafter: " + story_.str();
  }

 private:
  void Start() {
    workers_.Forget();  // what the killed process had not sent
    CloudNodeGroupsOptions options{.cluster = "ours", .list_lag = kLag};
    options.max_parallel = 1 + rng_.Below(5);
    // Whether an increase waits for all answers, for some of them, or for hardly any.
    options.answer_increase_after = milliseconds(std::vector{0, 1, 1'000}[rng_.Below(3)]);
    options.audit = [](const AuditEntry&) {};
    groups_ = MUST(CloudNodeGroups::Create({cloud_, workers_, clock_, rng_, log_, metrics_},
                                           std::move(options), configs_));
    // A list that lags can hide what the process before has created; by the time one is up, it does
    // not.
    clock_.Advance(kLag);
    while (!groups_->Refresh(Soon()).ok()) {
    }
  }

  FakeAnswer CreateAnswer() {
    FakeAnswer answer{.latency = milliseconds(rng_.Below(2'000))};
    if (!rng_.Chance(faults_)) return answer;
    switch (rng_.Below(5)) {
      case 0:
        return {.status = ResourceExhausted("out of stock"), .happens = false};
      case 1:
        return {.status = InvalidArgument("no such image"), .happens = false};
      case 2:
        return {.status = Unavailable("lost"), .happens = true};
      case 3:
        return {.status = DeadlineExceeded("dropped"), .happens = false};
      default:
        answer.ends_failed = true;
        return answer;
    }
  }
  FakeAnswer DeleteAnswer() {
    if (!rng_.Chance(faults_)) return {.latency = milliseconds(rng_.Below(500))};
    switch (rng_.Below(3)) {
      case 0:
        return {.status = Internal("boom"), .happens = false};
      case 1:
        return {.status = Unavailable("lost"), .happens = true};
      default:
        return {.status = Unavailable("dropped"), .happens = false};
    }
  }

  Deadline Soon() { return Deadline::In(clock_, seconds(5)); }
  const GroupConfig& AnyGroup() { return configs_[rng_.Below(configs_.size())]; }
  std::vector<Instance> Listed(const std::string& group) { return MUST(groups_->Instances(group)); }
  template <class... Args>
  void Tell(const Args&... args) {
    (story_ << ... << args) << "; ";
  }

  void Act() {
    switch (rng_.Below(14)) {
      case 0:
      case 1:
      case 2: {
        const GroupConfig& group = AnyGroup();
        const int delta = 1 + static_cast<int>(rng_.Below(static_cast<uint64_t>(group.max_size)));
        const Status status = groups_->Increase(group.name, delta, Soon());
        Tell("increase ", group.name, " ", delta, " ", status.ToString());
        break;
      }
      case 3:
      case 4:
        DeleteSome();
        break;
      case 5:
        DeleteWithABadId();
        break;
      case 6: {
        const GroupConfig& group = AnyGroup();
        const int delta = -1 - static_cast<int>(rng_.Below(3));
        Tell("decrease ", group.name, delta, " ",
             groups_->DecreaseTarget(group.name, delta, Soon()).ToString());
        break;
      }
      case 7:
      case 8:
        Tell("refresh ", groups_->Refresh(Soon()).ToString());
        break;
      case 9:
        Tell("advance");
        clock_.Advance(seconds(rng_.Below(90)));
        break;
      case 10: {
        Tell("step");
        for (uint64_t n = rng_.Below(5); n > 0; --n) workers_.Step();
        break;
      }
      case 11:
        SomebodyElseActs();
        break;
      case 12:
        if (rng_.Chance(0.4)) {
          Tell("kill and restart");
          Start();
        }
        break;
      default:
        Reconfigure();
    }
  }

  void DeleteSome() {
    const GroupConfig& group = AnyGroup();
    std::vector<NodeRef> nodes;
    for (const Instance& instance : Listed(group.name)) {
      if (instance.state == InstanceState::kDeleting || rng_.Chance(0.5)) continue;
      nodes.push_back({instance.id, rng_.Chance(0.5) ? instance.id : "node"});
    }
    for (const NodeRef& node : nodes) Allow(node.provider_id);
    const Status status = groups_->Delete(group.name, nodes, Soon());
    Tell("delete ", nodes.size(), " of ", group.name, " ", status.ToString());
  }

  void Allow(const std::string& id) {
    allowed_.insert(id);
    if (const auto placeholder = ParsePlaceholder(id))
      allowed_.insert(std::string(placeholder->name));
  }

  void DeleteWithABadId() {
    const GroupConfig& group = AnyGroup();
    std::vector<NodeRef> nodes;
    for (const Instance& instance : Listed(group.name)) {
      if (rng_.Chance(0.5)) nodes.push_back({instance.id, instance.id});
    }
    std::string bad;
    switch (rng_.Below(6)) {
      case 0:
        bad = *std::next(foreign_.begin(), static_cast<int64_t>(rng_.Below(foreign_.size())));
        break;
      case 1:
        bad = "fake://99999999";
        break;
      case 2:
        bad = "fake:";
        break;
      case 3:
        bad = "coppice-order://elsewhere/x";
        break;
      case 4:
        if (nodes.empty()) return;
        bad = nodes[0].provider_id;  // twice
        break;
      default:
        for (const GroupConfig& other : configs_) {
          if (other.name == group.name) continue;
          for (const Instance& instance : Listed(other.name)) bad = instance.id;
        }
        if (bad.empty()) return;
    }
    nodes.insert(nodes.begin() + static_cast<int64_t>(rng_.Below(nodes.size() + 1)), {bad, bad});
    const auto alive = cloud_.alive().size();
    const Status status = groups_->Delete(group.name, nodes, Soon());
    Tell("delete with ", bad, " ", status.ToString());
    if (status.ok()) Wrong("a delete with the bad id " + bad + " was accepted");
    if (status.message().find(bad) == std::string::npos) Wrong("the error does not name " + bad);
    if (cloud_.alive().size() != alive) Wrong("a refused delete deleted something");
  }

  void SomebodyElseActs() {
    for (const Machine& machine : cloud_.alive()) {
      if (foreign_.contains(machine.id) || !rng_.Chance(0.2)) continue;
      if (rng_.Chance(0.5)) {
        Tell("vanish ", machine.id);
        allowed_.insert(machine.id);
        cloud_.Vanish(machine.id);
      } else {
        Tell("fail ", machine.id);
        cloud_.SetState(machine.id, MachineState::kFailed);
      }
    }
    if (rng_.Chance(0.2)) cloud_.set_quota(rng_.Below(20));
    if (rng_.Chance(0.2)) cloud_.set_quota(1'000);
  }

  // A group goes for a while, or grows.
  void Reconfigure() {
    auto changed = configs_;
    if (rng_.Chance(0.5)) {
      const std::string name = changed[rng_.Below(changed.size())].name;
      std::erase_if(changed, [&](const GroupConfig& group) { return group.name == name; });
      if (!groups_->Reconfigure(changed).ok()) Wrong("a group cannot be removed");
      if (rng_.Chance(0.5)) clock_.Advance(seconds(rng_.Below(100)));
      if (rng_.Chance(0.5)) (void)groups_->Refresh(Soon());
      Tell("removed ", name, " for a while");
      CheckOrphans(name);
    } else {
      ++configs_[rng_.Below(configs_.size())].max_size;
    }
    if (!groups_->Reconfigure(configs_).ok()) Wrong("the groups cannot be changed");
  }

  void Wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  void Check() {
    std::map<std::string, std::set<std::string>> listed;
    for (const GroupConfig& group : configs_) {
      int staying = 0;
      for (const Instance& instance : Listed(group.name)) {
        if (!listed[group.name].insert(instance.id).second) Wrong(instance.id + " is listed twice");
        if (instance.state != InstanceState::kDeleting) ++staying;
        const auto owner = MUST(groups_->GroupOf({instance.id, instance.id}));
        if (owner != group.name) Wrong(instance.id + " is listed and not found by id");
      }
      const int target = MUST(groups_->TargetSize(group.name));
      if (target != staying) Wrong("the target of " + group.name + " is not what is listed");
      if (target > group.max_size) Wrong("the target of " + group.name + " is above the maximum");
    }
    std::set<std::string> names;
    cloud_.ForEach([&](const FakeCloud::Entry& entry) {
      const Machine& machine = entry.machine;
      if (foreign_.contains(machine.id)) {
        if (entry.deleted_at) Wrong("a foreign machine was deleted: " + machine.id);
        return;
      }
      if (entry.deleted_at) {
        if (!allowed_.contains(machine.id) && !allowed_.contains(machine.name)) {
          Wrong("nobody wanted " + machine.id + " deleted");
        }
        return;
      }
      if (!names.insert(machine.name).second) Wrong(machine.name + " exists twice");
      const std::string& group = machine.tags.at(kGroupTag);
      if (!listed[group].contains(machine.id) &&
          !listed[group].contains(PlaceholderId(group, machine.name))) {
        Wrong(machine.id + " exists and is not listed in " + group);
      }
    });
  }

  void CheckOrphans(const std::string& group) {
    std::set<std::string> orphans;
    const auto picture = groups_->picture();
    for (const Machine& machine : *picture->orphans) orphans.insert(machine.id);
    for (const FakeCloud::Entry& entry : cloud_.everything()) {
      const auto tag = entry.machine.tags.find(kGroupTag);
      if (entry.deleted_at || tag == entry.machine.tags.end() || tag->second != group) continue;
      if (foreign_.contains(entry.machine.id)) continue;
      if (picture->refreshed_at < entry.created_at + kLag) continue;  // may be an order still
      if (!orphans.contains(entry.machine.id)) Wrong(entry.machine.id + " is no orphan");
    }
  }

  // Faults end, time passes, the autoscaler goes on asking.
  void End() {
    faults_ = 0;
    cloud_.set_quota(1'000);
    for (int i = 0; i < 5; ++i) {
      workers_.StepAll();
      clock_.Advance(kLag + seconds(1));
      if (!groups_->Refresh(Soon()).ok()) Wrong("refresh fails without faults");
    }
    workers_.StepAll();
    Check();
    std::set<std::string> alive;
    for (const Machine& machine : cloud_.alive()) {
      if (!foreign_.contains(machine.id)) alive.insert(machine.id);
    }
    for (const GroupConfig& group : configs_) {
      std::vector<NodeRef> all;
      for (const Instance& instance : Listed(group.name)) {
        all.push_back({instance.id, instance.id});
        Allow(instance.id);
        if (ParsePlaceholder(instance.id) ? !instance.error : alive.erase(instance.id) == 0) {
          Wrong(instance.id + " is listed at the end and does not exist");
        }
      }
      const Status status = groups_->Delete(group.name, all, Soon());
      if (!status.ok()) Wrong("the last delete failed: " + status.ToString());
      workers_.StepAll();
      if (MUST(groups_->TargetSize(group.name)) != 0) Wrong("a target is left at the end");
    }
    if (!alive.empty()) Wrong(*alive.begin() + " is leaked");
    Check();
    if (cloud_.alive().size() != foreign_.size()) Wrong("something is left at the end");
  }

  SeededRng rng_;
  Metrics& metrics_;
  FakeClock clock_;
  FakeCloud cloud_{clock_};
  test::StepWorkers workers_;
  Log log_ = Log::Null();
  std::vector<GroupConfig> configs_;
  std::unique_ptr<CloudNodeGroups> groups_;
  double faults_ = 0;
  std::set<std::string> foreign_;
  std::set<std::string> allowed_;  // ids, and names of orders, that somebody wanted deleted
  std::ostringstream story_;
  std::string wrong_;
};

// A sanitizer makes each ten times as slow, and finds what it finds in the first few.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSequences = 1'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kSequences = 1'000;
#else
constexpr uint64_t kSequences = 10'000;
#endif
#else
constexpr uint64_t kSequences = 10'000;
#endif

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(SequencesTest, NoSequenceOfCallsAndFaultsLeaksOrDoublesOrDeletesWhatIsNotOurs) {
  const uint64_t first = FromEnvironment("COPPICE_SEED", 1);
  const uint64_t count = FromEnvironment("COPPICE_SEQUENCES", kSequences);
  Metrics metrics;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string wrong = Sequence(seed, metrics).Play();
    ASSERT_EQ(wrong, "") << "seed " << seed
                         << "; play it again with COPPICE_SEQUENCES=1 COPPICE_SEED=" << seed;
  }
}

}  // namespace
}  // namespace coppice::cloud
