// A pass's report in sentences: why a pod waits, why a node stays, what was compared. Events, the
// log, `coppice simulate` and `coppice explain` all speak through these, so that they say the same.
//
// Pure functions of the report.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/pass_report.h"

namespace coppice::report {

// Upstream's texts, to the letter: what it writes into events.
std::string TriggeredText(const std::vector<GroupResize>& resizes);
std::string NotTriggeredText(ScaleUpResult result, const Unhelped& unhelped,
                             const std::vector<std::string>& considered);
// "3 Insufficient cpu, 1 max node group size reached": how many groups said what.
std::string ReasonCounts(ScaleUpResult result, const Unhelped& unhelped,
                         const std::vector<std::string>& considered);

// "group a would take it if its request of cpu were 500m smaller and it tolerated x:NoSchedule"
std::string Sentence(const NearMiss& miss);
// "NodeResourcesFit: Insufficient cpu (asks for 4, 1500m free of 2)"
std::string Sentence(const model::Verdict& verdict);
// "cpu utilization 0.63 > 0.5"; "unneeded for 4m10s of 10m0s"; "blocked by pod a/b: ..."
std::string Sentence(const StayingNode& node);
// "b won by least-waste: a leaves 60.0% ..., b leaves 12.5% ... unused"
std::string Sentence(const ScaleUp& scale_up, const ExpanderStep& step);

struct GroupReason {
  std::string group;
  std::string text;
};
// What every group had against these pods, in order of name.
std::vector<GroupReason> ReasonsByGroup(const Unhelped& unhelped);

// All that the pass has to say about a pod or a node; empty: it was not about it.
std::vector<std::string> ExplainPod(const PassReport& report, std::string_view namespace_,
                                    std::string_view name);
std::vector<std::string> ExplainNode(const PassReport& report, std::string_view node);

std::string NameOf(const model::Pod& pod);  // namespace/name
// "a/x, a/y and 3 more"
std::string Names(const std::vector<PodPtr>& pods, size_t most = 3);

}  // namespace coppice::report
