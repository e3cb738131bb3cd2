// What the engine of node pools has to say about a pod, a node, a claim or a pool: its last report
// in sentences. Pure functions of the report.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "report/provision_report.h"

namespace coppice::report {

// "n1, n2 go (Underutilized, Launching); in their place: default-x; saves 0.4200 an hour"
std::string Sentence(const DisruptionCommand& command);

// Empty: the report is not about it.
std::vector<std::string> ExplainPod(const ProvisionReport& report, std::string_view name);
std::vector<std::string> ExplainNode(const ProvisionReport& report, std::string_view node);
std::vector<std::string> ExplainClaim(const ProvisionReport& report, std::string_view claim);
std::vector<std::string> ExplainPool(const ProvisionReport& report, std::string_view pool);

// One of them is asked for: `pod` is NAMESPACE/NAME.
struct PoolsQuestion {
  const std::string* pod = nullptr;
  const std::string* node = nullptr;
  const std::string* claim = nullptr;
  const std::string* pool = nullptr;
};
Result<std::string> ExplainPools(const ProvisionReport& report, const PoolsQuestion& question);

}  // namespace coppice::report
