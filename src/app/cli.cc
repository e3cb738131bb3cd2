// The command line. CLI11 stays in this file: it is slow to compile.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/main.h"
#include "app/version.h"
#include "base/go_duration.h"

namespace coppice::app {
namespace {

// Go's flag package takes "-config=x" for "--config=x", and the Go provider's manifests use both.
// One dash and one letter stays as it is.
std::string FromGoStyle(const std::string& argument) {
  const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
  return one_dash && !(argument[1] >= '0' && argument[1] <= '9') ? "-" + argument : argument;
}

// The log flags of the Go provider. `-v` chooses the level; the others steer files that we do not
// write and are accepted so that its manifests work unchanged.
struct KlogFlags {
  int verbosity = 0;
  std::vector<std::string> ignored_text = std::vector<std::string>(16);
  bool ignored_flag = false;

  void AddTo(CLI::App& app) {
    app.add_option("-v,--v", verbosity, "log verbosity; 5 and above logs every call")->group("Log");
    size_t i = 0;
    for (const char* name :
         {"--vmodule", "--stderrthreshold", "--log_dir", "--log_file", "--log_file_max_size",
          "--log_backtrace_at", "--log-flush-frequency"}) {
      app.add_option(name, ignored_text[i++], "accepted for compatibility, no effect")->group("");
    }
    for (const char* name :
         {"--logtostderr", "--alsologtostderr", "--skip_headers", "--skip_log_headers",
          "--add_dir_header", "--one_output", "--legacy_stderr_threshold_behavior"}) {
      app.add_flag(name, ignored_flag, "accepted for compatibility, no effect")->group("");
    }
  }
  LogLevel level() const { return verbosity >= 5 ? LogLevel::kDebug : LogLevel::kInfo; }
};

int Parse(CLI::App& app, int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i)
    arguments.push_back(FromGoStyle(argv[i]));  // CLI11 wants them reversed
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, std::cout, std::cerr);
    return code == 0 ? 0 : 2;
  }
  return -1;
}

// Commands that read their own arguments.
struct OwnFlags {
  std::string_view name;
  const char* help;
  int (*run)(const std::vector<std::string>& args, Plugins& plugins);
};
constexpr OwnFlags kOwnFlags[] = {
    {"run", "the autoscaler: on a model cluster, or with --kubeconfig or in a pod on a real one",
     RunAutoscaler},
    {"expander", "serve built-in expanders over Cluster Autoscaler's gRPC protocol", RunExpander},
    {"extender", "the reference server of the batch scheduler's HTTP extender", RunExtender},
    {"simulate", "what would the autoscaler do with this cluster dump, and why", RunSimulate},
    {"explain", "why a pod waits or a node stays, asked of a running instance", RunExplain},
    {"rehearse", "play a recorded day again with other flags or groups, and compare", RunRehearse},
    {"conform", "try somebody else's provider, expander or extender against its contract",
     RunConform},
    {"flags", nullptr, RunFlags},  // for tools/check_docs
};

// A registry that two plug-ins filled under one name ends the program before anything runs.
Status CheckRegistries(const Plugins& plugins) {
  TRY(plugins.clouds.Check());
  TRY(plugins.node_groups.Check());
  TRY(plugins.filters.Check());
  TRY(plugins.expanders.Check());
  TRY(plugins.processors.Check());
  return Status::Ok();
}

// Started under upstream's name, as its manifests do, the program is the autoscaler.
bool CalledClusterAutoscaler(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == "cluster-autoscaler";
}

// kubectl finds its plug-ins by this name.
bool CalledKubectlPlugin(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == "kubectl-coppice";
}

}  // namespace

int Main(int argc, char** argv, Plugins& plugins) {
  if (const Status registered = CheckRegistries(plugins); !registered.ok()) {
    std::fprintf(stderr, "coppice: %s\n", registered.message().c_str());
    return 1;
  }
  if (argc > 0 && CalledClusterAutoscaler(argv[0]))
    return RunAutoscaler({argv + 1, argv + argc}, plugins);
  if (argc > 0 && CalledKubectlPlugin(argv[0])) {
    std::vector<std::string> args(argv + 1, argv + argc);
    args.insert(args.begin(), "--from-kubectl");
    return RunExplain(args, plugins);
  }
  for (const OwnFlags& command : kOwnFlags) {
    if (argc > 1 && argv[1] == command.name) return command.run({argv + 2, argv + argc}, plugins);
  }
  CLI::App app("Coppice makes a Kubernetes cluster grow and shrink.", "coppice");
  app.set_version_flag("--version", std::string("coppice ") + kVersion);
  app.require_subcommand(1);

  ProviderCommand provider;
  KlogFlags klog;
  auto* provider_app =
      app.add_subcommand("provider", "serve a cloud to Cluster Autoscaler over externalgrpc");
  provider_app->add_option("--config", provider.config, "configuration file (YAML)")->required();
  provider_app->add_option("--metrics-addr", provider.metrics_addr,
                           "address of /metrics, /healthz and /readyz (default :9090)");
  provider_app->add_flag("--insecure", provider.insecure,
                         "allow plaintext, on a loopback address only");
  std::string connection_age = "1h";
  provider_app
      ->add_option("--max-connection-age", connection_age,
                   "a client is told to connect again after this time, a tenth more or less; 0s: "
                   "never (default 1h)")
      ->check([](const std::string& text) { return ParseGoDuration(text).status().message(); });
  klog.AddTo(*provider_app);

  ValidateCommand validate;
  auto* validate_app =
      app.add_subcommand("validate", "check configuration files, with line numbers");
  validate_app->add_option("FILE", validate.files, "configuration file of `coppice provider`")
      ->required();

  for (const OwnFlags& command : kOwnFlags)
    if (command.help != nullptr) app.add_subcommand(std::string(command.name), command.help);

  if (const int code = Parse(app, argc, argv); code >= 0) return code;
  if (provider_app->parsed()) {
    provider.log_level = klog.level();
    provider.max_connection_age = ParseGoDuration(connection_age).value();
    return RunProvider(provider, plugins);
  }
  return RunValidate(validate, plugins);
}

}  // namespace coppice::app
