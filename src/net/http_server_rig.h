// What the tests of the HTTP server stand on.

#pragma once

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_server.h"
#include "test/support/must.h"

namespace coppice::net {

// A client that sends just the bytes it is told: a proper one could not be rude enough.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 20};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  int fd() const { return socket_; }
  void Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Until the text has come, or the end.
  std::string ReadUntil(std::string_view text) {
    char buffer[4096];
    while (text.empty() || seen_.find(text) == std::string::npos) {
      const ssize_t length = ::recv(socket_, buffer, sizeof(buffer), 0);
      if (length <= 0) break;
      seen_.append(buffer, static_cast<size_t>(length));
    }
    return std::exchange(seen_, {});
  }
  std::string ReadAll() { return ReadUntil(""); }

 private:
  int socket_;
  bool connected_ = false;
  std::string seen_;
};

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServer::Handler handler, HttpServerOptions options = {}) {
    server_ = MUST(HttpServer::Create(std::move(options), std::move(handler)));
  }
  std::string Exchange(std::string_view bytes) const {
    RawClient client(server_->port());
    client.Send(bytes);
    return client.ReadAll();
  }

  std::unique_ptr<HttpServer> server_;
};

inline ServerResponse Hello(const ServerRequest&) { return {.body = "hello\n"}; }

// Hands streams from the server's thread to the test's.
class StreamBox {
 public:
  ServerResponse Answer() {
    return {.content_type = "text/event-stream", .stream = [this](auto stream) {
              const std::lock_guard lock(mutex_);
              stream_ = std::move(stream);
              wake_.notify_all();
            }};
  }
  std::shared_ptr<ServerStream> Take() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stream_ != nullptr; });
    return std::exchange(stream_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<ServerStream> stream_;
};

}  // namespace coppice::net
