#include "grpc/channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <utility>

namespace coppice::grpc {

namespace {

// How long a call waits for a connection that is down before it is told so. On a channel whose last
// attempt failed calls end at once, and between calls the library looks at its sockets every five
// seconds only: then the handshake with a server that is back would take half a minute.
constexpr Duration kConnectPatience = std::chrono::milliseconds(500);

std::chrono::system_clock::time_point FromNow(Duration time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
}

}  // namespace

struct Channel::State {
  ChannelOptions options;
  const Clock* clock;
  std::mutex mutex;
  std::shared_ptr<const TlsMaterial> material;  // what `channel` was made with
  std::shared_ptr<::grpc::Channel> channel;

  // Certificates are looked at before every call; a changed pair means a new channel, and the old
  // one ends with its last call.
  std::shared_ptr<::grpc::Channel> Connection() {
    auto current = options.certificates != nullptr ? options.certificates->Current() : nullptr;
    const std::lock_guard lock(mutex);
    if (channel != nullptr && current == material) return channel;
    ::grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    arguments.SetMaxSendMessageSize(
        options.max_send_bytes > INT_MAX ? -1 : static_cast<int>(options.max_send_bytes));
    // The library would let two minutes pass before it tries a server again that was away.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    // Otherwise channels to one address share a connection, and with it the old certificates.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
    std::shared_ptr<::grpc::ChannelCredentials> credentials = ::grpc::InsecureChannelCredentials();
    if (current != nullptr) {
      RequireTls13();
      credentials = ::grpc::SslCredentials({current->ca, current->key, current->cert});  // "": none
    }
    channel = ::grpc::CreateCustomChannel(options.address, credentials, arguments);
    material = std::move(current);
    return channel;
  }
};

Channel::Channel(ChannelOptions options, const Clock& clock) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  state_->clock = &clock;
}
Channel::~Channel() = default;

Result<std::string> Channel::Call(const std::string& method, std::string_view request,
                                  Deadline deadline) {
  const auto channel = state_->Connection();
  const bool ends = deadline.at != TimePoint::max();
  const Duration left = ends ? deadline.Left(*state_->clock) : Duration::max();
  const auto until = ends ? FromNow(left) : std::chrono::system_clock::time_point::max();
  if (channel->GetState(true) != GRPC_CHANNEL_READY) {
    (void)channel->WaitForConnected(FromNow(std::min(left, kConnectPatience)));
  }
  ::grpc::ClientContext context;
  if (ends) context.set_deadline(until);
  const ::grpc::Slice slice(request.data(), request.size());
  const ::grpc::ByteBuffer message(&slice, 1);
  ::grpc::ByteBuffer answer;
  const ::grpc::internal::RpcMethod rpc(method.c_str(), ::grpc::internal::RpcMethod::NORMAL_RPC);
  const ::grpc::Status status =
      ::grpc::internal::BlockingUnaryCall<::grpc::ByteBuffer, ::grpc::ByteBuffer,
                                          ::grpc::ByteBuffer, ::grpc::ByteBuffer>(
          channel.get(), rpc, &context, message, &answer);
  if (!status.ok()) return Status(static_cast<Code>(status.error_code()), status.error_message());
  std::vector<::grpc::Slice> slices;
  if (!answer.Dump(&slices).ok()) return Internal("the answer of " + method + " could not be read");
  std::string bytes;
  bytes.reserve(answer.Length());
  for (const auto& part : slices)
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return bytes;
}

}  // namespace coppice::grpc
