#include "rpc/expander_host.h"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "expand/chain.h"
#include "grpc/expiry_watch.h"
#include "grpc/interceptors.h"
#include "grpc/server.h"
#include "net/http_server.h"
#include "net/status_server.h"
#include "rpc/expander_messages.h"
#include "rpc/expander_server.h"
#include "rpc/priority_file.h"

namespace coppice::rpc {
namespace {

// A question may be 128 MiB and is held twice while it is read: few at a time. An autoscaler asks
// one after the other.
constexpr size_t kParallelCalls = 2;
constexpr size_t kQueuedCalls = 16;
constexpr Duration kStopCalls = std::chrono::seconds(10);

Result<std::shared_ptr<grpc::CertificateStore>> Certificates(const ExpanderOptions& options,
                                                             const Log& log) {
  if (options.cert_file.empty()) return std::shared_ptr<grpc::CertificateStore>();
  return grpc::CertificateStore::Open(
      {.cert_file = options.cert_file,
       .key_file = options.key_file,
       .ca_file = options.ca_file,
       .parts = options.ca_file.empty() ? grpc::TlsParts::kIdentity : grpc::TlsParts::kMutual},
      log);
}

// The server's own rule, in the words of our flags.
Status CheckAddress(const grpc::ServerOptions& server) {
  Status checked = grpc::CheckListen(server);
  if (checked.code() != Code::kFailedPrecondition) return checked;
  return FailedPrecondition("--listen=" + server.listen +
                            " would serve without TLS; give --cert and --key, or listen on "
                            "unix:/path, or, to try it out, "
                            "on 127.0.0.1 with --insecure");
}

}  // namespace

struct ExpanderHost::State {
  State(ExpanderOptions o, const ExpanderHostContext& c) : options(std::move(o)), context(c) {}

  ExpanderOptions options;
  ExpanderHostContext context;
  std::unique_ptr<PriorityFile> priorities;
  std::unique_ptr<expand::Chain> chain;
  std::shared_ptr<grpc::CertificateStore> certificates;
  std::optional<grpc::ExpiryWatch> expiry;
  std::unique_ptr<Pool> workers;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<net::HttpServer> http;
  std::atomic<bool> serving = false;

  Status Open();
};

Status ExpanderHost::State::Open() {
  if (!options.priority_file.empty())
    priorities = TRY(PriorityFile::Open(options.priority_file, context.log));
  const expand::ExpanderContext expander{
      .clock = context.clock, .rng = context.rng, .log = context.log, .metrics = context.metrics};
  chain = std::make_unique<expand::Chain>(TRY(
      expand::Chain::Create(options.strategy, context.expanders, expander).Context("--strategy")));
  certificates = TRY(Certificates(options, context.log));
  const grpc::ServerOptions server_options{.listen = options.listen,
                                           .certificates = certificates,
                                           .insecure = options.insecure,
                                           .max_message_bytes = kExpanderMessageBytes,
                                           .max_connection_age = options.max_connection_age,
                                           .metrics = &context.metrics,
                                           .metric_prefix = "coppice_expander_"};
  TRY(CheckAddress(server_options));
  ExpanderServerParts parts{.chain = *chain, .log = context.log};
  if (priorities != nullptr) {
    parts.config_map = [this](std::string_view, std::string_view) { return priorities->Text(); };
  }
  std::vector<grpc::Service> services;
  services.push_back(
      grpc::Intercept(ExpanderService(std::move(parts)), {.clock = context.clock,
                                                          .log = context.log,
                                                          .metrics = context.metrics,
                                                          .metric_prefix = "coppice_expander_"}));
  workers = std::make_unique<Pool>(kParallelCalls, kQueuedCalls);
  server = TRY(grpc::Server::Start(server_options, std::move(services), *workers, context.clock,
                                   context.log));
  http = TRY(net::ServeStatus(options.metrics_addr, context.metrics, context.log, [this] {
    return serving ? Status::Ok() : Unavailable("the expander is stopping");
  }));
  if (certificates != nullptr)
    expiry.emplace(certificates, context.clock, context.log, context.metrics, "coppice_expander_");
  server->SetServing(true);
  serving = true;
  return Status::Ok();
}

Result<std::unique_ptr<ExpanderHost>> ExpanderHost::Start(ExpanderOptions options,
                                                          const ExpanderHostContext& context) {
  std::unique_ptr<ExpanderHost> host(
      new ExpanderHost(std::make_unique<State>(std::move(options), context)));
  TRY(host->state_->Open());
  return host;
}

ExpanderHost::ExpanderHost(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExpanderHost::~ExpanderHost() { Stop(); }

void ExpanderHost::Tick() {
  if (state_->expiry) state_->expiry->Look();
}

void ExpanderHost::Reload() {
  state_->context.log.Info(
      "SIGHUP: certificates are read again, priorities with the next question; flags take effect "
      "after a restart only");
  Tick();
}

void ExpanderHost::Stop() {
  state_->serving = false;
  if (state_->server != nullptr) state_->server->Stop(kStopCalls);
  state_->server.reset();
  state_->http.reset();
}

int ExpanderHost::port() const { return state_->server->port(); }
uint16_t ExpanderHost::http_port() const {
  return state_->http != nullptr ? state_->http->port() : uint16_t{0};
}

}  // namespace coppice::rpc
