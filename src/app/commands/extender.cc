// `coppice extender`: the reference server of the batch scheduler's HTTP extender.

#include <cstdio>
#include <string_view>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "host/stop_signals.h"
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
  const auto check = [&options] {
    return options.tls_cert_file.empty() == options.tls_key_file.empty()
               ? Status::Ok()
               : InvalidArgument("--tls-cert and --tls-key belong together");
  };
  if (const auto code = ReadCommandLine({"extender", kExtenderAbout}, flags, args, check))
    return *code;
  const host::StopSignals signals({SIGTERM, SIGINT});
  const auto server = net::HttpServer::Create(options, batch::extender::AnswerAsReference);
  if (!server.ok()) return Failed("extender", server.status());
  std::printf("listening on port %u\n", unsigned{(*server)->port()});
  std::fflush(stdout);
  while (signals.Wait(std::chrono::seconds(1)) != host::Signal::kStop) {
  }
  (*server)->Stop();
  return 0;
}

}  // namespace coppice::app
