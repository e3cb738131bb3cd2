// consolidation: conditions of claims, then what each method of disruption finds on the same world:
// candidates with their prices and costs, budgets, commands and what nodes are told.

#include <algorithm>
#include <cmath>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "cloud/node_claims.h"
#include "model/node_claim.h"
#include "model/node_pool.h"
#include "provision/disruption/drift.h"
#include "provision/disruption/methods.h"
#include "test/replay/karpenter.h"
#include "test/replay/karpenter_world.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

using provision::Method;

template <class T>
std::vector<std::shared_ptr<const T>> ConsolidationObjects(const Json& parent, const char* key) {
  std::vector<std::shared_ptr<const T>> all;
  for (T& object : Objects<T>(parent, key)) {
    all.push_back(std::make_shared<const T>(std::move(object)));
  }
  return all;
}

std::set<std::string> TextSet(const Json& parent, const char* key) {
  const auto list = parent.value(key, std::vector<std::string>());
  return {list.begin(), list.end()};
}

// What the recordings' provider supports.
const std::vector<cloud::NodeClassKind> kRecordedClasses = {{"coppice.example", "v1", "NodeClass"}};

// As recorded: nine digits after the point.
double Rounded(double number) {
  return std::isfinite(number) ? std::round(number * 1e9) / 1e9 : -1;
}

bool Near(const Json& theirs, double ours) {
  return std::abs(theirs.get<double>() - Rounded(ours)) < 5e-9;
}

std::vector<provision::PoolView> ReadPools(const Json& c, const Json& objects) {
  std::vector<provision::PoolView> pools;
  const Json by_pool = c.value("catalogByPool", Json::object());
  for (model::NodePool& pool : Objects<model::NodePool>(objects, "nodePools")) {
    if (!cloud::IsManaged(pool.spec.template_.spec.node_class_ref, kRecordedClasses)) continue;
    if (pool.status.conditions.empty()) {
      pool.status.conditions = {{.type = model::karpenter::kReady, .status = "True"}};
    }
    const std::string catalog = by_pool.value(pool.metadata.name, c.at("catalog"));
    pools.push_back({std::make_shared<const model::NodePool>(std::move(pool)), Catalog(catalog)});
  }
  return pools;
}

// What the controller of claims' conditions makes of them.
void Reconcile(model::NodeClaim& claim, const std::vector<provision::PoolView>& pools,
               TimePoint now) {
  const std::string* name = claim.metadata.labels.Find(model::kNodePoolLabel);
  if (name == nullptr || claim.metadata.deletion_timestamp ||
      !cloud::IsManaged(claim.spec.node_class_ref, kRecordedClasses)) {
    return;
  }
  const auto view = std::ranges::find_if(
      pools, [&](const auto& pool) { return pool.pool->metadata.name == *name; });
  if (view == pools.end()) return;
  const provision::DriftRules rules{.labels = RecordedLabels(),
                                    .reserved_labels = {kReservationLabel}};
  std::string_view reason = provision::PoolDrift(*view->pool, claim, rules);
  if (reason.empty() && provision::IsDueForTypeDrift(claim, now)) {
    reason = provision::TypeDrift(*view->types, claim, rules);
  }
  provision::SetDrifted(claim, reason, now);
  provision::SetConsolidatable(claim, *view->pool, now);
}

Json PrintCommand(const provision::Command& command, const provision::DisruptionWorld& world) {
  Json nodes = Json::array();
  for (const auto& candidate : command.candidates) {
    nodes.push_back(world.solver.nodes[candidate.machine].name());
  }
  std::sort(nodes.begin(), nodes.end());
  Json printed = {{"decision", provision::ToString(command.decision)}, {"nodes", nodes}};
  for (const provision::Replacement& replacement : command.replacements) {
    Json types = Json::array();
    for (const auto* type : replacement.types) types.push_back(type->name);
    std::sort(types.begin(), types.end());
    Json pods = Json::object();
    for (const auto& pod : replacement.pods) pods[pod->metadata.name] = 1;
    printed["replacements"].push_back({{"nodePool", replacement.pool},
                                       {"pods", pods},
                                       {"instanceTypes", types},
                                       {"requirements", Canonical(replacement.requirements)},
                                       {"requests", Canonical(replacement.requests)}});
  }
  return printed;
}

