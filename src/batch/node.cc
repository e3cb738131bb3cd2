#include "batch/node.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "batch/arguments.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

constexpr std::string_view kOversubscriptionNode = "volcano.sh/oversubscription";
constexpr std::string_view kOversubscriptionCpu = "volcano.sh/oversubscription-cpu";
constexpr std::string_view kOversubscriptionMemory = "volcano.sh/oversubscription-memory";
constexpr std::string_view kOfflineJobEvicting = "volcano.sh/offline-job-evicting";

double AmountIn(const model::Labels& annotations, std::string_view key) {
  const std::string* text = annotations.Find(key);
  if (!text) return 0;
  std::string_view number = *text;
  if (number.starts_with('+')) number.remove_prefix(1);
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, problem] = std::from_chars(number.data(), end, value);
  return problem == std::errc() && stop == end && std::isfinite(value) ? value : 0;
}

bool FlagIn(const model::Labels& from, std::string_view key) {
  const std::string* text = from.Find(key);
  return text && ParseGoBool(*text).value_or(false);
}

bool HasRoom(double asked, double there) {
  return asked < there || std::abs(asked - there) < kEpsilon;
}

}  // namespace

NodeInfo::NodeInfo(std::shared_ptr<const model::Node> node)
    : name(node->metadata.name), object(std::move(node)) {
  const model::ObjectMeta& meta = object->metadata;
  oversubscription_node = FlagIn(meta.labels, kOversubscriptionNode);
  offline_job_evicting = FlagIn(meta.annotations, kOfflineJobEvicting);
  oversubscription.cpu = AmountIn(meta.annotations, kOversubscriptionCpu);
  oversubscription.memory = AmountIn(meta.annotations, kOversubscriptionMemory);
  if (const std::string* zone = meta.labels.Find(kRevocableZoneKey)) revocable_zone = *zone;
  allocatable = Resource::From(object->status.allocatable).Add(oversubscription);
  capacity = Resource::From(object->status.capacity).Add(oversubscription);
  idle = unbound_idle = allocatable;
}

Resource NodeInfo::FutureIdle() const {
  Resource future = idle;
  future.Add(releasing);
  (void)future.Sub(pipelined);
  return future;
}

bool NodeInfo::FitsFuture(const Resource& request) const {
  if (!HasRoom(request.cpu, idle.cpu + releasing.cpu - pipelined.cpu)) return false;
  if (!HasRoom(request.memory, idle.memory + releasing.memory - pipelined.memory)) return false;
  return std::ranges::all_of(request.scalars(), [&](const Resource::Scalar& scalar) {
    const ScalarKey key = scalar.key;
    return HasRoom(scalar.value, idle.Get(key) + releasing.Get(key) - pipelined.Get(key));
  });
}

std::string NodeInfo::FirstShortage(const Resource& request) const {
  const auto names = LessEqualNamed(request, FutureIdle(), Missing::kZero).names;
  return names.empty() ? "" : names.front();
}

Status NodeInfo::Add(Task& task) {
  if (!task.node_name.empty() && task.node_name != name) {
    return FailedPrecondition("the task is on node " + std::string(task.node_name));
  }
  if (task.node || task.left_behind_on == this)
    return AlreadyExists("the task is on node " + std::string(name));
  const Resource& request = task.req();
  switch (task.status) {
    case TaskStatus::kReleasing:
      (void)idle.Sub(request);
      releasing.Add(request);
      used.Add(request);
      break;
    case TaskStatus::kPipelined:
      pipelined.Add(request);
      break;
    case TaskStatus::kBinding:
      if (!FitsIdle(request)) return ResourceExhausted("no room on node " + std::string(name));
      [[fallthrough]];
    default:
      (void)idle.Sub(request);
      used.Add(request);
  }
  task.node_name = name;
  task.node = this;
  task.node_status = task.status;
  task.node_last_transaction = task.last_transaction;
  task.node_slot = static_cast<uint32_t>(tasks.size());
  tasks.push_back(&task);
  with_pod_affinity += task.has_pod_affinity;
  keep_others_off += task.keeps_others_off;
  NoteChange();
  return Status::Ok();
}

void NodeInfo::Remove(Task& task) {
  if (task.left_behind_on == this) {
    task.left_behind_on = nullptr;
    GiveBack(task.req(), task.left_behind_status);
  } else if (task.node == this) {
    GiveBack(task.req(), task.node_status);
    TakeOff(task);
  } else {
    return;
  }
  NoteChange();
}

void NodeInfo::LeaveBehind(Task& task) {
  task.left_behind_on = this;
  task.left_behind_status = task.node_status;
  TakeOff(task);
  NoteChange();
}

void NodeInfo::GiveBack(const Resource& request, TaskStatus status) {
  switch (status) {
    case TaskStatus::kReleasing:
      (void)releasing.Sub(request);
      idle.Add(request);
      (void)used.Sub(request);
      break;
    case TaskStatus::kPipelined:
      (void)pipelined.Sub(request);
      break;
    default:
      idle.Add(request);
      (void)used.Sub(request);
  }
}

void NodeInfo::TakeOff(Task& task) {
  tasks[task.node_slot] = tasks.back();
  tasks[task.node_slot]->node_slot = task.node_slot;
  tasks.pop_back();
  with_pod_affinity -= task.has_pod_affinity;
  keep_others_off -= task.keeps_others_off;
  task.node = nullptr;
}

void NodeInfo::NoteChange() {
  ++version;
  if (changed) changed->push_back(index);
}

void NodeInfo::CountScoring(const Task& task, int64_t sign) {
  const model::NonZeroRequests& own = task.Scoring();
  scoring.cpu_millis += sign * own.cpu_millis;
  scoring.memory_bytes += sign * own.memory_bytes;
}

std::vector<Task*> NodeInfo::SortedTasks() const {
  std::vector<Task*> sorted = tasks;
  std::ranges::sort(sorted, [](const Task* a, const Task* b) {
    return std::tie(a->namespace_, a->name) < std::tie(b->namespace_, b->name);
  });
  return sorted;
}

}  // namespace coppice::batch
