// Draw: from what was seen and what the last pass said to the picture (picture.h).

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "base/strings.h"
#include "model/gpu.h"
#include "model/resources.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "web/draw_pending.h"
#include "web/picture.h"

namespace coppice::web {
namespace {

using report::JsonOut;
using report::StayReason;

// A node without a Ready condition of True, this young, is on its way up.
constexpr Duration kStarts = std::chrono::minutes(15);

// What the last pass said of a node.
struct Verdict {
  const report::StayingNode* staying = nullptr;
  bool unneeded = false;
  bool removed = false;
  const report::StayingPoolNode* of_pool = nullptr;    // that stays
  const report::DisruptionCommand* command = nullptr;  // that takes it away
};
using Verdicts = std::unordered_map<std::string_view, Verdict>;

void AddVerdicts(const report::PassReport* report, Verdicts& verdicts) {
  if (report == nullptr) return;
  for (const auto* list : {&report->scale_down.staying, &report->scale_down.staying_untold})
    for (const report::StayingNode& node : *list) verdicts[node.node].staying = &node;
  for (const std::string& node : report->scale_down.unneeded) verdicts[node].unneeded = true;
  for (const report::RemovedNode& node : report->scale_down.removed)
    verdicts[node.node].removed = true;
}

// That goes on: not done, not given up.
bool UnderWay(const report::DisruptionCommand& command) {
  return command.stage == "Validating" || command.stage == "Launching" ||
         command.stage == "Deleting";
}

void AddVerdicts(const report::ProvisionReport* report, Verdicts& verdicts) {
  if (report == nullptr) return;
  for (const report::StayingPoolNode& node : report->staying) verdicts[node.node].of_pool = &node;
  for (const report::DisruptionCommand& command : report->commands) {
    if (!UnderWay(command)) continue;
    for (const std::string& node : command.nodes) verdicts[node].command = &command;
  }
}

std::string_view Label(const model::Node& node, std::string_view key) {
  const auto found = node.metadata.labels.find(key);
  return found == node.metadata.labels.end() ? std::string_view() : found->second;
}
std::string_view TypeOf(const model::Node& node) {
  return Label(node, "node.kubernetes.io/instance-type");
}
std::string_view ZoneOf(const model::Node& node) {
  return Label(node, "topology.kubernetes.io/zone");
}

bool IsReadyNode(const model::Node& node) {
  return std::ranges::any_of(node.status.conditions, [](const model::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

bool IsTainted(const model::Node& node, std::string_view key) {
  return std::ranges::any_of(node.spec.taints, [&](const auto& t) { return t.key == key; });
}

std::string_view StateOf(const SeenNode& seen, const Verdict& verdict, TimePoint now) {
  const model::Node& node = *seen.node;
  if (!seen.taken_by.empty() || verdict.removed ||
      IsTainted(node, "ToBeDeletedByClusterAutoscaler") ||
      IsTainted(node, "karpenter.sh/disrupted"))
    return "draining";
  if (!IsReadyNode(node)) {
    const auto& created = node.metadata.creation_timestamp;
    return created && now - created->at < kStarts ? "starting" : "unready";
  }
  if (verdict.unneeded) return "unneeded";
  return node.spec.unschedulable ? "cordoned" : "ready";
}

// When it goes if nothing changes, as far as the pass could say: it stays the same from pass to
// pass, where the time left would not.
void WriteReason(JsonOut& out, const report::StayingNode& node, TimePoint pass_at) {
  out.Field("reason", node.reason == StayReason::kNoReason ? std::string_view(node.detail)
                                                           : report::ToString(node.reason));
  if (node.reason == StayReason::kNotUnneededLongEnough ||
      node.reason == StayReason::kNotUnreadyLongEnough) {
    out.Field("goesAt", Unix(pass_at - node.waited + node.wait));
    out.Field("unneededSince", Unix(pass_at - node.waited));
  }
  if (node.reason == StayReason::kCooldown) {
    out.Field("goesAt", Unix(pass_at + node.wait));
    out.Field("unneededSince", Unix(pass_at - node.waited));
  }
  if (node.blocking_pod) out.Field("pod", report::NameOf(*node.blocking_pod));
  if (node.stuck_pod) out.Field("pod", report::NameOf(*node.stuck_pod));
}

std::string NodeJson(const SeenNode& seen, std::string_view state, const Verdict& verdict,
                     TimePoint pass_at) {
  JsonOut out;
  out.Open('{').Field("row", seen.row).Field("state", state);
  out.Field("cpu", seen.cpu).Field("memory", seen.memory);
  if (seen.gpu != kNoSuchResource) out.Field("gpu", seen.gpu);
  out.Field("pods", seen.pods);
  if (const auto& created = seen.node->metadata.creation_timestamp)
    out.Field("since", Unix(created->at));
  if (const auto type = TypeOf(*seen.node); !type.empty()) out.Field("type", type);
  if (const auto zone = ZoneOf(*seen.node); !zone.empty()) out.Field("zone", zone);
  if (seen.price > 0) out.Field("price", seen.price);
  if (!seen.taken_by.empty()) out.Field("takenBy", seen.taken_by);
  if (!seen.claim.empty()) out.Field("claim", seen.claim);
  if (seen.expires) out.Field("expiresAt", Unix(*seen.expires));
  if (verdict.command != nullptr) {
    out.Field("reason", verdict.command->reason);
  } else if (verdict.staying != nullptr) {
    WriteReason(out, *verdict.staying, pass_at);
  } else if (verdict.of_pool != nullptr) {
    out.Field("reason",
              verdict.of_pool->text.empty() ? verdict.of_pool->reason : verdict.of_pool->text);
  }
  return out.Close('}').Take();
}

std::string MachineJson(const SeenMachine& machine, std::string_view state) {
  JsonOut out;
  out.Open('{').Field("row", machine.row).Field("state", state);
  if (!machine.error.empty()) out.Field("error", machine.error);
  if (!machine.claim.empty()) out.Field("claim", machine.claim);
  if (!machine.text.empty()) out.Field("text", machine.text);
  return out.Close('}').Take();
}

// What is added up per row while nodes are drawn.
struct RowSum {
  int nodes = 0;
  int ready = 0;
  int coming = 0;
  int unneeded = 0;
  int leaving = 0;
  double cost = 0;
};

class Drawing {
 public:
  Drawing(const Seen& seen, const LastPasses& last, const ToldPods& told, Sample& sample)
      : seen_(seen), report_(last.groups), told_(told), sample_(sample) {
    AddVerdicts(last.groups, verdicts_);
    AddVerdicts(last.pools, verdicts_);
    if (last.groups != nullptr) last_pass_ = last.groups->at;
    if (last.pools != nullptr)
      last_pass_ = std::max(last.pools->at, last_pass_.value_or(last.pools->at));
    sample_ = {.at = seen.at};
  }

  Picture Draw() {
    for (const SeenNode& node : seen_.nodes) DrawNode(node);
    for (const SeenMachine& machine : seen_.machines) DrawMachine(machine);
    for (const SeenRow& row : seen_.rows) DrawRow(row);
    DrawPending(seen_, told_, picture_);
    DrawTotal();
    return std::move(picture_);
  }

 private:
  void DrawNode(const SeenNode& seen) {
    const std::string& name = seen.node->metadata.name;
    const auto found = verdicts_.find(name);
    const Verdict verdict = found == verdicts_.end() ? Verdict{} : found->second;
    const std::string_view state = StateOf(seen, verdict, seen_.at);
    RowSum& sum = sums_[seen.row];
    ++sum.nodes;
    sum.cost += seen.price;
    if (state == "starting") ++sum.coming;
    if (state == "draining") ++sum.leaving;
    if (state == "unneeded") ++sum.unneeded;
    if (state == "ready" || state == "unneeded") ++sum.ready;
    const model::NodeAmounts has = model::ToNodeAmounts(seen.node->status.allocatable);
    cpu_has_ += static_cast<double>(has.cpu_millis);
    memory_has_ += static_cast<double>(has.memory_bytes);
    cpu_used_ += static_cast<double>(has.cpu_millis) * seen.cpu / 1000;
    memory_used_ += static_cast<double>(has.memory_bytes) * seen.memory / 1000;
    picture_.of(Section::kNodes)[name] =
        NodeJson(seen, state, verdict, report_ != nullptr ? report_->at : seen_.at);
  }

  void DrawMachine(const SeenMachine& machine) {
    RowSum& sum = sums_[machine.row];
    std::string_view state = "booting";
    if (!machine.error.empty()) state = "failed";
    if (machine.state == cloud::InstanceState::kDeleting) state = "draining";
    if (state == "booting") ++sum.coming;
    if (state == "draining") ++sum.leaving;
    picture_.of(Section::kNodes)[machine.id] = MachineJson(machine, state);
  }

  const report::GroupStatus* StatusOf(const std::string& row) const {
    if (report_ == nullptr || !report_->status) return nullptr;
    const auto& groups = report_->status->groups;
    const auto found = std::ranges::find(groups, row, &report::GroupStatus::group);
    return found == groups.end() ? nullptr : &*found;
  }

  int UpcomingIn(const std::string& row) const {
    if (report_ == nullptr) return 0;
    const auto found = report_->upcoming.find(row);
    return found == report_->upcoming.end() ? 0 : found->second;
  }

  void DrawRow(const SeenRow& row) {
    RowSum& sum = sums_[row.name];
    // What was ordered and has neither a machine nor a node to be seen: planned with all the same.
    const int imagined = std::max(0, UpcomingIn(row.name) - sum.coming);
    for (int i = 1; i <= std::min(imagined, 1'000); ++i) {
      picture_.of(Section::kNodes)["imagined/" + row.name + "/" + std::to_string(i)] =
          MachineJson({.row = row.name}, "imagined");
    }
    sum.coming += imagined;
    JsonOut out;
    out.Open('{').Field("kind", row.kind).Field("min", row.min).Field("max", row.max);
    out.Field("target", row.target).Field("ready", sum.ready).Field("coming", sum.coming);
    out.Field("unneeded", sum.unneeded).Field("leaving", sum.leaving);
    out.Field("cost", sum.cost).Field("price", row.price);
    if (row.example) {
      out.Field("type", TypeOf(*row.example)).Field("zone", ZoneOf(*row.example));
      const model::NodeAmounts amounts = model::ToNodeAmounts(row.example->status.allocatable);
      out.Field("cpuMillis", amounts.cpu_millis).Field("memoryBytes", amounts.memory_bytes);
      if (const auto gpu = model::AllocatableGpuResource(*row.example); !gpu.empty())
        out.Field("gpus", amounts.Extended(gpu));
    }
    if (const report::GroupStatus* status = StatusOf(row.name)) {
      out.Field("healthy", status->healthy).Field("scaleUp", status->scale_up);
      if (!status->backoff_code.empty()) {
        out.Field("backoff", status->backoff_code).Field("backoffText", status->backoff_message);
      }
    }
    if (!row.trouble.empty()) out.Field("trouble", row.trouble);
    if (row.kind == "pool") {
      out.Field("usage", Join(row.usage, ", ")).Field("limits", Join(row.limits, ", "));
    }
    picture_.of(Section::kRows)[row.name] = out.Close('}').Take();
  }

  void DrawTotal();

  const Seen& seen_;
  const report::PassReport* report_;
  const ToldPods& told_;
  Sample& sample_;
  std::optional<TimePoint> last_pass_;  // of whichever engine
  Verdicts verdicts_;
  std::map<std::string, RowSum> sums_;
  double cpu_has_ = 0, cpu_used_ = 0, memory_has_ = 0, memory_used_ = 0;
  Picture picture_;
};

void Drawing::DrawTotal() {
  RowSum all;
  for (const auto& [row, sum] : sums_) {
    all.nodes += sum.nodes;
    all.ready += sum.ready;
    all.coming += sum.coming;
    all.unneeded += sum.unneeded;
    all.leaving += sum.leaving;
    all.cost += sum.cost;
  }
  sample_.nodes = all.nodes;
  sample_.coming = all.coming;
  sample_.leaving = all.leaving;
  sample_.unneeded = all.unneeded;
  sample_.running = static_cast<int32_t>(seen_.running);
  sample_.pending = static_cast<int32_t>(seen_.pending.size() + seen_.more_pending);
  sample_.cost = static_cast<float>(all.cost);
  sample_.cpu = cpu_has_ > 0 ? static_cast<float>(cpu_used_ / cpu_has_) : 0;
  sample_.memory = memory_has_ > 0 ? static_cast<float>(memory_used_ / memory_has_) : 0;
  JsonOut out;
  out.Open('{').Field("nodes", all.nodes).Field("ready", all.ready).Field("coming", all.coming);
  out.Field("unneeded", all.unneeded).Field("leaving", all.leaving);
  out.Field("running", sample_.running).Field("pending", sample_.pending);
  out.Field("cost", std::round(all.cost * 1e4) / 1e4);
  out.Field("cpu", std::lround(sample_.cpu * 1000))
      .Field("memory", std::lround(sample_.memory * 1000));
  if (last_pass_) out.Field("lastPass", Unix(*last_pass_));
  picture_.total = out.Close('}').Take();
}

}  // namespace

Picture Draw(const Seen& seen, const LastPasses& last, const ToldPods& told, Sample& sample) {
  return Drawing(seen, last, told, sample).Draw();
}

}  // namespace coppice::web
