#include "batch/scheduler_flags.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/go_duration.h"
#include "base/strings.h"
#include "batch/arguments.h"

namespace coppice::batch {
namespace {

using Values = SchedulerFlags;

Status NotA(std::string_view value, std::string_view wanted) {
  return InvalidArgument(fmt::format("'{}' is not {}", value, wanted));
}

class Table {
 public:
  template <class Member>
  void Bool(std::string name, Member member, std::string help) {
    Values defaults;
    flags_.push_back({std::move(name), "bool", member(defaults) ? "true" : "false", std::move(help),
                      true, [member](Values& values, std::string_view text) {
                        const auto parsed = ParseGoBool(text);
                        if (!parsed) return NotA(text, "true or false");
                        member(values) = *parsed;
                        return Status::Ok();
                      }});
  }
  template <class Member>
  void Number(std::string name, Member member, std::string help) {
    Values defaults;
    flags_.push_back({std::move(name), "number", fmt::format("{}", member(defaults)),
                      std::move(help), false, [member](Values& values, std::string_view text) {
                        std::remove_cvref_t<decltype(member(values))> number{};
                        const char* end = text.data() + text.size();
                        const auto [stop, error] = std::from_chars(text.data(), end, number);
                        if (error != std::errc() || stop != end) return NotA(text, "a number");
                        member(values) = number;
                        return Status::Ok();
                      }});
  }
  template <class Member>
  void Time(std::string name, Member member, std::string help) {
    Values defaults;
    flags_.push_back({std::move(name), "duration", FormatGoDuration(member(defaults)),
                      std::move(help), false,
                      [member](Values& values, std::string_view text) -> Status {
                        const Duration time = TRY(ParseGoDuration(text));
                        if (time <= Duration::zero()) return NotA(text, "more than no time");
                        member(values) = time;
                        return Status::Ok();
                      }});
  }
  template <class Member>
  void Text(std::string name, Member member, std::string help) {
    Values defaults;
    flags_.push_back({std::move(name), "string", member(defaults), std::move(help), false,
                      [member](Values& values, std::string_view text) {
                        member(values) = std::string(text);
                        return Status::Ok();
                      }});
  }
  void Own(std::string name, std::string type, std::string default_text, std::string help,
           std::function<Status(Values&, std::string_view)> set) {
    flags_.push_back({std::move(name), std::move(type), std::move(default_text), std::move(help),
                      false, std::move(set)});
  }
  // Upstream has it, and it means nothing here.
  void NoEffect(std::string name, std::string default_text, std::string why, bool is_bool = false) {
    const std::string flag = name;
    std::string help = why + "; accepted, no effect";
    flags_.push_back({std::move(name), is_bool ? "bool" : "string", default_text, std::move(help),
                      is_bool, [=](Values& values, std::string_view text) {
                        if (text != default_text)
                          values.notes.push_back("--" + flag + " has no effect: " + why);
                        return Status::Ok();
                      }});
  }
  void Refuse(std::string name, std::string default_text, std::string instead,
              bool is_bool = false) {
    std::string help = "not supported; " + instead;
    flags_.push_back({std::move(name), is_bool ? "bool" : "string", default_text, std::move(help),
                      is_bool, [=](Values&, std::string_view text) {
                        return text == default_text ? Status::Ok()
                                                    : Unimplemented("is not supported; " + instead);
                      }});
  }
  std::vector<SchedulerFlag> Take() { return std::move(flags_); }

