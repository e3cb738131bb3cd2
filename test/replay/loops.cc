#include "test/replay/loops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

#include "autoscale/engine.h"
#include "autoscale/flags.h"
#include "autoscale/view.h"
#include "base/fake_clock.h"
#include "test/replay/case_cluster.h"
#include "test/replay/case_groups.h"
#include "test/replay/objects.h"
#include "test/replay/parts.h"

namespace coppice::replay {

namespace {

std::string OwnerOf(const model::Pod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return owner != nullptr ? owner->name : pod.metadata.name;
}

template <class Pods>
Json CountByOwner(const Pods& pods) {
  std::map<std::string, int> counts;
  for (const auto& pod : pods) ++counts[OwnerOf(*pod)];
  return counts.empty() ? Json() : Json(counts);
}

Json SortedReasons(std::vector<std::string> reasons) {
  std::ranges::sort(reasons);
  return reasons;
}

Json DescribeScaleUp(const report::ScaleUp& scale_up) {
  Json json = {{"result", std::string(ToString(scale_up.result))}};
  for (const auto& resize : scale_up.resizes) {
    json["groups"].push_back(
        {{"group", resize.group}, {"from", resize.from}, {"to", resize.to}, {"max", resize.max}});
  }
  if (!scale_up.triggered.empty()) json["triggered"] = CountByOwner(scale_up.triggered);
  if (!scale_up.awaiting.empty()) json["awaiting"] = CountByOwner(scale_up.awaiting);
  // Kinds of one owner with the same reasons are counted together.
  std::map<std::string, std::vector<Json>> kinds;
  for (const auto& unhelped : scale_up.unhelped) {
    std::map<std::string, int> owners;
    for (const auto& pod : unhelped.pods) ++owners[OwnerOf(*pod)];
    Json rejected = Json::object();
    for (const auto& [group, verdict] : unhelped.rejected)
      rejected[group] = SortedReasons(verdict.reasons());
    Json skipped = Json::object();
    if (unhelped.skipped) {
      for (const auto& [group, reasons] : *unhelped.skipped)
        skipped[group] = SortedReasons(reasons);
    }
    for (const auto& [owner, count] : owners) {
      auto& list = kinds[owner];
      const auto same = std::ranges::find_if(list, [&](const Json& k) {
        return k.value("rejected", Json::object()) == rejected &&
               k.value("skipped", Json::object()) == skipped;
      });
      if (same != list.end()) {
        (*same)["count"] = (*same)["count"].get<int>() + count;
        continue;
      }
      Json kind = {{"owner", owner}, {"count", count}};
      if (!rejected.empty()) kind["rejected"] = rejected;
      if (!skipped.empty()) kind["skipped"] = skipped;
      list.push_back(std::move(kind));
    }
  }
  for (auto& [owner, list] : kinds) {
    for (Json& kind : list) json["unschedulable"].push_back(std::move(kind));
  }
  if (!scale_up.error.empty()) json["error"] = scale_up.error;
  if (!scale_up.error_type.empty()) json["errorType"] = scale_up.error_type;
  if (!scale_up.failed_groups.empty()) json["failed"] = scale_up.failed_groups;
  return json;
}

Json DescribeScaleDown(const report::ScaleDown& scale_down) {
  Json json = {{"result", std::string(ToString(scale_down.result))}};
  for (const auto& removed : scale_down.removed) {
    Json node = {{"node", removed.node}, {"group", removed.group}};
    std::vector<std::string> evicted;
    for (const auto& pod : removed.evicted) evicted.push_back(pod->metadata.name);
    std::ranges::sort(evicted);
    if (!evicted.empty()) node["evicted"] = evicted;
    json["nodes"].push_back(std::move(node));
  }
  for (const auto& outcome : scale_down.outcomes)
    json["deleteResults"][outcome.node] = outcome.result;
  return json;
}

Json DescribeUnremovable(const std::vector<report::StayingNode>& staying) {
  Json json = Json::object();
  for (const auto& node : staying) {
    Json entry = {{"reason", std::string(ToString(node.reason))}};
    // The recording has six digits.
    if (node.utilization) entry["utilization"] = std::round(node.utilization->value * 1e6) / 1e6;
    if (node.blocking_pod) {
      entry["podOwner"] = OwnerOf(*node.blocking_pod);
      entry["podReason"] = node.blocking_reason;
    }
    json[node.node] = std::move(entry);
  }
  return json;
}

Json DescribeCounts(const report::NodeCounts& counts) {
  Json json = Json::object();
  const auto add = [&](const char* key, int count) {
    if (count != 0) json[key] = count;
  };
  add("registered", counts.registered);
  add("ready", counts.ready);
  add("notStarted", counts.not_started);
  add("suspended", counts.suspended);
  add("beingDeleted", counts.being_deleted);
  add("unready", counts.unready);
  add("resourceUnready", counts.resource_unready);
  add("longUnregistered", counts.long_unregistered);
  add("unregistered", counts.unregistered);
  return json;
}

Json DescribeStatus(const report::ClusterStatus& status) {
  const auto health = [](bool healthy) { return healthy ? "Healthy" : "Unhealthy"; };
  const auto scale_down = [](int candidates) {
    return candidates > 0 ? "CandidatesPresent" : "NoCandidates";
  };
  Json json = {{"autoscaler", "Running"},
               {"cluster",
                {{"health", health(status.healthy)},
                 {"counts", DescribeCounts(status.counts)},
                 {"scaleUp", status.scale_up_in_progress ? "InProgress" : "NoActivity"},
                 {"scaleDown", scale_down(status.candidates)}}},
               {"groups", Json::object()}};
  for (const auto& group : status.groups) {
    Json entry = {{"health", health(group.healthy)},
                  {"counts", DescribeCounts(group.counts)},
                  {"scaleUp", group.scale_up},
                  {"scaleDown", scale_down(group.candidates)}};
    entry["target"] = group.target;
    if (group.candidates != 0) entry["candidates"] = group.candidates;
    if (!group.backoff_code.empty()) {
      entry["backoff"] = {{"code", group.backoff_code}, {"message", group.backoff_message}};
    }
    json["groups"][group.group] = std::move(entry);
  }
  return json;
}

// "2x pod-of/rs Normal Reason: text", sorted.
Json DescribeEvents(const std::vector<cluster::Event>& events, const cluster::World& world,
                    const std::map<std::string, std::string>& owners, bool with_pods) {
  std::map<std::string, int> counts;
  for (const cluster::Event& event : events) {
    std::string object;
    if (event.kind == "Pod") {
      if (!with_pods) continue;
      const cluster::PodPtr pod = world.FindPod(event.namespace_, event.name);
      const auto known = owners.find(event.namespace_ + "/" + event.name);
      object = "pod-of/" + (pod                     ? OwnerOf(*pod)
                            : known != owners.end() ? known->second
                                                    : event.name);
    } else {
      object = (event.kind == "Node" ? "node/" : "configmap/") + event.name;
    }
    std::string text = event.text;
    const std::string marker = "pods to reschedule: ";  // the recording sorts the names
    const size_t at = text.find(marker);
    if (at != std::string::npos) {
      std::vector<std::string> names = Split(text.substr(at + marker.size()), ',');
      std::ranges::sort(names);
      text = text.substr(0, at) + marker + Join(names, ",");
    }
    ++counts[object + " " + event.type + " " + event.reason + ": " + text];
  }
  std::vector<std::string> lines;
  for (const auto& [line, count] : counts) {
    lines.push_back(count > 1 ? std::to_string(count) + "x " + line : line);
  }
  std::ranges::sort(lines);
  return lines;
}

// Size calls and deletions with a reason keep their order; the rest of an instant is a set.
Json SortedCalls(const Json& calls) {
  std::vector<Json> ordered(calls.begin(), calls.end());
  const auto comes_first = [](const Json& call) {
    const std::string name = call.at("call");
    return name == "IncreaseSize" || name == "DecreaseTargetSize" ||
           (name == "DeleteNodes" && call.contains("reason"));
  };
  std::ranges::stable_sort(ordered, [&](const Json& a, const Json& b) {
    if (a.at("t") != b.at("t")) return a.at("t") < b.at("t");
    if (comes_first(a) != comes_first(b)) return comes_first(a);
    return !comes_first(a) && a.dump() < b.dump();
  });
  return ordered;
}

bool Same(const Json& theirs, const Json& ours) {
  if (theirs.is_number_float() || ours.is_number_float()) {
    return theirs.is_number() && ours.is_number() &&
           std::abs(theirs.get<double>() - ours.get<double>()) <= 1e-9;
  }
  if (theirs.is_object() && ours.is_object()) {
    if (theirs.size() != ours.size()) return false;
    return std::ranges::all_of(theirs.items(), [&](const auto& item) {
      return ours.contains(item.key()) && Same(item.value(), ours[item.key()]);
    });
  }
  if (theirs.is_array() && ours.is_array()) {
    return std::ranges::equal(theirs, ours, Same);
  }
  return theirs == ours;
}

// Absent, null, and empty are the same here.
void Compare(Report& report, const std::string& where, Json theirs, Json ours) {
  const auto empty = [](const Json& json) {
    return json.is_null() || (json.is_structured() && json.empty());
  };
  if (empty(theirs) && empty(ours)) return;
  if (!Same(theirs, ours)) report.Differs(where, theirs.dump(), ours.dump());
}

Json Unordered(const Json& list) {
  std::vector<Json> items(list.begin(), list.end());
  std::sort(items.begin(), items.end(),
            [](const Json& a, const Json& b) { return a.dump() < b.dump(); });
  return items;
}

// All but the events. `last_status` is theirs as it was last told.
void ComparePass(Report& report, const std::string& where, const Json& expect,
                 const report::PassReport& pass, const Json& calls, Json& last_status) {
  Compare(report, where + "error", expect.value("error", Json()),
          pass.error.empty() ? Json() : Json(pass.error));
  Json their_up = expect.value("scaleUp", Json::object());
  Json our_up = DescribeScaleUp(pass.scale_up);
  if (their_up.contains("groups")) their_up["groups"] = Unordered(their_up["groups"]);
  if (our_up.contains("groups")) our_up["groups"] = Unordered(our_up["groups"]);
  if (their_up.contains("unschedulable"))
    their_up["unschedulable"] = Unordered(their_up["unschedulable"]);
  if (our_up.contains("unschedulable"))
    our_up["unschedulable"] = Unordered(our_up["unschedulable"]);
  Compare(report, where + "scaleUp", their_up, our_up);
  Json their_down = expect.value("scaleDown", Json::object());
  Json our_down = DescribeScaleDown(pass.scale_down);
  if (their_down.contains("nodes")) their_down["nodes"] = Unordered(their_down["nodes"]);
  if (our_down.contains("nodes")) our_down["nodes"] = Unordered(our_down["nodes"]);
  Compare(report, where + "scaleDown", their_down, our_down);
  Compare(report, where + "calls", SortedCalls(expect.value("calls", Json::array())),
          SortedCalls(calls));
  Compare(report, where + "upcoming", expect.value("upcoming", Json()), Json(pass.upcoming));
  std::vector<std::string> unneeded = pass.scale_down.unneeded;
  std::ranges::sort(unneeded);
  Compare(report, where + "unneeded", expect.value("unneeded", Json()), unneeded);
  Compare(report, where + "unremovable", expect.value("unremovable", Json()),
          DescribeUnremovable(pass.scale_down.staying));
  if (pass.status) {
    const Json status = DescribeStatus(*pass.status);
    Compare(report, where + "status", expect.value("status", last_status), status);
    last_status = expect.value("status", last_status);
  }
}

}  // namespace

void ReplayLoops(const Json& c, Report& report) {
  const TimePoint start =
      Object<model::Node>({{"metadata", {{"creationTimestamp", c.at("start")}}}})
          .metadata.creation_timestamp->at;
  FakeClock clock(start);
  Executor executor(clock);
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  InlineWorkers workers;

  std::vector<std::string> args = c.value("flags", std::vector<std::string>{});
  args.insert(args.begin(), "--upstream-exact");
  auto flags = autoscale::ParseFlags(args);
  if (!flags.ok()) throw std::runtime_error(flags.status().ToString());
  const autoscale::Options options = flags->options;

  Json calls = Json::array();
  const auto record = [&](Json call) {
    call["t"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock.Now() - start).count() / 1000;
    calls.push_back(std::move(call));
  };
  cluster::World world(autoscale::ViewOf(options));
  CaseGroups groups(c.at("groups"), record);
  CaseCluster api(world, groups, c, record);
  autoscale::CloudCalls cloud(groups, workers, executor);
  auto chain = expand::Chain::Create(options.expander, ThePlugins().expanders,
                                     {clock, rng, log, metrics, &groups});
  if (!chain.ok()) throw std::runtime_error(chain.status().ToString());
  autoscale::Engine engine({.options = options,
                            .world = world,
                            .groups = groups,
                            .cloud = cloud,
                            .writer = api,
                            .executor = executor,
                            .rng = rng,
                            .filters = TheFilters(),
                            .expanders = *chain,
                            .log = log,
                            .first_of_tie = true});

  const Json& loops = c.at("loops");
  const bool with_pod_events = c.value("name", "").starts_with("scaleup");
  std::map<std::string, std::string>
      owners;  // of pods that may be gone when their events are printed
  Json last_status;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Json& loop = loops[i];
    const auto at = [&](const Json& l) {
      return start + std::chrono::milliseconds(std::llround(l.at("at").get<double>() * 1000));
    };
    executor.RunUntil(at(loop));
    calls = Json::array();
    api.TakeEvents();
    for (const Json& change : loop.value("changes", Json::array())) api.Apply(change);
    for (const auto* entry : world.Pods()) {
      owners[entry->pod->metadata.namespace_ + "/" + entry->pod->metadata.name] =
          OwnerOf(*entry->pod);
    }
    const auto pass = executor.BlockOn(engine.Pass(clock.Now()));
    // Deletions that fall between this loop and the next belong to this one.
    if (i + 1 < loops.size()) {
      executor.RunUntil(at(loops[i + 1]));
    } else {
      executor.RunUntilIdle();
    }

    const std::string where = "loop " + std::to_string(i) + " at " + loop.at("at").dump() + ", ";
    const Json& expect = loop.at("expect");
    ComparePass(report, where, expect, *pass, calls, last_status);
    Compare(report, where + "events", expect.value("events", Json()),
            DescribeEvents(api.TakeEvents(), world, owners, with_pod_events));
    if (!report.lines.empty()) return;  // what follows would only repeat it
  }
}

}  // namespace coppice::replay
