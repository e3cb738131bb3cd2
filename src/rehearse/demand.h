// Demand: what a recorded log says that people wanted, and what stood there when it began: pods with
// the times at which they were created, bound and done; nodes and their groups; the cloud's groups.
//
// A log may begin anywhere and have gaps: pods that were there at the start were created then, pods
// that are there at the end stay. Lines that cannot be read are counted and left out.

#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/objects.h"

namespace coppice::rehearse {

struct PodShape {
  model::Pod pod;
  std::string owner_kind;  // "" for pods of nobody
  std::string owner_name;
  bool finite() const { return owner_kind == "Job" || pod.spec.restart_policy == "Never"; }
};

struct PodLife {
  std::string name;  // namespace/name
  uint32_t shape = 0;
  TimePoint created;
  std::optional<TimePoint> bound;
  std::optional<TimePoint> done;
  std::string node;  // the first it was on
};

struct RecordedGroup {
  std::string id;
  int min = 0;
  int max = 0;
  std::optional<double> price;  // per hour
  std::optional<model::Node> node;
};

// A node that stood there when the log begins, and whose it is; of neither: takes no part.
struct StartNode {
  std::string group;
  std::string pool;
  const std::string& owner() const { return group.empty() ? pool : group; }
};

struct Demand {
  TimePoint start;
  TimePoint end;
  std::vector<PodShape> shapes;
  std::vector<PodLife> pods;                       // in the order of creation
  std::map<std::string, StartNode> start_nodes;  // by name
  std::vector<RecordedGroup> groups;
  std::vector<model::PodDisruptionBudget> budgets;  // as they were last
  std::vector<std::string> notes;  // what could not be read

  // It was on a node when the log begins.
  bool Stood(const PodLife& life) const {
    return life.created == start && life.bound == start && !life.node.empty();
  }
};

// Takes line after line; what comes of it is asked for once.
class DemandReader {
 public:
  void Line(std::string_view line);
  // InvalidArgument if there was nothing to play.
  Result<Demand> Finish() &&;

 private:
  void Done(const std::string& name);
  void ReadShape(const nlohmann::json& line);
  void ReadAdded(const std::string& name, const nlohmann::json& line);
  void ReadGroup(const std::string& id, const nlohmann::json& line);
  void ReadBudget(const std::string& name, const nlohmann::json& line);
  void EndOfAll();

  Demand demand_;
  std::map<int, uint32_t> shape_ids_;  // of the current file
  std::map<std::string, size_t, std::less<>> alive_;
  std::map<std::string, size_t, std::less<>> group_at_;
  std::map<std::string, model::PodDisruptionBudget> budgets_;
  bool started_ = false;
  bool in_all_ = false;                // between a file's beginning and its {"all"}
  bool first_all_ = true;              // of the first file: what stood there
  std::map<std::string, bool> named_;  // in this "everything"
  TimePoint now_;
  size_t unreadable_ = 0;
};

Result<Demand> ReadDemand(const std::string& path);

// The recorded groups as the configuration of a provider on the simulated cloud: a flavor per
// group with what its template has, its price, labels and taints.
std::string GroupsAsConfig(const Demand& demand, uint64_t seed);
// What their machines are, without groups: for node pools, which buy any of them anywhere. Groups of
// one type are one flavor, sold in the zones of all of them.
std::string FlavorsAsConfig(const Demand& demand, uint64_t seed);

}  // namespace coppice::rehearse
