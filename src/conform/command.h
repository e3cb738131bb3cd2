// The command `coppice conform`: its arguments, and the connection that they describe.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "conform/report.h"
#include "conform/rules.h"

namespace coppice::conform {

struct Command {
  std::string contract;  // provider, expander, extender or cloud
  std::string address;   // host:port or unix:/path; a URL for an extender
  // Who may have signed the server's certificate, and what is shown to it. As the autoscaler's
  // clients have it: with a bundle alone only the server is verified, with all three both are.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string server_name;
  std::string token_file;                       // extender: a bearer token
  std::string cloud_config;                     // provider: address and certificates from there
  bool plaintext = false;                       // allow no TLS to another machine
  std::optional<Duration> timeout;              // of a call; unset: as the contract's client has it
  std::string grow;                             // provider
  std::string zone;                             // cloud
  std::string image;                            // cloud
  int at_most = 5;                              // provider
  Duration patience = std::chrono::minutes(3);  // provider
  std::map<std::string, std::string> verbs;     // extender
  std::vector<std::string> skip;
  std::string junit;  // file to write
  bool list = false;  // the rules, and nothing is asked
  std::string help;   // wanted: this text, and nothing else was looked at
};

// InvalidArgument with a sentence and the nearest name.
Result<Command> ParseArguments(const std::vector<std::string>& args);
// Every rule of a contract: name, what it says, where that is written.
Result<std::vector<RuleText>> RulesOf(const std::string& contract);

// Connects and plays. A failure means that nothing was learned: no such file, nobody there.
Result<Report> Run(const Command& command, Clock& clock, const Log& log,
                   std::function<void(const RuleResult&)> heard);

}  // namespace coppice::conform
