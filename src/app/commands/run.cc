// `coppice run`: the autoscaler. On a model cluster unless something names a real one.

#include <cstdio>
#include <cstdlib>

#include "app/commands/commands.h"
#include "app/open_node_groups.h"
#include "app/real_cluster.h"
#include "autoscale/flags.h"
#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::app {
namespace {

constexpr char kUsage[] =
    R"(coppice run [--seed N] [--speed X] [--for TIME] [--table TIME] [--verbose] [FLAGS]

Without --kubeconfig, and outside a pod: a model cluster in this process, with a small scheduler, a
simulated cloud of several groups, zones and prices, a load that rises and falls, and the autoscaler on
top. Prints a line per decision with its reason, a table now and then, and at Ctrl-C a summary.

  --seed N        of the load, the cloud and all lots; the same seed gives the same run (default 1)
  --speed X       simulated seconds per second (default 60; 0: as fast as it goes)
  --for TIME      stop after so much simulated time, such as 24h (default: at Ctrl-C)
  --table TIME    simulated time between two tables (default 2h; 0: none)
  --verbose       the autoscaler's log to standard error
  --record DIR    write down what happens, for coppice rehearse; also on a real cluster

The dashboard, on a model cluster and on a real one (docs/dashboard.md):
  --web-address HOST:PORT  default 127.0.0.1:8086, or another port if that one is taken; none: off
  --web-token-file FILE    a bearer token; needed, or mutual TLS, to listen elsewhere than loopback
  --web-tls-cert-file, --web-tls-private-key-file, --web-client-ca-file FILE   TLS 1.3; mutual TLS
  --web-host NAME,...      further names under which it may be called

If the output is no terminal and neither --speed nor --for is given: 24h in about a minute.

)";

// Takes `--name=value` and `--name value` out of the arguments; the last one counts.
class RunFlags {
 public:
  explicit RunFlags(const std::vector<std::string>& args) : left_(args) {}

  std::optional<std::string> Take(const std::string& name) {
    std::optional<std::string> value;
    for (size_t i = 0; i < left_.size();) {
      if (left_[i].starts_with(name + "=")) {
        value = left_[i].substr(name.size() + 1);
      } else if (left_[i] == name && i + 1 < left_.size()) {
        value = left_[i + 1];
        left_.erase(left_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
        continue;
      }
      left_.erase(left_.begin() + static_cast<ptrdiff_t>(i));
    }
    return value;
  }
  bool TakeSwitch(const std::string& name) { return std::erase(left_, name) > 0; }
  const std::vector<std::string>& left() const { return left_; }

 private:
  std::vector<std::string> left_;
};

template <class T>
Status ReadNumber(const std::optional<std::string>& text, const char* flag, T& out) {
  if (!text) return Status::Ok();
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (text->empty() || *end != '\0' || value < 0) {
    return InvalidArgument(std::string(flag) + ": '" + *text + "' is not a number of 0 or more");
  }
  out = static_cast<T>(value);
  return Status::Ok();
}

Status ReadDuration(const std::optional<std::string>& text, const char* flag,
                    std::optional<Duration>& out) {
  if (!text) return Status::Ok();
  auto parsed = ParseGoDuration(*text);
  if (!parsed.ok()) return parsed.status().Context(flag);
  out = *parsed;
  return Status::Ok();
}

void TakeWebFlags(RunFlags& own, DashboardOptions& web) {
  if (auto address = own.Take("--web-address")) {
    web.address = *address == "none" ? "" : *address;
    web.address_is_given = true;
  }
  if (auto file = own.Take("--web-token-file")) web.token_file = *file;
  if (auto file = own.Take("--web-tls-cert-file")) web.tls_cert_file = *file;
  if (auto file = own.Take("--web-tls-private-key-file")) web.tls_key_file = *file;
  if (auto file = own.Take("--web-client-ca-file")) web.client_ca_file = *file;
  if (auto names = own.Take("--web-host")) web.hosts = Split(*names, ',');
}

Result<ModelCommand> ReadCommand(const std::vector<std::string>& args) {
  ModelCommand command;
  RunFlags own(args);
  TRY(ReadNumber(own.Take("--seed"), "--seed", command.seed));
  const auto speed = own.Take("--speed");
  if (speed) TRY(ReadNumber(speed, "--speed", command.speed.emplace()));
  TRY(ReadDuration(own.Take("--for"), "--for", command.lasts));
  std::optional<Duration> table;
  TRY(ReadDuration(own.Take("--table"), "--table", table));
  if (table) command.table = *table;
  command.verbose = own.TakeSwitch("--verbose");
  command.record = own.Take("--record").value_or("");
  TakeWebFlags(own, command.web);
  command.flags = TRY(autoscale::ParseFlags(own.left()));
  return command;
}

// A real cluster: one is named, or we run inside one.
bool NamesCluster(const autoscale::FlagValues& flags) {
  return !flags.kubeconfig.empty() || !flags.kubernetes.empty() ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
         (!flags.cloud_provider.empty() && flags.cloud_provider != "simulated");
}

}  // namespace

int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins) {
  for (const std::string& arg : args) {
    if (arg != "--help" && arg != "-h") continue;
    std::printf("%s%s", kUsage, autoscale::FlagsAsHelp().c_str());
    return 0;
  }
  auto command = ReadCommand(args);
  if (!command.ok()) {
    std::fprintf(stderr, "coppice run: %s\n", command.status().message().c_str());
    return 2;
  }
  if (NamesCluster(command->flags)) {
    if (const Status known = CheckProviderNames(command->flags, plugins); !known.ok()) {
      std::fprintf(stderr, "coppice run: %s\n", known.message().c_str());
      return 2;
    }
    return RunOnRealCluster(command->flags, plugins, {}, command->web, command->record);
  }
  return RunModel(*command, plugins);
}

}  // namespace coppice::app
