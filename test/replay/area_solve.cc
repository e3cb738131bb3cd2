// solve: which pods go where, which claims are planned, what refused pods are told.

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "test/replay/karpenter.h"
#include "test/replay/karpenter_world.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

using Counts = std::map<std::string, int>;

struct SolveAnswer {
  Json claims = Json::array();
  std::map<std::string, Counts> existing;
  Counts errors;
  Counts ignored;
  std::map<std::string, std::set<std::string>> texts;
};

std::string WithoutHostNumbers(const std::string& text) {
  static const std::regex kNumbered("hostname-placeholder-[0-9]+");
  return std::regex_replace(text, kNumbered, "hostname-placeholder");
}

SolveAnswer Ask(const RecordedWorld& world, const Json& c) {
  SolveAnswer answer;
  const provision::SolverOptions options = ReadSolverOptions(c);
  const provision::StorageIndex storage(world.input.storage);
  provision::SolveRequest request;
  for (const provision::PodPtr& pod : world.pods) {
    if (!provision::IsProvisionable(*pod)) continue;
    const auto refused = provision::Validate(*pod, storage, options.labels, {});
    if (!refused) {
      request.pods.push_back(pod);
      continue;
    }
    const std::string name = ClassName(pod->metadata.name);
    ++answer.ignored[name];
    if (!refused->silent) answer.texts[name].insert("Failed to schedule pod, " + refused->text);
  }
  for (const provision::PodPtr& pod : LeavingPods(world, NowOf(c))) request.pods.push_back(pod);
  provision::Solver solver(world.input, options);
  const provision::SolveOutcome outcome = solver.Solve(request);
  for (const provision::PlannedClaim& claim : outcome.claims)
    answer.claims.push_back(Claim(world, request, claim));
  for (const provision::ExistingPlacement& placement : outcome.existing) {
    for (const size_t pod : placement.pods)
      ++answer.existing[world.input.nodes[placement.node].name()]
                       [ClassName(request.pods[pod]->metadata.name)];
  }
  for (const provision::PodError& error : outcome.errors) {
    const std::string name = ClassName(request.pods[error.pod]->metadata.name);
    ++answer.errors[name];
    answer.texts[name].insert(WithoutHostNumbers(error.text));
  }
  for (const size_t pod : outcome.left_out) {
    if (provision::IsProvisionable(*request.pods[pod]))
      ++answer.ignored[ClassName(request.pods[pod]->metadata.name)];
  }
  return answer;
}

// Any wording is right. Where several pools refuse, the peer picks for each by chance which of
// several labels it names, so that not all combinations were seen: each part has to be. In which
// order it names several labels of one pool is chance as well, and the first bears the heading.
bool WasSaid(const Json& seen, const std::string& text) {
  if (std::ranges::find(seen, Json(text)) != seen.end()) return true;
  constexpr std::string_view kBetween = "; ";
  std::set<std::string> parts;
  const auto each = [&](const std::string& whole, auto see) {
    for (size_t start = 0;;) {
      const size_t end = whole.find(kBetween, start);
      std::string part = whole.substr(start, end - start);
      constexpr std::string_view kHeading = "incompatible requirements, key ";
      if (part.starts_with(kHeading))
        part.erase(0, kHeading.size() - std::string_view("key ").size());
      see(std::move(part));
      if (end == whole.npos) return;
      start = end + kBetween.size();
    }
  };
  for (const Json& one : seen) each(one, [&](std::string part) { parts.insert(std::move(part)); });
  bool said = true;
  each(text, [&](const std::string& part) { said = said && parts.contains(part); });
  return said;
}

void CompareSolve(const char* what, const Json& theirs, const Json& ours, Report& report) {
  const Json expected = theirs.is_null() ? Json::object() : theirs;
  if (expected != ours) report.Differs(what, expected.dump(), ours.dump());
}

}  // namespace

void solve(const Json& c, Report& report) {
  const RecordedWorld world = ReadWorld(c);
  const SolveAnswer answer = Ask(world, c);
  const Json& expect = c.at("expect");
  std::multiset<std::string> theirs;
  std::multiset<std::string> ours;
  for (const Json& claim : expect.at("newNodeClaims")) theirs.insert(CanonicalClaim(claim).dump());
  for (const Json& claim : answer.claims) ours.insert(claim.dump());
  for (const std::string& claim : ours) {
    const auto same = theirs.find(claim);
    if (same == theirs.end()) {
      report.Differs("claim", "not planned", claim);
    } else {
      theirs.erase(same);
    }
  }
  for (const std::string& claim : theirs) report.Differs("claim", claim, "not planned");
  CompareSolve("existingNodes", expect.value("existingNodes", Json()), answer.existing, report);
  CompareSolve("podErrors", expect.value("podErrors", Json()), answer.errors, report);
  CompareSolve("ignoredPods", expect.value("ignoredPods", Json()), answer.ignored, report);
  const Json texts = expect.value("errorTexts", Json::object());
  for (const auto& [name, told] : answer.texts) {
    const Json seen = texts.value(name, Json::array());
    for (const std::string& text : told) {
      if (!WasSaid(seen, text)) report.Differs("text for " + name, seen.dump(), text);
    }
  }
}

}  // namespace coppice::replay
