#include "conform/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/flag_set.h"
#include "base/rng.h"
#include "base/strings.h"
#include "conform/cloud.h"
#include "conform/expander.h"
#include "conform/extender.h"
#include "conform/provider.h"
#include "grpc/channel.h"
#include "grpc/credentials.h"
#include "net/http_client.h"
#include "net/url.h"

namespace coppice::conform {
namespace {

constexpr std::string_view kUsage =
    R"(coppice conform provider ADDRESS [flags]   somebody's externalgrpc provider
coppice conform expander ADDRESS [flags]   somebody's gRPC expander
coppice conform extender URL     [flags]   somebody's HTTP extender of the batch scheduler
coppice conform cloud ADDRESS    [flags]   somebody's cloud (proto/cloud.proto)

Plays the contract against the server, with what real clients bring along: deadlines, repeats,
unknown ids, calls at once, fields of both eras. Says of each rule whether it passed, failed or does
not apply, why, and where it is written. Never deletes what it did not create; orders nothing unless
--grow names a group (of a cloud: a flavor). Exit code: 0 no rule failed, 1 one did, 2 it could not be tried.
docs/conform.md has every rule.

)";

Status AddVerb(std::map<std::string, std::string>& verbs, std::string_view value) {
  const size_t equals = value.find('=');
  const std::string verb(value.substr(0, equals));
  const std::vector<std::string> known = ExtenderVerbs();
  if (equals == std::string_view::npos || std::ranges::find(known, verb) == known.end()) {
    return BadFlagValue(value, "VERB=PATH with a verb of " + Join(known, ", "));
  }
  verbs[verb] = value.substr(equals + 1);
  return Status::Ok();
}

constexpr Between<Duration> kSomeTime{std::chrono::milliseconds(1), std::chrono::hours(24)};

void AddFlags(FlagSet& flags, Command& command, std::vector<std::string>& words) {
  flags.AddWords("CONTRACT ADDRESS", words, false, "what is tried, and where it is");
  flags.Group("Connection");
  flags.AddString("ca", command.ca_file, "PEM file: who may have signed the server's certificate");
  flags.AddString("cert", command.cert_file, "PEM file: the certificate shown to the server");
  flags.AddString("key", command.key_file, "PEM file: its key");
  flags.AddString("server-name", command.server_name,
                  "what the server's certificate must say, if not the host of ADDRESS");
  flags.AddBool("plaintext", command.plaintext,
                "no TLS to another machine (to loopback and sockets it is allowed)");
  flags.Add("timeout", "duration", "5s; extender: 1s", "of a call",
            [&command](std::string_view value) -> Status {
              command.timeout = TRY(FlagDuration(value, kSomeTime));
              return Status::Ok();
            });
  flags.AddString("cloud-config", command.cloud_config,
                  "provider: address and certificates as the autoscaler's file has them");
  flags.AddString("token-file", command.token_file, "extender: sent as a bearer token");
  flags.Group("What is tried");
  flags.AddList("skip", command.skip, "rules to leave out");
  flags.AddString("grow", command.grow,
                  "provider: may order machines in this group; cloud: of this flavor; they are "
                  "deleted again");
  flags.AddString("zone", command.zone, "cloud: where to order it");
  flags.AddString("image", command.image, "cloud: with which image");
  flags.AddNumber("at-most", command.at_most,
                  "provider: machines that a server which refuses nothing would order");
  flags.AddDuration("patience", command.patience, kSomeTime,
                    "provider, cloud: how long a machine may take to be up or gone");
  flags.Add("verb", "list", "", "extender: VERB=PATH, if not the verb's own name; empty: not there",
            [&command](std::string_view value) { return AddVerb(command.verbs, value); });
  flags.Group("Output");
  flags.AddString("junit", command.junit, "file: the result as JUnit's XML, too");
  flags.AddBool("list", command.list, "print the rules of CONTRACT and ask nothing");
}

Status CheckTogether(const Command& command) {
  const std::vector<RuleText> rules = TRY(RulesOf(command.contract));
  if (command.list) return Status::Ok();
  if (command.address.empty() && command.cloud_config.empty()) {
    return InvalidArgument("where is the " + command.contract + "? --help shows the arguments");
  }
  if (const auto unknown = UnknownRules(rules, command.skip); !unknown.empty()) {
    return InvalidArgument("--skip: there is no rule " + Join(unknown, ", ") +
                           "; --list prints them");
  }
  if (command.cert_file.empty() != command.key_file.empty()) {
    return InvalidArgument("--cert and --key belong together");
  }
  const bool provider = command.contract == "provider";
  const bool cloud = command.contract == "cloud";
  if (!provider && !cloud && !command.grow.empty()) {
    return InvalidArgument("--grow is of providers and clouds");
  }
  if (!provider && !command.cloud_config.empty()) {
    return InvalidArgument("--cloud-config is of providers");
  }
  if (!cloud && (!command.zone.empty() || !command.image.empty())) {
    return InvalidArgument("--zone and --image are of clouds");
  }
  if (command.contract != "extender" && (!command.verbs.empty() || !command.token_file.empty())) {
    return InvalidArgument("--verb and --token-file are of extenders");
  }
  return Status::Ok();
}

bool IsLocal(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const auto parsed = net::ParseHostPort(address);
  return parsed.ok() &&
         (parsed->host == "localhost" || parsed->host == "::1" || parsed->host.starts_with("127."));
}

Result<std::shared_ptr<grpc::Channel>> Connect(const Command& command, Clock& clock,
                                               const Log& log) {
  const bool tls = !command.ca_file.empty() || !command.cert_file.empty();
  if (!tls && !command.plaintext && !IsLocal(command.address)) {
    return InvalidArgument(
        "no certificates are given, and the address is on another machine: --ca, --cert and --key, "
        "or --plaintext");
  }
  if (tls && command.ca_file.empty()) {
    return InvalidArgument("--cert without --ca: who may have signed the server's certificate?");
  }
  grpc::ChannelOptions options{.address = command.address,
                               .certificates = nullptr,
                               .server_name = command.server_name,
                               .max_message_bytes = size_t{128} << 20,
                               .max_send_bytes = SIZE_MAX};
  if (tls) {
    options.certificates = TRY(grpc::CertificateStore::Open(
        {.cert_file = command.cert_file,
         .key_file = command.key_file,
         .ca_file = command.ca_file,
         .parts = command.cert_file.empty() ? grpc::TlsParts::kTrust : grpc::TlsParts::kMutual},
        log));
  }
  auto channel = std::make_shared<grpc::Channel>(std::move(options), clock);
  // Whatever is answered, somebody is there: most servers have no health service.
  const auto answer = channel->Call("/grpc.health.v1.Health/Check", "",
                                    Deadline::In(clock, std::chrono::seconds(10)));
  if (answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded) {
    return answer.status().Context("nobody answers at " + command.address);
  }
  return channel;
}

Result<Report> RunExtenderRules(const Command& command, const PlayOptions& play, Clock& clock) {
  ExtenderOptions options{.play = play, .url_prefix = command.address, .verbs = command.verbs};
  if (command.timeout) options.timeout = *command.timeout;
  if (!command.token_file.empty()) {
    std::ifstream file(command.token_file);
    if (!file) return NotFound("cannot read " + command.token_file);
    std::stringstream text;
    text << file.rdbuf();
    options.token = Secret(std::string(Trim(text.str())));
  }
  const auto client = TRY(net::MakeHttpClient({.ca_file = command.ca_file,
                                               .cert_file = command.cert_file,
                                               .key_file = command.key_file,
                                               .max_body_bytes = kMostAnswerBytes,
                                               .max_redirects = 10},
                                              clock));
  const auto there = client->Send({.method = "POST", .url = command.address, .body = "{}"},
                                  Deadline::In(clock, std::chrono::seconds(10)));
  if (!there.ok()) return there.status().Context("nobody answers at " + command.address);
  return TryExtender(options, *client, clock);
}

}  // namespace

