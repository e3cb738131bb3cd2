// A small cluster and what a pass said of it, for the tests of the site and its fuzz target.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/fake_clock.h"
#include "report/session_report.h"
#include "web/site.h"

namespace coppice::web {

inline constexpr int64_t kRigNow = 1'767'592'800;

inline report::PodPtr RigPod(const std::string& name, const std::string& owner) {
  model::Pod pod;
  pod.metadata.namespace_ = "shop";
  pod.metadata.name = name;
  pod.metadata.owner_references = {
      {.kind = "ReplicaSet", .name = owner, .uid = owner, .controller = true}};
  pod.metadata.creation_timestamp = model::Time{TimePoint(std::chrono::seconds(kRigNow - 90))};
  return std::make_shared<const model::Pod>(std::move(pod));
}

inline cluster::NodePtr RigNode(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.labels["node.kubernetes.io/instance-type"] = "medium";
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  return std::make_shared<const model::Node>(std::move(node));
}

// web-1 and web-2 wait, nothing helps them; node n2 of group g is not needed; one machine boots.
inline std::shared_ptr<const report::PassReport> RigReport(
    const std::vector<report::PodPtr>& pods) {
  auto report = std::make_shared<report::PassReport>();
  report->at = TimePoint(std::chrono::seconds(kRigNow));
  report->scale_up.result = report::ScaleUpResult::kNoOptionsAvailable;
  report->scale_up.considered_groups = {"g"};
  report::Unhelped unhelped{.pods = pods};
  unhelped.skipped = std::make_shared<const std::map<std::string, std::vector<std::string>>>(
      std::map<std::string, std::vector<std::string>>{{"g", {"max node group size reached"}}});
  unhelped.misses = {{"g", {{.text = "its maximum of 3 were 4"}}}};
  report->scale_up.unhelped.push_back(std::move(unhelped));
  report->scale_down.unneeded = {"n2"};
  report->scale_down.staying = {{.node = "n2",
                                 .reason = report::StayReason::kNotUnneededLongEnough,
                                 .waited = std::chrono::minutes(4),
                                 .wait = std::chrono::minutes(10)}};
  return report;
}

// Gang ml/train waits for machines that are bought, ml/big for what nobody sells; a pod was evicted.
inline std::shared_ptr<report::SessionReport> RigSession() {
  using State = report::WaitingGang::State;
  auto session = std::make_shared<report::SessionReport>();
  session->began = TimePoint(std::chrono::seconds(kRigNow));
  session->took = std::chrono::milliseconds(7);
  session->queues = {{.name = "research",
                      .parent = "root",
                      .state = "Open",
                      .weight = 2,
                      .share = 0.25,
                      .amounts = {{.resource = "cpu", .held = 1000, .deserved = 4000}}}};
  session->waiting = {{.job = "ml/train",
                       .queue = "research",
                       .min_available = 8,
                       .placed = 5,
                       .pods = 3,
                       .why = "3 Insufficient nvidia.com/gpu"},
                      {.job = "ml/big", .queue = "research", .min_available = 64, .pods = 64}};
  session->gangs = {{.gang = "ml/train",
                     .with_room = 5,
                     .lacking = {{.role = "worker", .tasks = 2}},
                     .state = State::kOrdered,
                     .lots = {{.seller = "node groups", .source = "g", .machines = 2}},
                     .price_per_hour = 1.5,
                     .coming = 2,
                     .held_nodes = {"n2"},
                     .held_until = TimePoint(std::chrono::seconds(kRigNow + 600))},
                    {.gang = "ml/big",
                     .state = State::kRefused,
                     .refusals = {"node groups: g would have to grow to 40, its maximum is 3"},
                     .why = "no seller has all that it lacks"}};
  session->groups = {{.group = "ml/done", .phase = "Running"}};
  session->evictions = {{.pod = "ml/small-1", .why = "preempted by ml/train"}};
  session->outside = {{.name = "http://quota/v1", .state = "open", .text = "no answer in 1 s"}};
  return session;
}

class SiteRig {
 public:
  explicit SiteRig(Desk* desk = nullptr, GuardOptions options = {})
      : guard_(std::move(options), clock_),
        site_({.board = board_,
               .guard = guard_,
               .desk = desk,
               .stands_by = [this] { return stands_by; },
               .control_state =
                   [this] {
                     return paused ? R"({"mode":"model","paused":true})"
                                   : R"({"mode":"model","paused":false})";
                   },
               .control =
                   [this](const Control& control) { paused = control.paused.value_or(paused); }}) {
    const std::vector<report::PodPtr> pods = {RigPod("web-1", "web"), RigPod("web-2", "web")};
    board_.Post(PassInfo{RigReport(pods), std::chrono::milliseconds(12)});
    board_.Post(Cluster(pods, 500));
    board_.Flush();
  }

  static std::shared_ptr<const Seen> Cluster(std::vector<report::PodPtr> pods, int16_t cpu) {
    auto seen = std::make_shared<Seen>();
    seen->at = TimePoint(std::chrono::seconds(kRigNow + 1));
    seen->rows = {{.name = "g", .min = 1, .max = 3, .target = 3, .price = 0.5}};
    seen->nodes = {{.node = RigNode("n1"), .row = "g", .cpu = cpu, .memory = 250, .price = 0.5},
                   {.node = RigNode("n2"), .row = "g", .cpu = 10, .memory = 10, .price = 0.5}};
    seen->machines = {{.row = "g", .id = "sim://3", .state = cloud::InstanceState::kCreating}};
    seen->pending = std::move(pods);
    seen->running = 7;
    return seen;
  }

  net::ServerResponse Ask(const std::string& target, std::string method = "GET",
                          std::string body = "") {
    const auto parsed = net::ParseTarget(target);
    CHECK(parsed.ok());
    net::ServerRequest request{
        .method = std::move(method),
        .path = parsed->path,
        .query = parsed->query,
        .headers = {{"host", "localhost:8086"}, {"content-type", "application/json"}},
        .body = std::move(body)};
    return site_.Answer(request);
  }
  Board& board() { return board_; }
  Site& site() { return site_; }
  bool paused = false;
  std::string stands_by;

 private:
  FakeClock clock_{TimePoint(std::chrono::seconds(kRigNow))};
  Board board_;
  Guard guard_;
  Site site_;
};

}  // namespace coppice::web
