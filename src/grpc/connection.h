// One client's socket, with TLS or without, and the HTTP/2 session on it. Internal to this module;
// lives on the server's thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "grpc/http2_session.h"
#include "grpc/listen_socket.h"
#include "grpc/server_tls.h"

namespace coppice::grpc {

class Connection final : public Caller {
 public:
  Connection(Socket socket, SslPtr tls, const Routes& routes, const Clock& clock,
             Http2Session::StartWaiting start_waiting, SessionLimits limits);

  // The socket has bytes or room. False: it is over, close.
  bool OnReadable();
  bool Flush();
  // Once in a while: pings a silent client, gives up one that does not answer. False: close.
  bool OnTick();

  Http2Session& session() { return session_; }
  int fd() const { return socket_.fd(); }
  bool wants_to_write() const { return blocked_; }
  // More is decrypted than was handled; the socket will not tell.
  bool has_more() const { return has_more_; }
  // Why it is over, for the log; empty: the client went in peace.
  const std::string& problem() const { return problem_; }
  bool idle() const { return session_.calls() == 0 && pending_ == sent_; }

  std::vector<std::string> Names() const override { return names_; }
  std::string Address() const override { return address_; }

 private:
  enum class Progress { kSome, kBlocked, kClosed };
  bool Handshake();
  Progress Read(char* buffer, size_t size, size_t& got);
  Progress Write(const char* bytes, size_t size, size_t& put);
  Progress TlsOutcome(int result);

  Socket socket_;
  SslPtr tls_;
  const Clock& clock_;
  const std::string address_;
  std::vector<std::string> names_;
  Http2Session session_;
  std::string out_;
  size_t sent_ = 0;     // of out_
  size_t pending_ = 0;  // out_.size()
  bool handshaken_ = false;
  bool blocked_ = false;
  bool has_more_ = false;
  bool broken_ = false;  // send what is there, then close
  bool pinged_ = false;
  TimePoint heard_;  // last bytes from the client
  TimePoint moved_;  // last bytes to it, or nothing to send
  std::string problem_;
};

}  // namespace coppice::grpc