Result<std::vector<RuleText>> RulesOf(const std::string& contract) {
  if (contract == "provider") return ProviderRules();
  if (contract == "expander") return ExpanderRules();
  if (contract == "extender") return ExtenderRules();
  if (contract == "cloud") return CloudRules();
  return InvalidArgument("what is tried is a provider, an expander, an extender or a cloud" +
                         (contract.empty() ? "" : ", not '" + contract + "'"));
}

Result<Command> ParseArguments(const std::vector<std::string>& args) {
  Command command;
  std::vector<std::string> words;
  FlagSet flags;
  AddFlags(flags, command, words);
  TRY(flags.Parse(args));
  if (flags.help_wanted()) {
    command.help = std::string(kUsage) + flags.AsHelp();
    return command;
  }
  if (words.size() > 2) return InvalidArgument("'" + words[2] + "' is one argument too many");
  if (!words.empty()) command.contract = words[0];
  if (words.size() > 1) command.address = words[1];
  TRY(CheckTogether(command));
  return command;
}

Result<Report> Run(const Command& command, Clock& clock, const Log& log,
                   std::function<void(const RuleResult&)> heard) {
  const PlayOptions play{.contract = command.contract,
                         .target = command.address,
                         .skip = command.skip,
                         .heard = std::move(heard)};
  if (command.contract == "extender") return RunExtenderRules(command, play, clock);
  const auto channel = TRY(Connect(command, clock, log));
  const Transport transport = [channel](const std::string& path, std::string_view request,
                                        Deadline deadline) {
    return channel->Call(path, request, deadline);
  };
  if (command.contract == "expander") {
    ExpanderOptions options{.play = play};
    if (command.timeout) options.timeout = *command.timeout;
    return TryExpander(options, transport, clock);
  }
  if (command.contract == "cloud") {
    // The tag of this run alone: two at once must not delete each other's machines.
    CloudOptions options{.play = play,
                         .flavor = command.grow,
                         .zone = command.zone,
                         .image = command.image,
                         .run = fmt::format("run-{:x}", SeedFromSystem()),
                         .patience = command.patience};
    if (command.timeout) options.timeout = *command.timeout;
    return TryCloud(options, transport, clock);
  }
  ProviderOptions options{
      .play = play, .grow = command.grow, .at_most = command.at_most, .patience = command.patience};
  if (command.timeout) options.timeout = *command.timeout;
  return TryProvider(options, transport, clock);
}

}  // namespace coppice::conform
