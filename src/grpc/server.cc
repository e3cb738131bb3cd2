#include "grpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "grpc/raw_service.h"
#include "grpc/server_credentials.h"

namespace coppice::grpc {
namespace {

bool IsUnix(const std::string& listen) { return listen.rfind("unix:", 0) == 0; }

bool IsLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

// ":8086" is Go's way of saying every interface.
std::string ToGrpcAddress(const std::string& listen) {
  return listen.rfind(':', 0) == 0 ? "[::]" + listen : listen;
}

void Configure(::grpc::ServerBuilder& builder, const ServerOptions& options) {
  const int limit = static_cast<int>(options.max_message_bytes);
  builder.SetMaxReceiveMessageSize(limit);
  builder.SetMaxSendMessageSize(limit);
  // A client whose machine vanished is noticed within 40 s; a client that pings every 5 s is not
  // sent away.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // Two providers on one port would each answer half of the calls, from different snapshots.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

Status CheckListen(const ServerOptions& options) {
  const std::string& listen = options.listen;
  if (IsUnix(listen)) {
    if (options.certificates != nullptr) {
      return InvalidArgument("listen: " + listen +
                             " is a Unix socket, which needs no tls block; remove it");
    }
    return Status::Ok();
  }
  const size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(port) > 65'535) {
    return InvalidArgument("listen: '" + listen + "' is not host:port, :port or unix:/path");
  }
  if (options.certificates != nullptr) return Status::Ok();
  if (!IsLoopback(listen)) {
    return FailedPrecondition(
        "listen: " + listen +
        " would serve without TLS on the network, where anybody could delete machines; add a "
        "tls block (certFile, keyFile, caFile), or listen on unix:/path");
  }
  if (!options.insecure) {
    return FailedPrecondition("listen: " + listen +
                              " has no tls block; plaintext on loopback needs the flag --insecure");
  }
  return Status::Ok();
}

struct Server::State {
  ServerOptions options;
  std::shared_ptr<::grpc::ServerCredentials>
      credentials;  // asked at every handshake: outlive the server
  std::vector<std::unique_ptr<RawService>> services;
  std::unique_ptr<::grpc::ServerCompletionQueue> queue;
  std::unique_ptr<::grpc::Server> server;
  std::vector<std::thread> threads;
  int port = 0;
  bool stopped = false;

  void SetServing(bool serving) {
    auto* health = server->GetHealthCheckService();
    health->SetServingStatus("", serving);
    for (const auto& service : services) health->SetServingStatus(service->name(), serving);
  }
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { Stop(Duration::zero()); }

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, std::vector<Service> services,
                                              Workers& workers, const Clock& clock,
                                              const Log& log) {
  TRY(CheckListen(options));
  ::grpc::EnableDefaultHealthCheckService(true);
  ::grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  auto state = std::make_unique<State>();
  ::grpc::ServerBuilder builder;
  Configure(builder, options);
  state->credentials = options.certificates != nullptr ? MutualTls(options.certificates)
                                                       : ::grpc::InsecureServerCredentials();
  builder.AddListeningPort(ToGrpcAddress(options.listen), state->credentials, &state->port);
  for (Service& service : services) {
    state->services.push_back(std::make_unique<RawService>(std::move(service), workers, clock));
    builder.RegisterService(state->services.back().get());
  }
  state->queue = builder.AddCompletionQueue();
  state->server = builder.BuildAndStart();
  if (state->server == nullptr) {
    state->queue->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (state->queue->Next(&tag, &ok)) {
    }
    return Unavailable("cannot listen on " + options.listen + "; is another process using it?");
  }
  if (IsUnix(options.listen)) state->port = 0;
  state->options = std::move(options);
  state->SetServing(false);
  for (const auto& service : state->services) service->Accept(*state->queue);
  for (int i = 0; i < state->options.wire_threads; ++i) {
    state->threads.emplace_back([queue = state->queue.get()] { RawService::Serve(*queue); });
  }
  log.Debug("gRPC server listens", {{"address", state->options.listen}, {"port", state->port}});
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

int Server::port() const { return state_->port; }

void Server::SetServing(bool serving) { state_->SetServing(serving); }

void Server::Stop(Duration grace) {
  if (state_->stopped) return;
  state_->stopped = true;
  state_->SetServing(false);
  state_->server->Shutdown(std::chrono::system_clock::now() +
                           std::chrono::duration_cast<std::chrono::system_clock::duration>(grace));
  for (const auto& service : state_->services) service->StopAccepting();
  // A worker that still runs a handler will put its answer on the queue: the queue must outlive it.
  for (const auto& service : state_->services) service->WaitForHandlers();
  state_->queue->Shutdown();
  for (std::thread& thread : state_->threads) thread.join();
  for (const auto& service : state_->services) service->Clear();
}

}  // namespace coppice::grpc
