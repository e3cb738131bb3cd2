#include "rpc/expander_flags.h"

#include <algorithm>

#include "base/strings.h"
#include "grpc/server.h"

namespace coppice::rpc {

// `--port`, `--cert-path` and `--key-path` are those of upstream's example server.
void AddExpanderFlags(FlagSet& set, ExpanderOptions& options) {
  set.Add("strategy", "list", Join(options.strategy, ","),
          "Expanders, asked one after the other; those that are linked in, but price and grpc.",
          [&options](std::string_view text) {
            options.strategy.clear();
            for (const std::string& name : Split(text, ','))
              options.strategy.emplace_back(Trim(name));
            return Status::Ok();
          });
  set.AddString("listen", options.listen,
                "Where to listen: host:port, :port for every interface, unix:/path.");
  set.Alias("address", "listen");
  set.Add("port", "int", "", "The same as --listen=:PORT.",
          [&options](std::string_view text) -> Status {
            options.listen = ":" + std::to_string(TRY(FlagNumber<int>(text, {0, 65'535})));
            return Status::Ok();
          });
  set.AddString("cert", options.cert_file, "PEM certificate of this server with its chain.");
  set.Alias("cert-path", "cert");
  set.AddString("key", options.key_file, "PEM key of that certificate.");
  set.Alias("key-path", "key");
  set.AddString("ca", options.ca_file,
                "PEM bundle: only clients with a certificate of these authorities may ask (Cluster "
                "Autoscaler's own client has none).");
  set.AddBool("insecure", options.insecure, "Allow plaintext, on a loopback address only.");
  set.AddString("priority-file", options.priority_file,
                "Priorities for the strategy priority, as in the key `priorities` of its "
                "ConfigMap; read again when it changes.");
  set.AddString("metrics-addr", options.metrics_addr,
                "Address of /metrics, /healthz and /readyz; empty: none.");
  set.AddDuration("max-connection-age", options.max_connection_age,
                  "A client is told to connect again after this time, a tenth more or less; 0s: "
                  "never.");
  AddLogFlags(set, options.log);
}

Status CheckExpanderFlags(const ExpanderOptions& options) {
  if (options.cert_file.empty() != options.key_file.empty()) {
    return InvalidArgument(options.key_file.empty()
                               ? "--cert needs --key, the key of the certificate"
                               : "--key needs --cert, the certificate of the key");
  }
  if (!options.ca_file.empty() && options.cert_file.empty())
    return InvalidArgument("--ca asks clients for certificates, which needs --cert and --key");
  // Whether it is an address at all. What may be served there is judged at the start.
  const Status address =
      grpc::CheckListen(options.listen, !options.cert_file.empty(), options.insecure);
  if (address.code() == Code::kInvalidArgument) return InvalidArgument("--" + address.message());
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
        "is not here");
  }
  if (!asks_for("priority") && !options.priority_file.empty())
    return InvalidArgument("--priority-file has no use without --strategy=priority");
  return CheckLogFlags(options.log);
}

Result<ExpanderOptions> ParseExpanderFlags(const std::vector<std::string>& args) {
  ExpanderOptions options;
  FlagSet set;
  AddExpanderFlags(set, options);
  TRY(set.Parse(args));
  TRY(CheckExpanderFlags(options));
  return options;
}

}  // namespace coppice::rpc