class MethodCheck {
 public:
  MethodCheck(std::string name, const Json& expect, const provision::DisruptionWorld& world,
              Report& report)
      : name_(std::move(name)), expect_(expect), world_(world), report_(report) {}

  void Compare(const provision::MethodAnswer& answer) {
    CompareCandidates(answer);
    const Json budgets = answer.budgets;
    if (expect_.at("budgets") != budgets) {
      Differs("budgets", expect_.at("budgets"), budgets);
    }
    CompareCommands(answer);
    CompareEvents(answer);
  }

 private:
  void Differs(const std::string& where, const Json& theirs, const Json& ours) {
    report_.Differs(name_ + ", " + where, theirs.dump(), ours.dump());
  }

  void CompareCandidates(const provision::MethodAnswer& answer) {
    const Json& theirs = expect_.at("candidates");
    if (theirs.size() != answer.candidates.size()) {
      Json ours = Json::array();
      for (const auto& c : answer.candidates) ours.push_back(world_.solver.nodes[c.machine].name());
      return Differs("candidates", theirs, ours);
    }
    for (const auto& candidate : answer.candidates) {
      const std::string& node = world_.solver.nodes[candidate.machine].name();
      const Json ours = {{"price", Rounded(candidate.price)},
                         {"rescheduleCost", Rounded(candidate.reschedule_cost)},
                         {"disruptionCost", Rounded(candidate.disruption_cost)},
                         {"savingsRatio", Rounded(candidate.SavingsRatio())}};
      if (!theirs.contains(node)) return Differs("candidates", theirs, node);
      for (const auto& [key, value] : ours.items()) {
        if (!Near(theirs.at(node).at(key), value)) Differs(node, theirs.at(node), ours);
      }
    }
  }

  void CompareCommands(const provision::MethodAnswer& answer) {
    std::vector<std::pair<Json, double>> ours;
    for (const auto& command : answer.commands) {
      ours.emplace_back(PrintCommand(command, world_), command.savings);
    }
    std::ranges::sort(ours, {}, [](const auto& one) { return one.first.at("nodes").dump(); });
    const Json& theirs = expect_.at("commands");
    if (theirs.size() != ours.size()) {
      Json printed = Json::array();
      for (const auto& one : ours) printed.push_back(one.first);
      return Differs("commands", theirs, printed);
    }
    for (size_t i = 0; i < ours.size(); ++i) {
      Json expected = theirs[i];
      const Json savings = expected.at("estimatedSavings");
      expected.erase("estimatedSavings");
      if (expected.contains("replacements")) {
        for (Json& one : expected["replacements"]) one["requests"] = CanonicalRequests(one);
      }
      if (expected != ours[i].first) Differs("command", expected, ours[i].first);
      if (!Near(savings, ours[i].second)) Differs("savings", savings, ours[i].second);
    }
  }

  static Json CanonicalRequests(const Json& replacement) {
    return Canonical(ReadResources(replacement, "requests"));
  }

