#include "conform/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/go_duration.h"
#include "base/strings.h"
#include "conform/expander.h"
#include "conform/extender.h"
#include "conform/provider.h"
#include "grpc/channel.h"
#include "grpc/credentials.h"
#include "net/http_client.h"
#include "net/url.h"

namespace coppice::conform {
namespace {

constexpr std::string_view kHelpText =
    R"(coppice conform provider ADDRESS [flags]   somebody's externalgrpc provider
coppice conform expander ADDRESS [flags]   somebody's gRPC expander
coppice conform extender URL     [flags]   somebody's HTTP extender of the batch scheduler

Plays the contract against the server, with what real clients bring along: deadlines, repeats,
unknown ids, calls at once, fields of both eras. Says of each rule whether it passed, failed or does
not apply, why, and where it is written. Never deletes what it did not create; orders nothing unless
--grow names a group. Exit code: 0 no rule failed, 1 one did, 2 it could not be tried.

  --ca=FILE           PEM: who may have signed the server's certificate
  --cert=FILE, --key=FILE   PEM: what is shown to the server
  --server-name=NAME  what its certificate must say, if not the host of ADDRESS
  --plaintext         no TLS to another machine (to loopback and sockets it is allowed)
  --timeout=TIME      of a call (default: 5s; an extender's 1s)
  --skip=RULE,RULE    rules to leave out
  --junit=FILE        the result as JUnit's XML, too
  --list              print the rules and ask nothing

provider:
  --cloud-config=FILE address and certificates as the autoscaler's file has them
  --grow=GROUP        may order machines in this group; they are deleted again
  --at-most=N         machines that a server which refuses nothing would order (default 5)
  --patience=TIME     how long a machine may take to be up or gone (default 3m)
extender:
  --token-file=FILE   sent as a bearer token
  --verb=VERB=PATH    the path of a verb, if not its own name; empty: not there

docs/conform.md has every rule.
)";

Status SetNumber(int& member, const std::string& value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), member);
  if (error != std::errc() || end != value.data() + value.size() || member < 0) {
    return InvalidArgument("'" + value + "' is no number of 0 or more");
  }
  return Status::Ok();
}

Status SetDuration(std::optional<Duration>& member, const std::string& value) {
  member = TRY(ParseGoDuration(value));
  return *member > Duration::zero() ? Status::Ok() : InvalidArgument("the time has to be above 0");
}

Status SetVerb(std::map<std::string, std::string>& verbs, const std::string& value) {
  const size_t equals = value.find('=');
  const std::string verb = value.substr(0, equals);
  const std::vector<std::string> known = ExtenderVerbs();
  if (equals == std::string::npos || std::ranges::find(known, verb) == known.end()) {
    return InvalidArgument("'" + value + "' is not VERB=PATH with a verb of " + Join(known, ", "));
  }
  verbs[verb] = value.substr(equals + 1);
  return Status::Ok();
}

struct Flag {
  std::string_view name;
  bool has_value;
  Status (*set)(Command& command, const std::string& value);
};

template <std::string Command::* kMember>
Status SetText(Command& command, const std::string& value) {
  command.*kMember = value;
  return Status::Ok();
}
template <bool Command::* kMember>
Status SetFlag(Command& command, const std::string&) {
  command.*kMember = true;
  return Status::Ok();
}

constexpr Flag kFlags[] = {
    {"--ca", true, SetText<&Command::ca_file>},
    {"--cert", true, SetText<&Command::cert_file>},
    {"--key", true, SetText<&Command::key_file>},
    {"--server-name", true, SetText<&Command::server_name>},
    {"--token-file", true, SetText<&Command::token_file>},
    {"--cloud-config", true, SetText<&Command::cloud_config>},
    {"--grow", true, SetText<&Command::grow>},
    {"--junit", true, SetText<&Command::junit>},
    {"--plaintext", false, SetFlag<&Command::plaintext>},
    {"--list", false, SetFlag<&Command::list>},
    {"--help", false, SetFlag<&Command::help>},
    {"-h", false, SetFlag<&Command::help>},
    {"--at-most", true,
     [](Command& command, const std::string& value) { return SetNumber(command.at_most, value); }},
    {"--timeout", true,
     [](Command& command, const std::string& value) {
       return SetDuration(command.timeout, value);
     }},
    {"--patience", true,
     [](Command& command, const std::string& value) {
       return SetDuration(command.patience, value);
     }},
    {"--verb", true,
     [](Command& command, const std::string& value) { return SetVerb(command.verbs, value); }},
    {"--skip", true,
     [](Command& command, const std::string& value) {
       for (const std::string& rule : Split(value, ',')) command.skip.emplace_back(Trim(rule));
       return Status::Ok();
     }},
};

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

Status UnknownFlag(const std::string& name) {
  std::vector<std::string> names;
  for (const Flag& flag : kFlags) names.emplace_back(flag.name);
  const std::string nearest = Nearest(name, names);
  return InvalidArgument(
      "there is no flag " + name +
      (nearest.empty() ? "; --help lists them" : "; did you mean " + nearest + "?"));
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
  if (!provider && (!command.grow.empty() || !command.cloud_config.empty())) {
    return InvalidArgument("--grow and --cloud-config are of providers");
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

std::string Help() { return std::string(kHelpText); }

Result<std::vector<RuleText>> RulesOf(const std::string& contract) {
  if (contract == "provider") return ProviderRules();
  if (contract == "expander") return ExpanderRules();
  if (contract == "extender") return ExtenderRules();
  return InvalidArgument("what is tried is a provider, an expander or an extender" +
                         (contract.empty() ? "" : ", not '" + contract + "'"));
}

Result<Command> ParseArguments(const std::vector<std::string>& args) {
  Command command;
  std::vector<std::string> plain;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].starts_with('-')) {
      plain.push_back(args[i]);
      continue;
    }
    const size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) return UnknownFlag(name);
    std::string value;
    if (equals != std::string::npos) {
      if (!flag->has_value) return InvalidArgument(name + " takes no value");
      value = args[i].substr(equals + 1);
    } else if (flag->has_value) {
      if (i + 1 == args.size()) return InvalidArgument(name + " needs a value");
      value = args[++i];
    }
    TRY(flag->set(command, value).Context(name));
  }
  if (command.help) return command;
  if (plain.size() > 2) return InvalidArgument("'" + plain[2] + "' is one argument too many");
  if (!plain.empty()) command.contract = plain[0];
  if (plain.size() > 1) command.address = plain[1];
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
  ProviderOptions options{.play = play, .grow = command.grow, .at_most = command.at_most};
  if (command.timeout) options.timeout = *command.timeout;
  if (command.patience) options.patience = *command.patience;
  return TryProvider(options, transport, clock);
}

}  // namespace coppice::conform
