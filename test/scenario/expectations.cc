// What a scenario expects. Each answers "" or what is wrong.

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "test/scenario/stage.h"

namespace coppice::scenario {
namespace {

std::string Print(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    if (count != 0) parts.push_back(name + "=" + std::to_string(count));
  return parts.empty() ? "nothing" : Join(parts, " ");
}

template <class Names>
std::string PrintNames(const Names& names) {
  const std::vector<std::string> all(names.begin(), names.end());
  return all.empty() ? "nothing" : Join(all, " ");
}

// "a=2 b=1", or a word for nothing.
std::string SameCounts(const Line& line, std::map<std::string, int> is, const std::string& what) {
  std::map<std::string, int> wanted;
  for (const auto& [name, count] : line.options) wanted[name] = std::atoi(count.c_str());
  std::erase_if(wanted, [](const auto& entry) { return entry.second == 0; });
  std::erase_if(is, [](const auto& entry) { return entry.second == 0; });
  return wanted == is ? "" : what + ": expected " + Print(wanted) + ", is " + Print(is);
}

// The words behind the second, but for "nothing" and "none".
std::set<std::string> NamesIn(const Line& line) {
  std::set<std::string> names(line.words.begin() + std::min<ptrdiff_t>(2, std::ssize(line.words)),
                              line.words.end());
  names.erase("nothing");
  names.erase("none");
  return names;
}

std::string SameNames(const Line& line, const std::set<std::string>& are, const std::string& what) {
  const std::set<std::string> wanted = NamesIn(line);
  return wanted == are ? ""
                       : what + ": expected " + PrintNames(wanted) + ", are " + PrintNames(are);
}

bool HasTaint(const model::Node& node, const std::string& key) {
  return std::ranges::any_of(node.spec.taints, [&](const auto& taint) { return taint.key == key; });
}

}  // namespace

// expect counts GROUP ready=1 unready=0 ...
std::string Stage::ExpectCounts(const Line& line) const {
  if (!last_->status) return "the pass knows no counts: " + last_->error;
  for (const report::GroupStatus& group : last_->status->groups) {
    if (group.group != line.word(2)) continue;
    const report::NodeCounts& c = group.counts;
    const std::map<std::string, int> is = {{"registered", c.registered},
                                           {"ready", c.ready},
                                           {"not-started", c.not_started},
                                           {"unready", c.unready},
                                           {"resource-unready", c.resource_unready},
                                           {"deleted", c.being_deleted},
                                           {"unregistered", c.unregistered},
                                           {"long-unregistered", c.long_unregistered}};
    for (const auto& [name, count] : line.options) {
      const auto found = is.find(name);
      if (found == is.end()) return "there is no count '" + name + "'";
      if (found->second != std::atoi(count.c_str()))
        return "counts of " + group.group + ": expected " + name + "=" + count + ", are " +
               Print(is);
    }
    return "";
  }
  return "there is no group " + line.word(2);
}

// expect node NAME gone|there|marked|unmarked|candidate|no-candidate|cordoned|uncordoned
std::string Stage::ExpectNode(const Line& line) const {
  const std::string name = line.word(2);
  const std::string what = line.word(3);
  const sim::NodePtr node = model_->cluster.objects().FindNode(name);
  if (what == "gone") return node == nullptr ? "" : "node " + name + " is still there";
  if (node == nullptr) return "there is no node " + name;
  const bool marked = HasTaint(*node, "ToBeDeletedByClusterAutoscaler");
  const bool candidate = HasTaint(*node, "DeletionCandidateOfClusterAutoscaler");
  const std::map<std::string, bool> is = {{"there", true},
                                          {"marked", marked},
                                          {"unmarked", !marked},
                                          {"candidate", candidate},
                                          {"no-candidate", !candidate},
                                          {"cordoned", node->spec.unschedulable},
                                          {"uncordoned", !node->spec.unschedulable}};
  const auto found = is.find(what);
  if (found == is.end()) return "what is '" + what + "' of a node?";
  return found->second ? "" : "node " + name + " is not " + what;
}

// expect pods NAME running=N pending=N on=NODE*N
std::string Stage::ExpectPods(const Line& line) const {
  int running = 0;
  int pending = 0;
  std::map<std::string, int> on;
  for (const auto* entry : model_->cluster.objects().Pods()) {
    const std::string* app = entry->pod->metadata.labels.Find("app");
    if (app == nullptr || *app != line.word(2) || entry->pod->metadata.deletion_timestamp) continue;
    ++(entry->pod->spec.node_name.empty() ? pending : running);
    ++on[entry->pod->spec.node_name];
  }
  const std::string is = "pods " + line.word(2) + ": " + std::to_string(running) + " run, " +
                         std::to_string(pending) + " wait";
  if (line.Find("running") && line.Int("running", 0) != running) return is;
  if (line.Find("pending") && line.Int("pending", 0) != pending) return is;
  return "";
}

// expect event REASON ["text"] [of=NAME] [times=N]
std::string Stage::ExpectEvent(const Line& line, bool absent) const {
  const std::string reason = line.word(absent ? 3 : 2);
  const std::string text = line.word(absent ? 4 : 3);
  int count = 0;
  std::string near;
  for (const cluster::Event& event : events_) {
    if (event.reason != reason) continue;
    if (line.Find("of") && event.name != line.Get("of")) continue;
    near = event.text;
    if (!text.empty() && event.text.find(text) == std::string::npos) continue;
    ++count;
  }
  if (absent) return count == 0 ? "" : "event " + reason + ": " + near;
  const int wanted = line.Int("times", 0);
  if (wanted == 0 ? count > 0 : count == wanted) return "";
  std::set<std::string> seen;
  for (const cluster::Event& event : events_) seen.insert(event.reason);
  return "event " + reason + " came " + std::to_string(count) + " times" +
         (near.empty() ? "; there were " + PrintNames(seen) : "; the nearest: " + near);
}

// expect stays NODE REASON [pod=OWNER] ["text"]
std::string Stage::ExpectStays(const Line& line) const {
  for (const auto* list : {&last_->scale_down.staying, &last_->scale_down.staying_untold}) {
    for (const report::StayingNode& node : *list) {
      if (node.node != line.word(2)) continue;
      const std::string reason(ToString(node.reason));
      if (reason != line.word(3)) {
        return "node " + node.node + " stays because of " + reason + " " + node.blocking_reason +
               " " + node.detail;
      }
      if (!line.word(4).empty() && node.blocking_reason != line.word(4))
        return "node " + node.node + " is blocked by " + node.blocking_reason;
      return "";
    }
  }
  return "nothing is said about node " + line.word(2) + "; unneeded are " +
         PrintNames(last_->scale_down.unneeded);
}

// expect reason NAME GROUP "text": why the group does not take these pods
std::string Stage::ExpectReason(const Line& line) const {
  std::string said;
  for (const auto* list : {&last_->scale_up.unhelped, &last_->scale_up.unserved}) {
    for (const report::Unhelped& unhelped : *list) {
      const bool ours = std::ranges::any_of(unhelped.pods, [&](const auto& pod) {
        const std::string* app = pod->metadata.labels.Find("app");
        return app != nullptr && *app == line.word(2);
      });
      if (!ours) continue;
      const auto rejected = unhelped.rejected.find(line.word(3));
      if (rejected != unhelped.rejected.end()) said += rejected->second.reason() + "; ";
      if (unhelped.skipped) {
        const auto skipped = unhelped.skipped->find(line.word(3));
        if (skipped != unhelped.skipped->end()) said += Join(skipped->second, ", ") + "; ";
      }
    }
  }
  if (said.find(line.word(4)) != std::string::npos && !said.empty()) return "";
  return "pods " + line.word(2) + " and group " + line.word(3) + ": " +
         (said.empty() ? "nothing is said" : said);
}

// expect metric NAME VALUE [label=value...], without the prefix; "none" for a series that is not
// there
std::string Stage::ExpectMetric(const Line& line) const {
  std::vector<std::string> labels;
  for (const auto& [key, value] : line.options) labels.push_back(key + "=\"" + value + "\"");
  std::ranges::sort(labels);
  std::string series = "cluster_autoscaler_" + line.word(2);
  if (!labels.empty()) series += "{" + Join(labels, ",") + "}";
  std::string is = "none";
  for (const std::string& shown : Split(metrics_.Render(), '\n')) {
    if (shown.starts_with(series + " ")) is = shown.substr(series.size() + 1);
  }
  return is == line.word(3) ? "" : series + " is " + is;
}

std::string Stage::Expect(const Line& line) {
  const std::string what = line.word(1);
  if (what == "pods") return ExpectPods(line);
  if (what == "node") return ExpectNode(line);
  if (what == "machines") {
    std::map<std::string, int> counts;
    for (const auto& group : groups_) counts[group.name] = model_->MachinesIn(group.name);
    for (const auto& [name, count] : line.options) {
      if (counts[name] != std::atoi(count.c_str()))
        return "machines: expected " + name + "=" + count + ", are " + Print(counts);
    }
    return "";
  }
  if (last_ == nullptr) return "there was no pass yet";
  if (what == "bought") return SameCounts(line, bought_, "bought");
  if (what == "upcoming")
    return SameCounts(line, {last_->upcoming.begin(), last_->upcoming.end()}, "upcoming");
  if (what == "removing") return SameNames(line, removed_, "nodes that are removed");
  if (what == "evicted") return SameNames(line, evicted_, "evicted");
  if (what == "unneeded") {
    const auto& names = last_->scale_down.unneeded;
    return SameNames(line, {names.begin(), names.end()}, "unneeded nodes");
  }
  if (what == "counts") return ExpectCounts(line);
  if (what == "stays") return ExpectStays(line);
  if (what == "no" && line.word(2) == "stays") {
    for (const report::StayingNode& node : last_->scale_down.staying) {
      if (node.node == line.word(3)) return "node stays: " + std::string(ToString(node.reason));
    }
    return "";
  }
  if (what == "reason") return ExpectReason(line);
  if (what == "metric") return ExpectMetric(line);
  if (what ==
      "untouched")  // expect untouched pods: no pass has changed an object that it was given
    return changed_.empty() ? "" : "pod " + changed_ + " was changed";
  if (what == "event") return ExpectEvent(line, false);
  if (what == "no" && line.word(2) == "event") return ExpectEvent(line, true);
  if (what == "scale-up" || what == "scale-down") {
    const std::string is(what == "scale-up" ? ToString(last_->scale_up.result)
                                            : ToString(last_->scale_down.result));
    return is == line.word(2) ? "" : what + " is " + is + " " + last_->scale_up.error;
  }
  if (what == "error") {
    return last_->error.find(line.word(2)) != std::string::npos && !last_->error.empty()
               ? ""
               : "the pass said '" + last_->error + "'";
  }
  if (what == "no" && line.word(2) == "error")
    return last_->error.empty() ? "" : "the pass failed: " + last_->error;
  if (what == "group") {  // expect group NAME target=N state=Backoff healthy=yes
    if (!last_->status) return "the pass has no status: " + last_->error;
    for (const report::GroupStatus& group : last_->status->groups) {
      if (group.group != line.word(2)) continue;
      if (line.Find("target") && line.Int("target", 0) != group.target)
        return "target of " + group.group + " is " + std::to_string(group.target);
      if (line.Find("state") && line.Get("state") != group.scale_up)
        return "group " + group.group + " is in state " + group.scale_up + " " + group.backoff_code;
      if (line.Find("healthy") && (line.Get("healthy") == "yes") != group.healthy)
        return "group " + group.group + (group.healthy ? " is healthy" : " is not healthy");
      return "";
    }
    return "there is no group " + line.word(2);
  }
  return "what is expected?";
}

}  // namespace coppice::scenario