  // What a text says, whatever the order of the pods in it: the peer walks a map. Of more than five
  // pods it names any five.
  static std::string Ordered(const std::string& text) {
    static const std::regex kHost("hostname-placeholder-[0-9]+");
    static const std::regex kPod("[^ /]+/[^ /]+ => ");
    const std::string named = std::regex_replace(text, kHost, "hostname-placeholder");
    const size_t others = named.find("  and ");
    if (others != std::string::npos)
      return named.substr(0, named.find(", ")) + named.substr(others);
    std::sregex_iterator pod(named.begin(), named.end(), kPod);
    if (pod == std::sregex_iterator()) return named;
    std::string ordered = named.substr(0, static_cast<size_t>(pod->position()));
    std::set<std::string> parts;
    while (pod != std::sregex_iterator()) {
      const auto from = static_cast<size_t>(pod->position());
      ++pod;
      const size_t to =
          pod == std::sregex_iterator() ? named.size() : static_cast<size_t>(pod->position());
      parts.insert(named.substr(from, to - from));
    }
    for (const std::string& part : parts) ordered += part;
    return ordered;
  }

  // The peer's events are those of several runs, and in which order it looks is chance in four
  // places, so we may have stopped before the machine. Single-node consolidation: pools, and
  // machines of a pool that save equally much, until one has a command. Drift: machines that drifted at the same moment, until one has a command. Drift
  // of static pools: machines of a pool, as many as its budget allows.
  bool MayBeUnseen(const provision::MethodAnswer& answer, const std::string& node) const {
    const auto found = std::ranges::find_if(answer.candidates, [&](const auto& candidate) {
      return world_.solver.nodes[candidate.machine].name() == node;
    });
    if (found == answer.candidates.end()) return false;
    if (name_ == "staticDrift") {
      const auto of_pool = std::ranges::count_if(answer.candidates, [&](const auto& candidate) {
        return candidate.pool_name() == found->pool_name();
      });
      const auto budget = answer.budgets.find(found->pool_name());
      return budget != answer.budgets.end() && budget->second < of_pool;
    }
    if (answer.commands.empty()) return false;
    const provision::Candidate& taken = answer.commands[0].candidates[0];
    if (name_ == "singleNode") {
      return found->pool_name() != taken.pool_name() ||
             found->SavingsRatio() == taken.SavingsRatio();
    }
    return name_ == "drift" && DriftedAt(*found) == DriftedAt(taken) &&
           found->reschedulable.empty() == taken.reschedulable.empty();
  }
  TimePoint DriftedAt(const provision::Candidate& candidate) const {
    const auto* drifted = model::FindCondition(
        world_.machines[candidate.machine].claim->status.conditions, model::karpenter::kDrifted);
    return drifted == nullptr || !drifted->last_transition_time ? TimePoint()
                                                                : drifted->last_transition_time->at;
  }

  // Of texts that walk a map the peer has several; any of them will do, but nothing else.
  void CompareEvents(const provision::MethodAnswer& answer) {
    std::map<std::string, std::set<std::string>> ours;
    for (const auto& event : answer.events) {
      if (!event.machine || (event.kind != provision::DisruptionEventKind::kBlocked &&
                             event.kind != provision::DisruptionEventKind::kUnconsolidatable)) {
        continue;
      }
      if (world_.solver.nodes[*event.machine].node == nullptr) continue;
      ours[world_.solver.nodes[*event.machine].node->metadata.name].insert(
          Ordered(std::string(provision::ToString(event.kind)) + ": " + event.text));
    }
    const Json theirs = expect_.value("nodeEvents", Json::object());
    for (const auto& [node, texts] : theirs.items()) {
      if (!ours.contains(node) && !MayBeUnseen(answer, node)) {
        Differs("events of " + node, texts, Json());
      }
    }
    for (const auto& [node, texts] : ours) {
      std::set<std::string> recorded;
      for (const std::string& text : TextSet(theirs, node.c_str())) recorded.insert(Ordered(text));
      const bool known = std::ranges::includes(recorded, texts);
      if (!known) Differs("events of " + node, Json(recorded), Json(texts));
    }
  }

  const std::string name_;
  const Json& expect_;
  const provision::DisruptionWorld& world_;
  Report& report_;
};

