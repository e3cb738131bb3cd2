// `coppice extender`: the reference server of the batch scheduler's HTTP extender.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "host/stop_signals.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/url.h"
#include "plugins/batch/extender/reference_server.h"

namespace coppice::app {
namespace {

constexpr std::string_view kExtenderAbout =
    "coppice extender: the reference server of the batch scheduler's HTTP extender\n"
    "\n"
    "Answers every verb until SIGTERM or SIGINT: best-effort pods keep off crowded nodes, "
    "everything\n"
    "else is permitted. docs/extending/extender.md has the protocol.\n";

constexpr Duration kBindLimit = std::chrono::seconds(10);

// Through whoever speaks for us at that address: `kubectl proxy`.
Result<batch::extender::ReferenceServer::Bind> BindThrough(const std::string& api_server) {
  if (api_server.empty()) return batch::extender::ReferenceServer::Bind();
  static const SystemClock kClock;
  std::shared_ptr<net::HttpClient> client =
      TRY(net::MakeHttpClient({.request_timeout = kBindLimit}, kClock));
  return batch::extender::ReferenceServer::Bind(
      [client, api_server](const batch::extender::ReferenceServer::Binding& binding) -> Status {
        net::HttpRequest request{.method = "POST",
                                 .url = api_server + "/api/v1/namespaces/" + binding.namespace_ +
                                        "/pods/" + binding.pod + "/binding"};
        request.headers.emplace_back("Content-Type", "application/json");
        request.body =
            nlohmann::json{
                {"apiVersion", "v1"},
                {"kind", "Binding"},
                {"metadata", {{"name", binding.pod}, {"uid", binding.uid}}},
                {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", binding.node}}}}
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        const auto answer = TRY(client->Send(request, Deadline::In(kClock, kBindLimit)));
        if (answer.Success()) return Status::Ok();
        return FailedPrecondition("the API server answered " + std::to_string(answer.status) +
                                  ": " + answer.body.substr(0, 500));
      });
}

}  // namespace

int RunExtender(const std::vector<std::string>& args, Plugins&) {
  net::HttpServerOptions options{.port = 8713};
  // A scheduler may show a whole cluster at once.
  options.max_body_bytes = size_t{1} << 30;
  options.max_held_bytes = size_t{2} << 30;
  FlagSet flags;
  flags.Add("listen", "string", "127.0.0.1:8713", "host:port; port 0 is any.",
            [&options](std::string_view text) -> Status {
              const auto address = TRY(net::ParseHostPort(std::string(text)));
              options.host = address.host;
              options.port = address.port;
              return Status::Ok();
            });
  flags.AddString("tls-cert", options.tls_cert_file, "PEM certificate; with --tls-key: TLS 1.3.");
  flags.AddString("tls-key", options.tls_key_file, "PEM key of that certificate.");
  std::string api_server;
  flags.AddString(
      "api-server", api_server,
      "Where to bind pods, for the verb bind: an address that needs no credentials, such "
      "as kubectl proxy's http://127.0.0.1:8001.");
  const auto check = [&options] {
    return options.tls_cert_file.empty() == options.tls_key_file.empty()
               ? Status::Ok()
               : InvalidArgument("--tls-cert and --tls-key belong together");
  };
  if (const auto code = ReadCommandLine({"extender", kExtenderAbout}, flags, args, check))
    return *code;
  const host::StopSignals signals({SIGTERM, SIGINT});
  const SystemClock clock;
  const Log log = LogToStderr(LogFlags{}, clock);
  options.log = log;
  auto bind = BindThrough(api_server);
  if (!bind.ok()) return Failed("extender", bind.status());
  batch::extender::ReferenceServer reference(std::move(*bind));
  uint64_t answered = 0;  // on the server's one thread
  const auto server = net::HttpServer::Create(options, [&](const net::ServerRequest& request) {
    ++answered;
    return reference.Answer(request);
  });
  if (!server.ok()) return Failed("extender", server.status());
  std::printf("listening on port %u\n", unsigned{(*server)->port()});
  std::fflush(stdout);
  for (;;) {
    const host::Signal signal = signals.Wait(std::chrono::seconds(1));
    if (signal == host::Signal::kStop) break;
    if (signal == host::Signal::kReload)
      log.Info("SIGHUP: certificates are looked at with each connection; flags need a restart");
  }
  (*server)->Stop();
  std::printf("answered %llu requests\n", static_cast<unsigned long long>(answered));
  return 0;
}

}  // namespace coppice::app
