// podRequests: what a pod asks of a node, in every variant that kube-scheduler works with.

#include <string>

#include "model/resources.h"
#include "test/replay/replay.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

Json ListJson(const model::ResourceList& list) {
  Json json = Json::object();
  for (const auto& [name, amount] : list) json[name] = amount.ToString();
  return json;
}

Json AmountsJson(const model::PodRequests& requests) {
  Json json{{"cpuMilli", requests.cpu_millis},
            {"memory", requests.memory_bytes},
            {"ephemeralStorage", requests.ephemeral_bytes}};
  for (const auto& [name, amount] : requests.extended) json["scalar"][name] = amount;
  return json;
}

}  // namespace

void podRequests(const Json& c, Report& report) {
  const auto decoded = wire::FromJson<model::Pod>(c.at("pod").dump());
  if (!decoded.ok()) return report.Unreadable(decoded.status().ToString());
  const model::Pod& pod = *decoded;
  const model::ResourceList requests = model::RequestList(pod);
  const model::NonZeroRequests scoring = model::ScoringRequests(pod);
  const Json ours{
      {"requests", ListJson(requests)},
      {"limits", ListJson(model::LimitList(pod))},
      // Recorded before the filter cuts it off at zero, which IncomingRequests() does.
      {"incoming", AmountsJson(model::ToRequests(requests))},
      {"placed", AmountsJson(model::PlacedRequests(pod))},
      {"nonZero", {{"cpuMilli", scoring.cpu_millis}, {"memory", scoring.memory_bytes}}},
      {"qos", model::QosClass(pod)},
      {"priority", model::PriorityOf(pod)},
  };
  for (const auto& [key, value] : ours.items()) {
    if (c.at("expect").at(key) != value)
      report.Differs(key, c.at("expect").at(key).dump(), value.dump());
  }
}

}  // namespace coppice::replay
