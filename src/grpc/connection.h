// One client's socket, with TLS or without, and the HTTP/2 session on it. Internal to this module;
// lives on the server's thread.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "grpc/http2_session.h"
#include "grpc/listen_socket.h"
#include "grpc/server_tls.h"
#include "grpc/wire.h"

namespace coppice::grpc {

// What a connection is allowed beside the limits of its session.
struct ConnectionTerms {
  Duration max_age = Duration::zero();    // then it is told to go; zero: never
  Duration age_grace = Duration::zero();  // and after that is cut
  // Names of certificates, one of which the client must have; null or empty: any.
  const std::set<std::string>* allowed_clients = nullptr;
};

class Connection final : public Caller {
 public:
  // What the server lends to every connection; all of it outlives them.
  struct Parts {
    const Routes& routes;
    const Clock& clock;
    ServerLoad& load;
    Http2Session::StartWaiting start_waiting;
  };
  Connection(Socket socket, SslPtr tls, Parts parts, SessionLimits limits, ConnectionTerms terms);

  // The socket has bytes or room. False: it is over, close. Who does not read what we send is not
  // read either.
  bool OnReadable();
  bool Flush();
  // About once a second: pings a silent client, gives up one that does not answer, tells an old one
  // to go. False: close.
  bool OnTick();

  Http2Session& session() { return session_; }
  int fd() const { return wire_.fd(); }
  bool wants_to_write() const { return blocked_; }
  // More is decrypted than was handled; the socket will not tell.
  bool has_more() const { return has_more_ && !blocked_; }
  // Why it is over, for the log; empty: the client went in peace.
  const std::string& problem() const { return problem_; }
  bool handshaken() const { return handshaken_; }
  // Nothing would be lost by closing it.
  bool idle() const {
    return !handshaken_ || (session_.calls() == 0 && pending_ == sent_ && !session_.going_away());
  }

  std::vector<std::string> Names() const override { return names_; }
  std::string Address() const override { return address_; }

 private:
  bool Handshake();
  void CheckName();
  bool TooOld(TimePoint now);
  void NoteProblem();

  Wire wire_;
  const Clock& clock_;
  ServerLoad& load_;
  const ConnectionTerms terms_;
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
  const TimePoint born_;
  bool told_to_go_ = false;
  TimePoint heard_;  // last bytes from the client
  TimePoint moved_;  // last bytes to it, or nothing to send
  std::string problem_;
};

}  // namespace coppice::grpc
