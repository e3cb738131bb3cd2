#include "rpc/expander_flags.h"

#include <algorithm>

#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::rpc {
namespace {

struct ExpanderFlag {
  std::vector<std::string> names;  // the first is shown
  std::string value;               // how the help shows it; "" for a switch
  std::string help;
  Status (*set)(ExpanderOptions& options, const std::string& value);
};

template <std::string ExpanderOptions::* kMember>
Status SetText(ExpanderOptions& options, const std::string& value) {
  options.*kMember = value;
  return Status::Ok();
}

Status SetStrategy(ExpanderOptions& options, const std::string& value) {
  options.strategy.clear();
  for (const std::string& name : Split(value, ',')) options.strategy.emplace_back(Trim(name));
  return Status::Ok();
}

Status SetPort(ExpanderOptions& options, const std::string& value) {
  options.listen = ":" + value;
  return Status::Ok();
}

Status SetInsecure(ExpanderOptions& options, const std::string& value) {
  if (value != "true" && value != "false")
    return InvalidArgument("'" + value + "' is neither true nor false");
  options.insecure = value == "true";
  return Status::Ok();
}

Status SetConnectionAge(ExpanderOptions& options, const std::string& value) {
  options.max_connection_age = TRY(ParseGoDuration(value));
  return Status::Ok();
}

Status SetVerbosity(ExpanderOptions& options, const std::string& value) {
  if (value.empty() || !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
    return InvalidArgument("'" + value + "' is no number");
  const bool all = value.size() > 1 || value[0] >= '5';
  options.log_level = all ? LogLevel::kDebug : LogLevel::kInfo;
  return Status::Ok();
}

Status SetHelp(ExpanderOptions& options, const std::string&) {
  options.help = true;
  return Status::Ok();
}

// `--port`, `--cert-path` and `--key-path` are those of upstream's example server.
const std::vector<ExpanderFlag>& Table() {
  static const std::vector<ExpanderFlag> table = {
      {{"strategy"},
       "NAMES",
       "expanders, asked one after the other (default least-waste): random, most-pods, "
       "least-waste, "
       "least-nodes, priority",
       SetStrategy},
      {{"listen", "address"},
       "HOST:PORT",
       "where to listen: host:port, :port for every interface, unix:/path (default :7000)",
       SetText<&ExpanderOptions::listen>},
      {{"port"}, "PORT", "the same as --listen=:PORT", SetPort},
      {{"cert", "cert-path"},
       "FILE",
       "PEM certificate of this server with its chain",
       SetText<&ExpanderOptions::cert_file>},
      {{"key", "key-path"},
       "FILE",
       "PEM key of that certificate",
       SetText<&ExpanderOptions::key_file>},
      {{"ca"},
       "FILE",
       "PEM bundle: only clients with a certificate of these authorities may ask (Cluster "
       "Autoscaler's own client has none)",
       SetText<&ExpanderOptions::ca_file>},
      {{"insecure"}, "", "allow plaintext, on a loopback address only", SetInsecure},
      {{"priority-file"},
       "FILE",
       "priorities for the strategy priority, as in the key `priorities` of its ConfigMap; read "
       "again when it changes",
       SetText<&ExpanderOptions::priority_file>},
      {{"metrics-addr"},
       "HOST:PORT",
       "address of /metrics, /healthz and /readyz (default: none)",
       SetText<&ExpanderOptions::metrics_addr>},
      {{"max-connection-age"},
       "TIME",
       "a client is told to connect again after this time, a tenth more or less; 0s: never "
       "(default 1h)",
       SetConnectionAge},
      {{"v"}, "N", "log verbosity; 5 and above logs every call", SetVerbosity},
      {{"help", "h"}, "", "this text", SetHelp},
  };
  return table;
}

const ExpanderFlag* Find(const std::string& name) {
  for (const ExpanderFlag& flag : Table()) {
    if (std::ranges::find(flag.names, name) != flag.names.end()) return &flag;
  }
  return nullptr;
}

Status Unknown(const std::string& argument, const std::string& name) {
  std::vector<std::string> names;
  for (const ExpanderFlag& flag : Table())
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  std::string text = "there is no flag " + argument;
  if (const std::string nearest = Nearest(name, names); !nearest.empty())
    text += "; did you mean --" + nearest + "?";
  return InvalidArgument(text + " (coppice expander --help lists them)");
}

// What can be told from the flags alone.
Status Check(const ExpanderOptions& options) {
  if (options.cert_file.empty() != options.key_file.empty()) {
    return InvalidArgument(options.key_file.empty()
                               ? "--cert needs --key, the key of the certificate"
                               : "--key needs --cert, the certificate of the key");
  }
  if (!options.ca_file.empty() && options.cert_file.empty())
    return InvalidArgument("--ca asks clients for certificates, which needs --cert and --key");
  const auto asks_for = [&options](std::string_view name) {
    return std::ranges::find(options.strategy, name) != options.strategy.end();
  };
  if (asks_for("price")) {
    return InvalidArgument(
        "--strategy=price needs prices, which the protocol does not carry; put price into the "
        "autoscaler's own --expander");
  }
  if (asks_for("grpc") || asks_for("externalgrpc"))
    return InvalidArgument("--strategy=grpc would ask yet another expander; name that one instead");
  if (asks_for("priority") && options.priority_file.empty()) {
    return InvalidArgument(
        "--strategy=priority needs --priority-file: the ConfigMap that the autoscaler would read "
        "is "
        "not here");
  }
  if (!asks_for("priority") && !options.priority_file.empty())
    return InvalidArgument("--priority-file has no use without --strategy=priority");
  return Status::Ok();
}

}  // namespace

Result<ExpanderOptions> ParseExpanderFlags(const std::vector<std::string>& args) {
  ExpanderOptions options;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& argument = args[i];
    const size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with('-') ? 1 : 0;
    if (dashes == 0 || argument.size() == dashes)
      return InvalidArgument("'" + argument + "' is no flag (coppice expander --help lists them)");
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(dashes, equals - dashes);
    const ExpanderFlag* flag = Find(name);
    if (flag == nullptr) return Unknown(argument, name);
    std::string value = "true";
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!flag->value.empty()) {
      if (++i == args.size()) return InvalidArgument(argument + " needs a value");
      value = args[i];
    }
    TRY(flag->set(options, value).Context("--" + name));
  }
  if (!options.help) TRY(Check(options));
  return options;
}

std::string ExpanderHelp() {
  std::string text =
      "coppice expander: chooses among node groups for a Cluster Autoscaler that asks with\n"
      "--expander=grpc --grpc-expander-url=HOST:PORT --grpc-expander-cert=CA.pem\n\n";
  for (const ExpanderFlag& flag : Table()) {
    std::string left = "  --" + flag.names[0] + (flag.value.empty() ? "" : "=" + flag.value);
    left.resize(std::max<size_t>(left.size() + 1, 28), ' ');
    text += left + flag.help + "\n";
  }
  return text;
}

}  // namespace coppice::rpc
