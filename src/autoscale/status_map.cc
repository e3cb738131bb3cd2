#include "autoscale/status_map.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "wire/time_text.h"

namespace coppice::autoscale {
namespace {

constexpr size_t kMaxBackoffText = 500;
constexpr std::string_view kTruncated = "<truncated>";

// A YAML document built line by line: the keys are ours and plain, values are quoted when YAML
// could read them as something else.
class Lines {
 public:
  void Key(int depth, std::string_view key) { out_ += Indent(depth) + std::string(key) + ":\n"; }
  void Put(int depth, std::string_view key, int value) {
    out_ += fmt::format("{}{}: {}\n", Indent(depth), key, value);
  }
  void Put(int depth, std::string_view key, const std::string& value) {
    out_ += fmt::format("{}{}: {}\n", Indent(depth), key, Scalar(value));
  }
  // Go's sigs.k8s.io/yaml writes a time as a quoted text, and no time as null.
  void PutTime(int depth, std::string_view key, TimePoint time) {
    const std::string text = time == TimePoint() ? "null" : "\"" + wire::FormatRfc3339(time) + "\"";
    out_ += fmt::format("{}{}: {}\n", Indent(depth), key, text);
  }
  void Raw(int depth, std::string_view text) { out_ += Indent(depth) + std::string(text) + "\n"; }
  std::string Take() { return std::move(out_); }
  std::string& text() { return out_; }

