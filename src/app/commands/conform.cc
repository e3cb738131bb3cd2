// `coppice conform`: a contract played against somebody else's server.

#include "conform/command.h"

#include <cstdio>
#include <fstream>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "plugins/node_groups/externalgrpc/cloud_config.h"

namespace coppice::app {
namespace {

int CannotTry(const Status& status) {
  (void)Failed("conform", status);
  return 2;
}

// Address and certificates as the autoscaler would have them; what the command line says counts
// first.
Status TakeCloudConfig(conform::Command& command, const Log& log) {
  if (command.cloud_config.empty()) return Status::Ok();
  const auto config = TRY(node_groups::externalgrpc::ReadCloudConfig(command.cloud_config, log));
  const auto fill = [](std::string& member, const std::string& value) {
    if (member.empty()) member = value;
  };
  fill(command.address, config.address);
  fill(command.ca_file, config.cacert);
  fill(command.cert_file, config.cert);
  fill(command.key_file, config.key);
  fill(command.server_name, config.server_name);
  if (!command.timeout) command.timeout = config.grpc_timeout;
  command.plaintext = command.plaintext || config.plaintext;
  return Status::Ok();
}

void PrintRules(const std::vector<conform::RuleText>& rules) {
  for (const conform::RuleText& rule : rules) {
    std::printf("%-28s %s\n%-28s %s\n", std::string(rule.name).c_str(),
                std::string(rule.says).c_str(), "", std::string(rule.section).c_str());
  }
}

}  // namespace

int RunConform(const std::vector<std::string>& args, Plugins&) {
  auto command = conform::ParseArguments(args);
  if (!command.ok()) return WrongUsage("conform", command.status());
  if (!command->help.empty()) {
    std::fputs(command->help.c_str(), stdout);
    return 0;
  }
  if (command->list) {
    PrintRules(conform::RulesOf(command->contract).value());
    return 0;
  }
  SystemClock clock;
  const Log log = Log::ToStderr(clock, LogLevel::kWarning);
  if (const Status taken = TakeCloudConfig(*command, log); !taken.ok()) return CannotTry(taken);
  const auto report = conform::Run(*command, clock, log, [](const conform::RuleResult& result) {
    std::fputs(conform::ToText(result).c_str(), stdout);
    std::fflush(stdout);
  });
  if (!report.ok()) return CannotTry(report.status());
  std::fputs(conform::Summary(*report).c_str(), stdout);
  if (!command->junit.empty()) {
    std::ofstream file(command->junit);
    file << conform::ToJUnit(*report);
    if (!file.flush()) return CannotTry(Unavailable("cannot write " + command->junit));
  }
  return report->ExitCode();
}

}  // namespace coppice::app
