// The report of node pools in sentences and as JSON: why a pod waits, where a claim is in its life,
// why a node stays, what a pool may buy and take away. `coppice explain`, /explain and the dashboard
// speak through these.
//
// Pure functions of the report.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/json_out.h"
#include "report/provision_report.h"

namespace coppice::report {

// "nodepool a: it does not tolerate gpu:NoSchedule (tried)"
std::string Sentence(const PoolMiss& miss);
// "Underutilized: replace 2 nodes (n1, n2) by 1, saves 0.42 per hour: Launching"
std::string Sentence(const DisruptionCommand& command);

// All that the report has to say about it; empty: it was not about it. A node or claim is found
// under either name.
std::vector<std::string> ExplainPod(const ProvisionReport& report, std::string_view namespace_,
                                    std::string_view name);
std::vector<std::string> ExplainNodeClaim(const ProvisionReport& report, std::string_view name);
std::vector<std::string> ExplainNodePool(const ProvisionReport& report, std::string_view name);

void Write(JsonOut& out, const ProvisionReport& report);
std::string ToJson(const ProvisionReport& report);

}  // namespace coppice::report