 private:
  static std::string Indent(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }
  static std::string Scalar(const std::string& value) {
    const auto plain_start = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    bool plain =
        !value.empty() && plain_start(value.front()) && value.back() != ' ' && value.back() != ':';
    for (size_t i = 0; plain && i < value.size(); ++i) {
      const auto c = static_cast<unsigned char>(value[i]);
      if (c < 0x20 || c >= 0x7F) plain = false;
      if (value[i] == '#' && i > 0 && value[i - 1] == ' ') plain = false;
      if (value[i] == ':' && i + 1 < value.size() && value[i + 1] == ' ') plain = false;
    }
    for (const char* word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
      if (Lower(value) == word) plain = false;
    }
    if (plain) return value;
    std::string quoted;
    AppendJsonString(quoted, value);  // a JSON text is a YAML text
    return quoted;
  }
  std::string out_;
};

void PutCounts(Lines& lines, int depth, const report::NodeCounts& counts) {
  lines.Key(depth, "nodeCounts");
  lines.Put(depth + 1, "longUnregistered", counts.long_unregistered);
  lines.Key(depth + 1, "registered");
  if (counts.being_deleted != 0) lines.Put(depth + 2, "beingDeleted", counts.being_deleted);
  lines.Put(depth + 2, "notStarted", counts.not_started);
  lines.Put(depth + 2, "ready", counts.ready);
  lines.Put(depth + 2, "suspended", counts.suspended);
  lines.Put(depth + 2, "total", counts.registered);
  lines.Key(depth + 2, "unready");
  lines.Put(depth + 3, "resourceUnready", counts.resource_unready);
  lines.Put(depth + 3, "total", counts.unready);
  lines.Put(depth + 1, "unregistered", counts.unregistered);
}

std::string Cut(const std::string& text) {
  if (text.size() <= kMaxBackoffText) return text;
  return text.substr(0, kMaxBackoffText - kTruncated.size()) + std::string(kTruncated);
}

}  // namespace

std::string FormatGoTime(TimePoint time) {
  const std::string seconds = wire::FormatRfc3339(time);  // 2026-01-02T03:04:05Z
  const auto nanos = (time.time_since_epoch() % std::chrono::seconds(1)).count();
  std::string fraction = nanos == 0 ? "" : fmt::format(".{:09}", nanos);
  while (fraction.ends_with('0')) fraction.pop_back();
  return seconds.substr(0, 10) + " " + seconds.substr(11, 8) + fraction + " +0000 UTC";
}

TimePoint StatusMap::Since(const std::string& path, const std::string& status, TimePoint now) {
  Condition& condition = conditions_[path];
  if (condition.status != status) condition = {status, now};
  return condition.since;
}

std::string StatusMap::RenderInitializing(TimePoint now) {
  Lines lines;
  lines.Raw(0, "autoscalerStatus: Initializing");
  lines.Key(0, "clusterWide");
  lines.Key(1, "health");
  lines.PutTime(2, "lastProbeTime", {});
  lines.PutTime(2, "lastTransitionTime", {});
  PutCounts(lines, 2, {});
  for (const char* part : {"scaleDown", "scaleUp"}) {
    lines.Key(1, part);
    lines.PutTime(2, "lastProbeTime", {});
    lines.PutTime(2, "lastTransitionTime", {});
  }
  lines.Put(0, "time", FormatGoTime(now));
  return lines.Take();
}

std::string StatusMap::Render(const report::ClusterStatus& status, TimePoint now) {
  Lines lines;
  const auto condition = [&](int depth, const std::string& path, const std::string& state,
                             TimePoint probed) {
    lines.PutTime(depth, "lastProbeTime", probed);
    lines.PutTime(depth, "lastTransitionTime",
                  Since(path, state, probed == TimePoint() ? now : probed));
  };
  const auto scale_down = [&](int depth, const std::string& path, int candidates) {
    const std::string state = candidates > 0 ? "CandidatesPresent" : "NoCandidates";
    lines.Key(depth, "scaleDown");
    if (candidates > 0) lines.Put(depth + 1, "candidates", candidates);
    condition(depth + 1, path, state, status.scale_down_probed);
    lines.Put(depth + 1, "status", state);
  };

  lines.Raw(0, std::string("autoscalerStatus: ") + (status.running ? "Running" : "Initializing"));
  lines.Key(0, "clusterWide");
  lines.Key(1, "health");
  const std::string health = status.healthy ? "Healthy" : "Unhealthy";
  condition(2, "health", health, status.probed);
  PutCounts(lines, 2, status.counts);
  lines.Put(2, "status", health);
  scale_down(1, "scaleDown", status.candidates);
  lines.Key(1, "scaleUp");
  const std::string up = status.scale_up_in_progress ? "InProgress" : "NoActivity";
  condition(2, "scaleUp", up, status.probed);
  lines.Put(2, "status", up);
  if (!status.message.empty()) lines.Put(0, "message", status.message);
  if (!status.groups.empty()) lines.Key(0, "nodeGroups");
  for (const report::GroupStatus& group : status.groups) {
    lines.Raw(0, "- health:");
    lines.Put(2, "cloudProviderTarget", group.target);
    const std::string group_health = group.healthy ? "Healthy" : "Unhealthy";
    condition(2, group.group + "/health", group_health, status.probed);
    lines.Put(2, "maxSize", group.max);
    lines.Put(2, "minSize", group.min);
    PutCounts(lines, 2, group.counts);
    lines.Put(2, "status", group_health);
    lines.Put(1, "name", group.group);
    scale_down(1, group.group + "/scaleDown", group.candidates);
    lines.Key(1, "scaleUp");
    if (group.scale_up == "Backoff" &&
        (!group.backoff_code.empty() || !group.backoff_message.empty())) {
      lines.Key(2, "backoffInfo");
      if (!group.backoff_code.empty()) lines.Put(3, "errorCode", group.backoff_code);
      if (!group.backoff_message.empty()) lines.Put(3, "errorMessage", Cut(group.backoff_message));
    } else {
      lines.Raw(2, "backoffInfo: {}");
    }
    condition(2, group.group + "/scaleUp", group.scale_up, status.probed);
    lines.Put(2, "status", group.scale_up);
  }
  lines.Put(0, "time", FormatGoTime(now));
  return lines.Take();
}

}  // namespace coppice::autoscale
