#include "plugins/batch/task_topology/topology.h"

namespace coppice::batch::task_topology {
namespace {

constexpr std::string_view kAffinityKey = "volcano.sh/task-topology-affinity";
constexpr std::string_view kAntiAffinityKey = "volcano.sh/task-topology-anti-affinity";
constexpr std::string_view kOrderKey = "volcano.sh/task-topology-task-order";

// Every part, empty ones too: "" has one.
std::vector<std::string> SplitAll(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t at = text.find(by);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Status Check(const std::vector<std::string>& names, const std::set<std::string_view>& roles) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (!roles.contains(name)) return NotFound("task " + name + " do not exist in the job");
    if (!seen.insert(name).second) return InvalidArgument("task " + name + " is duplicate");
  }
  return Status::Ok();
}

Result<Topology::Groups> ReadGroups(const std::string* text,
                                    const std::set<std::string_view>& roles) {
  Topology::Groups groups;
  if (!text) return groups;
  for (const std::string& part : SplitAll(*text, ';')) {
    groups.push_back(SplitAll(part, ','));
    TRY(Check(groups.back(), roles));
  }
  return groups;
}

}  // namespace

Result<std::optional<Topology>> ReadTopology(const model::Labels& annotations,
                                             const std::set<std::string_view>& roles) {
  const std::string* affinity = annotations.Find(kAffinityKey);
  const std::string* anti_affinity = annotations.Find(kAntiAffinityKey);
  const std::string* order = annotations.Find(kOrderKey);
  if (!affinity && !anti_affinity && !order) return std::optional<Topology>();
  Topology topology;
  topology.affinity = TRY(ReadGroups(affinity, roles));
  topology.anti_affinity = TRY(ReadGroups(anti_affinity, roles));
  if (order) {
    topology.order = SplitAll(*order, ',');
    TRY(Check(topology.order, roles));
  }
  return std::optional(std::move(topology));
}

}  // namespace coppice::batch::task_topology
