// `coppice extender`: the reference server of the batch scheduler's HTTP extender.

#include <cstdio>
#include <string_view>

#include "app/commands/commands.h"
#include "host/stop_signals.h"
#include "net/http_server.h"
#include "net/url.h"
#include "plugins/batch/extender/reference_server.h"

namespace coppice::app {
namespace {

constexpr std::string_view kExtenderHelp =
    "coppice extender [--listen=HOST:PORT] [--tls-cert=FILE --tls-key=FILE]\n"
    "\n"
    "Answers every verb of the HTTP extender until SIGTERM or SIGINT: best-effort pods keep off\n"
    "crowded nodes, everything else is permitted. docs/extending/extender.md has the protocol.\n"
    "\n"
    "  --listen=HOST:PORT  default 127.0.0.1:8713; port 0 is any\n"
    "  --tls-cert, --tls-key  PEM files; together: TLS 1.3\n";

Result<net::HttpServerOptions> ParseExtenderFlags(const std::vector<std::string>& args) {
  net::HttpServerOptions options{.port = 8713};
  // A scheduler may show a whole cluster at once.
  options.max_body_bytes = size_t{1} << 30;
  options.max_held_bytes = size_t{2} << 30;
  for (const std::string& arg : args) {
    const size_t equals = arg.find('=');
    const std::string_view name = std::string_view(arg).substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    if (name == "--listen") {
      const auto address = TRY(net::ParseHostPort(value));
      options.host = address.host;
      options.port = address.port;
    } else if (name == "--tls-cert") {
      options.tls_cert_file = value;
    } else if (name == "--tls-key") {
      options.tls_key_file = value;
    } else {
      return InvalidArgument("unknown argument " + arg + "; --help lists them");
    }
  }
  return options;
}

}  // namespace

int RunExtender(const std::vector<std::string>& args, Plugins&) {
  for (const std::string& arg : args) {
    if (arg == "--help" || arg == "-h") {
      std::fwrite(kExtenderHelp.data(), 1, kExtenderHelp.size(), stdout);
      return 0;
    }
  }
  const auto options = ParseExtenderFlags(args);
  if (!options.ok()) {
    std::fprintf(stderr, "coppice extender: %s\n", options.status().message().c_str());
    return 2;
  }
  const host::StopSignals signals({SIGTERM, SIGINT});
  const auto server = net::HttpServer::Create(*options, batch::extender::AnswerAsReference);
  if (!server.ok()) {
    std::fprintf(stderr, "coppice extender: %s\n", server.status().message().c_str());
    return 1;
  }
  std::printf("listening on port %u\n", unsigned{(*server)->port()});
  std::fflush(stdout);
  while (signals.Wait(std::chrono::seconds(1)) != host::Signal::kStop) {
  }
  (*server)->Stop();
  return 0;
}

}  // namespace coppice::app
