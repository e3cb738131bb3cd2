#include "grpc/channel.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "grpc/client_connection.h"

namespace coppice::grpc {
namespace {

// How long a call waits for a server that is away before it says so. One that is being started
// anew is back within that time; who waits longer wants to know.
constexpr Duration kConnectPatience = std::chrono::milliseconds(500);
constexpr Duration kBetweenAttempts = std::chrono::milliseconds(50);

}  // namespace

struct Channel::State {
  ChannelOptions options;
  const Clock& clock;
  Mutex mutex;
  // What `connection` was made with.
  std::shared_ptr<const TlsMaterial> material COPPICE_GUARDED_BY(mutex);
  std::shared_ptr<ClientConnection> connection COPPICE_GUARDED_BY(mutex);

  State(ChannelOptions o, const Clock& c) : options(std::move(o)), clock(c) {}

  // Certificates are looked at before every call; a changed pair means a new connection, and the
  // old one ends with its last call.
  std::shared_ptr<ClientConnection> Connection() {
    auto current = options.certificates != nullptr ? options.certificates->Current() : nullptr;
    std::shared_ptr<ClientConnection> old;  // is waited for without the lock
    const MutexLock lock(mutex);
    if (connection != nullptr && current == material && connection->takes_calls())
      return connection;
    old = std::exchange(connection, std::make_shared<ClientConnection>(ClientConnection::Options{
                                        .address = options.address,
                                        .server_name = options.server_name,
                                        .material = current,
                                        .max_message_bytes = options.max_message_bytes}));
    material = std::move(current);
    return connection;
  }
};

Channel::Channel(ChannelOptions options, const Clock& clock)
    : state_(std::make_unique<State>(std::move(options), clock)) {}
Channel::~Channel() = default;

Result<std::string> Channel::Call(const std::string& method, std::string_view request,
                                  Deadline deadline) {
  const ChannelOptions& options = state_->options;
  if (request.size() > options.max_send_bytes) {
    return ResourceExhausted("Sent message larger than max (" + std::to_string(request.size()) +
                             " vs. " + std::to_string(options.max_send_bytes) + ")");
  }
  using Real = std::chrono::steady_clock;
  const auto start = Real::now();
  const bool ends = deadline.at != TimePoint::max();
  const Duration time = ends ? deadline.Left(state_->clock) : Duration::max();
  for (;;) {
    const Duration passed = Real::now() - start;
    if (passed >= time)
      return DeadlineExceeded("the time for " + method + " is over before it was sent");
    const std::optional<Duration> left = ends ? std::optional(time - passed) : std::nullopt;
    CallEnd end = state_->Connection()->Call(method, request, left);
    // Nothing has happened yet, so it can be asked again.
    if (!end.untouched || Real::now() - start >= kConnectPatience) return std::move(end.answer);
    std::this_thread::sleep_for(std::min(kBetweenAttempts, left.value_or(kBetweenAttempts)));
  }
}

}  // namespace coppice::grpc
