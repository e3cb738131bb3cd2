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
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/batch.h"
#include "model/node_pool.h"
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

// What a node pool could buy, as its provider said.
struct RecordedType {
  std::string name;
  int64_t cpu_millis = 0;  // of these and the next two what pods can have
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  std::string architecture;
  std::vector<std::string> zones;
  std::optional<double> price;       // per hour, on demand
  std::optional<double> spot_price;  // absent: is not sold so
};

// Pods that start together.
struct GangLife {
  model::PodGroup group;
  TimePoint created;
  std::optional<TimePoint> done;
};

struct Demand {
  TimePoint start;
  TimePoint end;
  std::vector<PodShape> shapes;
  std::vector<PodLife> pods;                     // in the order of creation
  std::map<std::string, StartNode> start_nodes;  // by name
  std::vector<RecordedGroup> groups;
  std::vector<model::PodDisruptionBudget> budgets;  // as they were last
  std::vector<model::NodePool> pools;               // likewise
  std::vector<RecordedType> types;                  // by name
  std::vector<GangLife> gangs;                      // in the order in which they came
  std::vector<model::Queue> queues;                 // as they were last
  std::vector<model::PriorityClass> priorities;     // likewise
  std::vector<std::string> notes;                   // what could not be read

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
  void Bound(size_t pod, std::string node);
  // Alive under this name and, as far as both lines say, the same pod: it goes on.
  bool GoesOn(const std::string& name, const nlohmann::json& line);
  void ReadShape(const nlohmann::json& line);
  void ReadAdded(const std::string& name, const nlohmann::json& line);
  void ReadGroup(const std::string& id, const nlohmann::json& line);
  void ReadBudget(const std::string& name, const nlohmann::json& line);
  template <class T>
  void ReadNamed(const std::string& name, const nlohmann::json& line,
                 std::map<std::string, T>& objects);
  void ReadGang(const std::string& name, const nlohmann::json& line);
  void ReadType(const std::string& name, const nlohmann::json& line);
  void EndOfAll();

  Demand demand_;
  std::map<int, uint32_t> shape_ids_;  // of the current file
  struct Alive {
    size_t pod = 0;                    // of demand_.pods
    std::optional<TimePoint> created;  // as the line has it
  };
  std::map<std::string, Alive, std::less<>> alive_;
  std::map<std::string, size_t, std::less<>> group_at_;
  std::map<std::string, model::PodDisruptionBudget> budgets_;
  std::map<std::string, model::NodePool> pools_;
  std::map<std::string, RecordedType> types_;
  std::map<std::string, model::Queue> queues_;
  std::map<std::string, model::PriorityClass> priorities_;
  std::map<std::string, size_t> gangs_alive_;  // of demand_.gangs
  std::set<std::string> gangs_named_;          // in this "everything"
  bool started_ = false;
  bool in_all_ = false;                // between a file's beginning and its {"all"}
  bool first_all_ = true;              // of the first file: what stood there
  std::map<std::string, bool> named_;  // in this "everything"
  TimePoint now_;
  size_t unreadable_ = 0;
};

Result<Demand> ReadDemand(const std::string& path);

}  // namespace coppice::rehearse
