// A small HTTP/1.1 server for tests, with a thread per connection and the socket in our own hands.
//
// net/http_server answers properly; an emulator must also be able to misbehave: to act and never
// answer, to close in the middle, to keep one caller waiting while it serves another. Loopback
// only; not for production.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::emulator {

struct Request {
  std::string method;
  std::string path;                                          // decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;    // decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  const std::string* Header(std::string_view name) const;
};

struct Response {
  enum class Ending {
    kAnswer,    // as it should be
    kClose,     // the connection is closed without a byte
    kHang,      // nothing until the caller gives up
    kTruncate,  // the headers promise the whole body, half of it comes
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  Duration delay{};  // waited for before anything is sent
  Ending ending = Ending::kAnswer;
};

// Splits "/a%20b?x=y" into path and query.
void ParseTarget(std::string_view target, Request& request);

class WireServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  // Port 0: any free one. The handler is called from many threads.
  static Result<std::unique_ptr<WireServer>> Start(const std::string& address, int port,
                                                   Clock& clock, Handler handler);
  ~WireServer();  // cuts every connection
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  int port() const;
  std::string url() const;  // "http://127.0.0.1:12345"
  int connections() const;  // accepted so far

 private:
  struct State;
  explicit WireServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coppice::emulator
