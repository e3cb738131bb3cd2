// The client's end: one connection to a gRPC server, unary calls over bytes.
//
// With certificates the channel follows their rotation: a call after a change goes over a new
// connection.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "grpc/credentials.h"

namespace coppice::grpc {

struct ChannelOptions {
  std::string address;                             // "host:port" or "unix:/path"
  std::shared_ptr<CertificateStore> certificates;  // null: plaintext
  std::string server_name;  // what the server's certificate must say; "": the host in `address`
  size_t max_message_bytes = 64UL << 20;  // of an answer
  // Of a request. Some protocols leave that limit to the server: SIZE_MAX is none.
  size_t max_send_bytes = 64UL << 20;
};

class Channel {
 public:
  // Does not connect yet; a server that is not there shows at the first call. `clock` outlives the
  // channel.
  Channel(ChannelOptions options, const Clock& clock);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The serialised answer, or the server's status. `method` is "/package.Service/Method". Any
  // thread.
  Result<std::string> Call(const std::string& method, std::string_view request, Deadline deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::grpc
