// SolverWorld: everything that is the same for all questions, made ready once.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "provision/algebra.h"
#include "provision/amounts.h"
#include "provision/bits.h"
#include "provision/catalog_index.h"
#include "provision/host_ports.h"
#include "provision/pod_classes.h"
#include "provision/solver.h"
#include "provision/storage_index.h"
#include "provision/taint_book.h"
#include "provision/topology_facts.h"

namespace coppice::provision {

// Types of a pool for which the same daemon sets run.
struct DaemonGroup {
  Bits types;
  bool has_daemons = false;
  model::ResourceList overhead;
  SparseAmounts amounts;
  HostPorts ports;
};

// What a new claim of a pool starts as.
struct ClaimTemplate {
  size_t pool = 0;  // index into SolverInput::pools
  CatalogIndex* catalog = nullptr;
  SetId set = 0;
  Bits types;
  TaintsId taints = 0;
  std::vector<DaemonGroup> daemons;
};

// A state node as a place for pods.
struct NodeRecord {
  SetId set = 0;
  TaintsId taints = 0;
  std::string host;
  HostId host_id = 0;
  SparseAmounts remaining;
  HostPorts ports;
  VolumesByDriver volumes;
  std::map<std::string, int64_t> volume_limits;
  SparseAmounts capacity;
  size_t pool = 0;  // or pools.size()
};

class SolverWorld {
 public:
  SolverWorld(const SolverInput& input, SolverOptions options);

  const SolverInput& input;
  const SolverOptions options;
  Algebra algebra;
  ResourceColumns columns;
  TaintBook taints;
  StorageIndex storage;
  std::map<const cloud::InstanceTypes*, std::unique_ptr<CatalogIndex>> catalogs;
  std::vector<ClaimTemplate> templates;  // in the order of trying
  std::vector<PoolProblem> pool_problems;
  std::vector<SparseAmounts> pool_limits;       // by pool
  std::vector<std::string> host_names;          // sorted; by HostId
  std::vector<NodeRecord> nodes;                // by state node
  std::vector<size_t> node_order;               // in the order of trying, without those that leave
  std::map<std::string, int64_t> reservations;  // id -> free slots
  std::unique_ptr<TopologyFacts> topology;
  std::unique_ptr<PodClasses> classes;

 private:
  struct Daemon;  // a daemon set's pod and how it is judged

  void MakeTemplates();
  void JudgeDaemons(std::vector<Daemon>& daemons);
  void GroupTypes(ClaimTemplate& made, std::vector<Daemon>& daemons);
  bool Runs(Daemon& daemon, const ClaimTemplate& on, size_t type);
  bool Runs(const Daemon& daemon, const NodeRecord& on, const model::Labels& labels);
  void MakeNodes(const std::vector<Daemon>& daemons);
  NodeRecord MakeNode(const StateNode& node, const std::vector<Daemon>& daemons);
  void NoteHosts();
};

}  // namespace coppice::provision
