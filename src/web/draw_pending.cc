#include "web/draw_pending.h"

#include <algorithm>

#include "model/resources.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "web/pools.h"

namespace coppice::web {
namespace {

using report::JsonOut;

constexpr size_t kNamesPerShape = 20;  // the rest is a number

// Pods that ask for the same and belong together: of one owner, or of owners that differ in a
// number only, as the Jobs of a queue do.
struct Shape {
  std::string namespace_;
  std::string owner;
  std::string kind;
  model::PodRequests asks;
  std::vector<const model::Pod*> pods;
  TimePoint oldest = TimePoint::max();
};

// "job-17" and "job-18" are of "job"; a ReplicaSet's hash goes, too.
std::string WithoutNumber(std::string name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash == 0 || dash + 1 == name.size()) return name;
  const std::string_view tail = std::string_view(name).substr(dash + 1);
  const bool number = std::ranges::any_of(tail, [](char c) { return c >= '0' && c <= '9'; });
  if (number && tail.size() <= 10) name.resize(dash);
  return name;
}

std::map<std::string, Shape> ShapesOf(const std::vector<cluster::PodPtr>& pending) {
  std::map<std::string, Shape> shapes;
  for (const cluster::PodPtr& pod : pending) {
    const model::OwnerReference* owner = model::ControllerOf(pod->metadata);
    const std::string name = WithoutNumber(owner != nullptr ? owner->name : pod->metadata.name);
    const model::PodRequests asks = model::IncomingRequests(*pod);
    std::string key = pod->metadata.namespace_ + "/" + name + " " +
                      std::to_string(asks.cpu_millis) + "m " +
                      std::to_string(asks.memory_bytes >> 20) + "Mi";
    for (const auto& [resource, amount] : asks.extended)
      if (amount > 0) key += " " + std::to_string(amount) + " " + resource;
    Shape& shape = shapes[key];
    if (shape.pods.empty()) {
      shape.namespace_ = pod->metadata.namespace_;
      shape.owner = name;
      shape.kind = owner != nullptr ? owner->kind : "Pod";
      shape.asks = asks;
    }
    shape.pods.push_back(pod.get());
    if (pod->metadata.creation_timestamp)
      shape.oldest = std::min(shape.oldest, pod->metadata.creation_timestamp->at);
  }
  return shapes;
}

void WriteTold(JsonOut& out, const Told& told) {
  out.Field("verdict", WordOf(told.kind));
  if (told.machine != nullptr) out.Field("text", BoughtText(*told.machine));
  if (told.round != nullptr && told.kind == Told::Kind::kBought)
    out.Field("text", report::TriggeredText(told.round->resizes));
  if (told.kind == Told::Kind::kFits) out.Field("node", told.node);
  if (told.unplaced != nullptr) {
    out.Field("text", told.unplaced->text);
    if (const auto nearest = NearestPool(*told.unplaced); !nearest.empty())
      out.Field("nearest", nearest);
  }
  if (told.unhelped == nullptr) return;
  out.Field("text", report::ReasonCounts(told.round->result, *told.unhelped,
                                         told.round->considered_groups));
  if (!told.unhelped->misses.empty())
    out.Field("nearest", report::Sentence(told.unhelped->misses.front()));
}

// A pod of a gang that waits is told of as that.
bool WriteTold(JsonOut& out, const ToldBy& told) {
  if (!told.gang.empty()) {
    out.Field("verdict", "gang").Field("gang", told.gang).Field("text", told.gang_why);
    return true;
  }
  const Told* best = told.best();
  if (best != nullptr) WriteTold(out, *best);
  return best != nullptr;
}

}  // namespace

void DrawPending(const Seen& seen, const ToldPods& told, Picture& picture) {
  for (const auto& [key, shape] : ShapesOf(seen.pending)) {
    JsonOut out;
    out.Open('{').Field("namespace", shape.namespace_).Field("owner", shape.owner);
    out.Field("kind", shape.kind).Field("count", shape.pods.size());
    if (shape.oldest != TimePoint::max()) out.Field("oldest", Unix(shape.oldest));
    out.Field("cpuMillis", shape.asks.cpu_millis).Field("memoryBytes", shape.asks.memory_bytes);
    out.Key("other").Open('{');
    for (const auto& [resource, amount] : shape.asks.extended)
      if (amount > 0) out.Field(resource, amount);
    out.Close('}').Key("pods").Open('[');
    for (size_t i = 0; i < std::min(shape.pods.size(), kNamesPerShape); ++i)
      out.Text(shape.pods[i]->metadata.name);
    out.Close(']');
    for (const model::Pod* pod : shape.pods) {
      const auto said = told.find(report::NameOf(*pod));
      if (said != told.end() && WriteTold(out, said->second)) break;
    }
    picture.of(Section::kPending)[key] = out.Close('}').Take();
  }
}

}  // namespace coppice::web