const char* RecordedName(Method method) {
  switch (method) {
    case Method::kRepair:
      break;
    case Method::kEmptiness:
      return "emptiness";
    case Method::kStaticDrift:
      return "staticDrift";
    case Method::kDrift:
      return "drift";
    case Method::kMultiNode:
      return "multiNode";
    case Method::kSingleNode:
      return "singleNode";
  }
  return "";
}

provision::DisruptionOptions ReadConsolidationOptions(const Json& options) {
  provision::DisruptionOptions made{
      .spot_to_spot = options.value("spotToSpotConsolidation", false),
      .terminate_first_drift = options.value("terminateFirstDrift", false)};
  made.solver.upstream_exact = true;
  made.solver.labels = RecordedLabels();
  made.solver.reservation_label = kReservationLabel;
  if (options.value("preferencePolicy", "") == "Ignore") {
    made.solver.preferences = provision::PreferencePolicy::kIgnore;
  }
  if (options.value("minValuesPolicy", "") == "BestEffort") {
    made.solver.min_values = provision::MinValuesPolicy::kBestEffort;
  }
  return made;
}

}  // namespace

void consolidation(const Json& c, Report& report) {
  const Json& objects = c.at("objects");
  const Json& expect = c.at("expect");
  const TimePoint now = NowOf(c);
  provision::DisruptionObjects all{
      .pools = ReadPools(c, objects),
      .nodes = ConsolidationObjects<model::Node>(objects, "nodes"),
      .pods = ConsolidationObjects<model::Pod>(objects, "pods"),
      .daemon_sets = ConsolidationObjects<model::DaemonSet>(objects, "daemonSets"),
      .namespaces = ConsolidationObjects<model::Namespace>(objects, "namespaces"),
      .budgets = ConsolidationObjects<model::PodDisruptionBudget>(objects, "podDisruptionBudgets"),
      .storage = {.claims = ConsolidationObjects<model::PersistentVolumeClaim>(
                      objects, "persistentVolumeClaims"),
                  .volumes =
                      ConsolidationObjects<model::PersistentVolume>(objects, "persistentVolumes"),
                  .classes = ConsolidationObjects<model::StorageClass>(objects, "storageClasses"),
                  .csi_nodes = ConsolidationObjects<model::CsiNode>(objects, "csiNodes")},
      .marked_for_deletion = TextSet(objects, "markedForDeletion"),
      .nominated = TextSet(objects, "nominated")};
  Json conditions = Json::object();
  for (model::NodeClaim& claim : Objects<model::NodeClaim>(objects, "nodeClaims")) {
    Reconcile(claim, all.pools, now);
    Json& printed = conditions[claim.metadata.name];
    printed["consolidatable"] =
        model::IsTrue(claim.status.conditions, model::karpenter::kConsolidatable);
    if (model::IsTrue(claim.status.conditions, model::karpenter::kDrifted)) {
      printed["drifted"] =
          model::FindCondition(claim.status.conditions, model::karpenter::kDrifted)->reason;
    }
    all.claims.push_back(std::make_shared<const model::NodeClaim>(std::move(claim)));
  }
  if (expect.at("nodeClaimConditions") != conditions) {
    report.Differs("conditions", expect.at("nodeClaimConditions").dump(), conditions.dump());
  }
  const auto world = provision::MakeWorld(std::move(all), RecordedLabels(), {}, now);
  provision::DisruptionRound round(world,
                                   ReadConsolidationOptions(c.value("options", Json::object())));
  std::string first = "none";
  for (const Method method : provision::AllMethods()) {
    if (method == Method::kRepair) continue;  // behind its gate, and not recorded
    const auto answer = round.Ask(method);
    const char* name = RecordedName(method);
    MethodCheck(name, expect.at("methods").at(name), world, report).Compare(answer);
    if (first == "none" && !answer.commands.empty()) first = name;
  }
  if (expect.at("round") != first) report.Differs("round", expect.at("round"), first);
}

}  // namespace coppice::replay