 private:
  std::vector<SchedulerFlag> flags_;
};

void AddSessions(Table& table) {
  table.Text(
      "scheduler-conf", [](Values& v) -> std::string& { return v.scheduler_conf; },
      "volcano-scheduler.conf; read again when it changes, and what is wrong leaves the one before "
      "in force");
  table.Own("disable-default-scheduler-config", "bool", "false",
            "end instead of running with the built-in configuration when the file cannot be used",
            [](Values& v, std::string_view text) {
              const auto parsed = ParseGoBool(text);
              if (!parsed) return NotA(text, "true or false");
              v.default_conf = !*parsed;
              return Status::Ok();
            });
  table.Own("scheduler-name", "string", "volcano",
            "pods with this spec.schedulerName are placed; may be repeated",
            [](Values& v, std::string_view text) {
              auto& names = v.engine.session.scheduler_names;
              if (text.empty()) return NotA(text, "the name of a scheduler");
              if (names == std::vector<std::string>{"volcano"}) names.clear();
              names.emplace_back(text);
              return Status::Ok();
            });
  table.Time(
      "schedule-period", [](Values& v) -> Duration& { return v.engine.schedule_period; },
      "a session at least so often; changes begin one at once");
  table.Time(
      "shortest-session-gap", [](Values& v) -> Duration& { return v.engine.shortest_gap; },
      "between the beginnings of two sessions (Coppice's own)");
  table.Text(
      "default-queue", [](Values& v) -> std::string& { return v.engine.session.default_queue; },
      "of groups that name none");
  table.Number(
      "minimum-feasible-nodes",
      [](Values& v) -> int32_t& { return v.engine.session.min_feasible_nodes; },
      "enough nodes for a pod to stop looking; with --upstream-exact, else all are looked at");
  table.Number(
      "minimum-percentage-nodes-to-find",
      [](Values& v) -> int32_t& { return v.engine.session.min_percentage_of_nodes; },
      "likewise, of all nodes");
  table.Number(
      "percentage-nodes-to-find",
      [](Values& v) -> int32_t& { return v.engine.session.percentage_of_nodes; },
      "likewise; 0: fewer of them the more there are");
  table.Bool(
      "evict-by-budget", [](Values& v) -> bool& { return v.engine.evict_by_budget; },
      "evictions are held against PodDisruptionBudgets, also without the plug-in pdb (Coppice's "
      "own)");
}

void AddProcess(Table& table) {
  table.Number(
      "kube-api-qps", [](Values& v) -> double& { return v.kube_api_qps; },
      "calls to the API server a second");
  table.Number(
      "kube-api-burst", [](Values& v) -> int& { return v.kube_api_burst; }, "of them at once");
  table.Text(
      "listen-address", [](Values& v) -> std::string& { return v.listen_address; },
      "of /metrics and the other pages, when the scheduler runs alone");
  table.Bool(
      "enable-metrics", [](Values& v) -> bool& { return v.enable_metrics; },
      "upstream serves metrics only with it; here they are always served");
  table.Text(
      "healthz-address", [](Values& v) -> std::string& { return v.healthz_address; },
      "upstream's second address; health is told at --listen-address, too");
  table.Bool("enable-healthz", [](Values& v) -> bool& { return v.enable_healthz; }, "likewise");
  table.Text(
      "lock-object-namespace", [](Values& v) -> std::string& { return v.lock_namespace; },
      "of the lease, when the scheduler runs alone");
  table.Own(
      "batch-controllers", "list", "",
      "of Volcano's controller-manager, what is done here in its place: podgroup, queue, job, "
      "or all. Leave it empty where that runs itself (Coppice's own)",
      [](Values& v, std::string_view text) {
        for (const std::string& name : Split(std::string(text), ',')) {
          if (name.empty()) continue;
          const bool all = name == "all";
          if (!all && name != "podgroup" && name != "queue" && name != "job")
            return NotA(name, "one of podgroup, queue, job and all");
          v.controllers.pod_groups |= all || name == "podgroup";
          v.controllers.queues |= all || name == "queue";
          v.controllers.jobs |= all || name == "job";
        }
        return Status::Ok();
      });
}

void AddOthers(Table& table) {
  table.NoEffect("node-worker-threads", "20", "nodes are read by the watch, on one thread");
  table.NoEffect("resource-sync-timeout", "60s",
                 "there is one time-out for reading, "
                 "--max-startup-time");
  table.NoEffect("gate-removal-worker-num", "5", "gates are removed by no worker");
  table.NoEffect("cache-dumper", "true", "/api/v1 shows what the scheduler knows", true);
  table.NoEffect("ca-cert-file", "", "the kubeconfig names its certificates");
  table.NoEffect("tls-cert-file", "", "pages are served without TLS on a private address");
  table.NoEffect("tls-private-key-file", "", "pages are served without TLS on a private address");
  table.Refuse("priority-class", "true", "take the plug-in priority out of the configuration",
               true);
  table.Refuse("plugins-dir", "",
               "build the plug-in as a folder (docs/extending/batch-plugin.md), "
               "or ask it over HTTP (docs/extending/extender.md)");
  table.Refuse("scheduler-sharding-mode", "none", "one process schedules the whole cluster");
  table.Refuse("scheduler-sharding-name", "", "one process schedules the whole cluster");
  table.Refuse("node-selector", "", "use node affinity, or a queue's nodegroup affinity");
  table.Refuse("feature-gates", "", "no feature is behind a gate");
  table.Refuse("enable-csi-storage", "false", "volumes are always looked at", true);
}

}  // namespace

const std::vector<SchedulerFlag>& AllSchedulerFlags() {
  static const std::vector<SchedulerFlag> kTable = [] {
    Table table;
    AddSessions(table);
    AddProcess(table);
    AddOthers(table);
    std::vector<SchedulerFlag> flags = table.Take();
    for (SchedulerFlag& flag : flags) flag.is_bool |= flag.type == "bool";
    return flags;
  }();
  return kTable;
}

Result<SchedulerFlags> TakeSchedulerFlags(std::vector<std::string>& args) {
  SchedulerFlags values;
  std::vector<std::string> left;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view text = args[i];
    const size_t dashes = text.starts_with("--") ? 2 : (text.starts_with("-") ? 1 : 0);
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(dashes, equals - dashes);
    const auto flag = dashes == 0
                          ? AllSchedulerFlags().end()
                          : std::ranges::find(AllSchedulerFlags(), name, &SchedulerFlag::name);
    if (flag == AllSchedulerFlags().end()) {
      left.push_back(args[i]);
      continue;
    }
    std::string value = "true";
    if (equals != std::string_view::npos) {
      value = text.substr(equals + 1);
    } else if (!flag->is_bool) {
      if (i + 1 == args.size()) return InvalidArgument("--" + flag->name + " needs a value");
      value = args[++i];
    }
    const Status set = flag->set(values, value);
    if (!set.ok()) return set.Context("--" + flag->name);
  }
  args = std::move(left);
  return values;
}

std::string SchedulerFlagsAsHelp() {
  std::string text = "\nBatch scheduler (with --batch):\n";
  for (const SchedulerFlag& flag : AllSchedulerFlags()) {
    text +=
        fmt::format("  --{} {}\n      {}{}\n", flag.name, flag.is_bool ? "" : flag.type, flag.help,
                    flag.default_text.empty() ? "" : " (default " + flag.default_text + ")");
  }
  return text;
}

std::string SchedulerFlagsAsMarkdown() {
  std::string text = "| Flag | Default | Meaning |\n|---|---|---|\n";
  for (const SchedulerFlag& flag : AllSchedulerFlags())
    text += fmt::format("| `--{}` | {} | {} |\n", flag.name,
                        flag.default_text.empty() ? "" : "`" + flag.default_text + "`", flag.help);
  return text;
}

}  // namespace coppice::batch
