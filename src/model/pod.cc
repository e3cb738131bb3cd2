#include "model/pod.h"

#include <tuple>

namespace coppice::model {
namespace {

auto Kept(const PodSpec& s) {
  return std::tie(s.volumes, s.containers, s.init_containers, s.restart_policy,
                  s.termination_grace_period_seconds, s.node_selector, s.service_account_name,
                  s.node_name, s.host_network, s.affinity, s.scheduler_name, s.tolerations,
                  s.priority_class_name, s.priority, s.preemption_policy, s.runtime_class_name,
                  s.readiness_gates, s.overhead, s.topology_spread_constraints, s.os,
                  s.scheduling_gates, s.resource_claims, s.resources, s.host_users);
}

}  // namespace

bool operator==(const PodSpec& a, const PodSpec& b) { return Kept(a) == Kept(b); }

}  // namespace coppice::model
