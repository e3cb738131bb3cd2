// What real clients bring along: many calls at once, deadlines, fields and methods of another
// version, large nodes, nonsense.

#include <fmt/format.h>

#include <algorithm>

#include "base/mutex.h"
#include "conform/provider_probe.h"

namespace coppice::conform {
namespace {

constexpr size_t kCallsAtOnce = 32;  // as many as our own client makes
constexpr size_t kRounds = 4;
constexpr size_t kAnnotationBytes = size_t{5} << 20;  // above gRPC's usual limit of 4 MiB
// A field that no message of the protocol has: number 1000, the text "x".
constexpr std::string_view kUnknownField = "\xC2\x3E\x01x";

// What one round of reads says, or the first failure.
Result<std::vector<int>> ReadTargets(const ProviderProbe& probe) {
  std::vector<int> targets;
  for (const pb::NodeGroup& group : probe.groups) {
    targets.push_back(TRY(probe.TargetSize(group.id())));
    (void)TRY(probe.Instances(group.id()));
  }
  return targets;
}

}  // namespace

Outcome ParallelReads(ProviderProbe& probe) {
  const auto alone = ReadTargets(probe);
  if (!alone.ok() || alone->empty()) return NotApplicable("there is nothing to read");
  Mutex mutex;
  std::string wrong;
  AtOnce(kCallsAtOnce, [&](size_t) {
    for (size_t round = 0; round < kRounds; ++round) {
      const auto together = ReadTargets(probe);
      if (together.ok() && *together == *alone) continue;
      const MutexLock lock(mutex);
      wrong = together.ok() ? "targets are others than one by one" : together.status().ToString();
      return;
    }
  });
  return wrong.empty() ? Passed()
                       : Failed(fmt::format("{} calls at once: {}", kCallsAtOnce, wrong));
}

Outcome ParallelRefreshes(ProviderProbe& probe) {
  if (!probe.refreshes) return NotApplicable("Refresh fails");
  (void)probe.Refresh();  // what one alone changes is another rule's
  const auto before = ReadTargets(probe);
  Mutex mutex;
  std::string wrong;
  AtOnce(4, [&](size_t i) {
    const Status status = i % 2 == 0 ? probe.Refresh() : probe.ListGroups().status();
    if (status.ok()) return;
    const MutexLock lock(mutex);
    wrong = (i % 2 == 0 ? "Refresh: " : "NodeGroups: ") + status.ToString();
  });
  if (!wrong.empty()) return Failed("two Refreshes and two NodeGroups at once: " + wrong);
  const auto after = ReadTargets(probe);
  if (before.ok() && after.ok() && *before != *after) {
    return Failed("after Refreshes at once the targets are others");
  }
  return Passed();
}

Outcome UnknownFields(ProviderProbe& probe) {
  for (const char* method : {"NodeGroups", "Refresh"}) {
    if (!probe.refreshes && std::string_view(method) == "Refresh") continue;
    const auto answer = probe.calls.Bytes(method, kUnknownField);
    if (!answer.ok() && probe.calls.Bytes(method, "").ok()) {
      return Failed(std::string(method) +
                    " with a field of a later version: " + answer.status().ToString());
    }
  }
  return Passed();
}

Outcome UnknownMethod(ProviderProbe& probe) {
  const auto answer = probe.calls.Bytes("NodeGroupOfALaterVersion", "");
  if (answer.code() == Code::kUnimplemented) return Passed();
  return Failed("a method that does not exist is answered with " +
                (answer.ok() ? "OK" : answer.status().ToString()));
}

Outcome ShortDeadlines(ProviderProbe& probe) {
  const auto before = ReadTargets(probe);
  if (!before.ok()) return NotApplicable("there is nothing to read");
  for (int i = 0; i < 20; ++i) {
    for (const char* method : {"Refresh", "NodeGroups", "GPULabel"}) {
      (void)probe.calls.Bytes(method, "", std::chrono::milliseconds(1));
    }
  }
  const auto after = ReadTargets(probe);
  if (!after.ok())
    return Failed("after calls with a deadline of 1 ms: " + after.status().ToString());
  if (*after != *before)
    return Failed("after calls with a deadline of 1 ms the targets are others");
  return Passed();
}

Outcome LargeRequest(ProviderProbe& probe) {
  pb::NodeGroupForNodeRequest request;
  request.mutable_node()->set_providerid(kStranger);
  request.mutable_node()->set_name("large");
  (*request.mutable_node()->mutable_annotations())["conform"] = std::string(kAnnotationBytes, 'x');
  const auto answer = probe.calls.Bytes("NodeGroupForNode", request.SerializeAsString());
  if (answer.ok()) return Passed();
  if (probe.GroupOf(kStranger).status() == answer.status()) {
    return NotApplicable("NodeGroupForNode fails for a small one as well");
  }
  return Failed(answer.status().ToString() +
                "; raise your library's limit, which is 4 MiB unless you say otherwise: a delete "
                "of many annotated nodes is larger");
}

Outcome GarbageRequest(ProviderProbe& probe) {
  for (const char* method : {"NodeGroupForNode", "NodeGroupTargetSize", "NodeGroupNodes"}) {
    if (probe.calls.Bytes(method, "\xFF\xFF\xFF\xFF\xFF").ok()) {
      return Failed(std::string(method) + " answers bytes that are no message with OK");
    }
  }
  const auto after = probe.ListGroups();
  return after.ok() ? Passed()
                    : Failed("afterwards NodeGroups fails: " + after.status().ToString());
}

Outcome CleanupLeavesItUp(ProviderProbe& probe) {
  const bool could_read = ReadTargets(probe).ok();
  const auto answer = probe.calls.Ask<pb::CleanupResponse>("Cleanup", pb::CleanupRequest());
  if (!answer.ok() && answer.code() != Code::kUnimplemented) {
    return Failed("Cleanup: " + answer.status().ToString());
  }
  if (const auto after = probe.ListGroups(); !after.ok()) {
    return Failed("after Cleanup: " + after.status().ToString() +
                  "; the next autoscaler asks the same server");
  }
  if (const auto after = ReadTargets(probe); could_read && !after.ok()) {
    return Failed("after Cleanup: " + after.status().ToString());
  }
  return Passed();
}

}  // namespace coppice::conform
