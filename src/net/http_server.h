// HttpServer: HTTP/1.1 on one thread, for metrics, health, the dashboard and its event stream.
//
// The handler runs on that thread, one request at a time, so it must be quick and must not block:
// it looks things up and returns. An answer may be a stream (server-sent events): its writer is
// then handed to `ServerResponse::stream`, and any thread may write to it until either side closes.
//
// Beast stays in the .cc, which alone costs twenty seconds to compile. Every limit has a default,
// because whoever can reach the port can send anything: header and body size, time for each, number
// of connections, backlog of a slow reader, and what all connections hold together. Whatever can be
// told from the header of a request is told before its body is read.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "net/url.h"

namespace coppice::net {

struct ServerRequest {
  std::string method;
  std::string path;                                          // decoded, dots resolved
  QueryItems query;                                          // decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer;  // address of the caller

  // The first of that name, or null. Header names in lower case.
  const std::string* Header(std::string_view name) const;
  const std::string* Query(std::string_view name) const;
};

// The server's end of a streamed answer. Any thread may call; it may outlive the server.
class ServerStream {
 public:
  virtual ~ServerStream() = default;
  // Sends `text` soon. False when the reader is gone, or so slow that it was given up: stop
  // writing.
  virtual bool Write(std::string_view text) = 0;
  // Ends the answer after what has been written.
  virtual void Close() = 0;
  // For answers of any size, at the reader's speed: `more` is asked for the next piece whenever
  // everything before it has been taken, and the answer ends when it appends nothing. Runs on the
  // server's thread, so that a piece is small (some milliseconds of work); is let go of when the
  // answer has ended or the reader has left.
  virtual void WriteFrom(std::function<void(std::string& piece)> more) = 0;
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // If set, there is no body; the function gets the stream when the header has gone out. It runs on
  // the server's thread; to go on writing, keep the pointer.
  std::function<void(std::shared_ptr<ServerStream>)> stream;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // "": every interface
  uint16_t port = 0;               // 0: any; port() tells which
  size_t max_header_bytes = 16 << 10;
  size_t max_body_bytes = 0;  // whose routes take none refuses a request for having one
  // Of requests and answers in progress, all connections together; what is more is refused (503).
  size_t max_held_bytes = 64 << 20;
  // When there are as many, the one that has been idle longest makes room for the next.
  size_t max_connections = 1'000;
  size_t max_streams = 1'000;           // streamed answers at once; more are refused (503)
  size_t max_stream_backlog = 1 << 20;  // bytes that a slow reader may leave unread
  Duration header_timeout = std::chrono::seconds(5);  // the whole header, from its first byte
  Duration body_timeout = std::chrono::seconds(30);
  Duration write_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);  // between two requests of a connection
  Duration stop_grace = std::chrono::seconds(5);     // for requests in flight when stopping
  // Both set: TLS, at least 1.3. PEM files, read again when they have changed; what cannot be used
  // then leaves the old ones in use.
  std::string tls_cert_file;
  std::string tls_key_file;
  // Set: only who has a certificate of one of these authorities gets in (mutual TLS). PEM.
  std::string tls_client_ca_file;
  Log log = Log::Null();
};

class HttpServer {
 public:
  using Handler = std::function<ServerResponse(const ServerRequest&)>;

  // Listens when it returns. Unavailable when the address cannot be had, with the system's reason.
  static Result<std::unique_ptr<HttpServer>> Create(HttpServerOptions options, Handler handler);

  // Stops as Stop() does.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  // Takes no more connections, closes idle ones and streams, lets requests in flight finish within
  // `stop_grace`, and returns when all is done. Not from the handler.
  void Stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coppice::net
