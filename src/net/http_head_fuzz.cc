// A connection's bytes as anybody may send them, parsed as the server does, request after request: whether they come in one piece or in
// pieces of a size that the first byte says, the requests are the same (who stands before us may cut them otherwise than we do); and what
// is taken for a request has one clear Host, a path below "/", no control characters in its headers, and is within the limits.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "net/http_session.h"

namespace coppice::net::http1 {
namespace {

struct Taken {
  std::vector<ServerRequest> requests;
  int refused = 0;  // the status of the refusal that ended it; -1: broken off; 0: none

  // How the rest is refused may differ: half a head is looked at sooner when it comes in pieces.
  friend bool operator==(const Taken& a, const Taken& b) {
    if ((a.refused == 0) != (b.refused == 0) || a.requests.size() != b.requests.size())
      return false;
    for (size_t i = 0; i < a.requests.size(); ++i) {
      const ServerRequest& x = a.requests[i];
      const ServerRequest& y = b.requests[i];
      if (x.method != y.method || x.path != y.path || x.query != y.query ||
          x.headers != y.headers || x.body != y.body)
        return false;
    }
    return true;
  }
};

// As Session::ServeOne does it, with `piece` bytes from each read.
class Reader {
 public:
  Reader(const HttpServerOptions& options, std::string_view bytes, size_t piece)
      : options_(options), bytes_(bytes), piece_(piece) {}

  Taken All() {
    Taken taken;
    while (taken.refused == 0 && (!unread_.empty() || !bytes_.empty())) {
      Parser parser;
      SetLimits(options_, parser);
      error_code problem = Until(parser, [&] { return parser.is_header_done(); });
      Result<ServerRequest> request = InvalidArgument("none");
      if (!problem) request = HeadOf(parser.get());
      if (!problem && request.ok()) {
        parser.eager(true);
        problem = Until(parser, [&] { return parser.is_done(); });
      }
      if (problem || !request.ok()) {
        // An end in the middle is nobody's request, and what is behind it nothing.
        taken.refused = problem == asio::error::eof ? -1 : problem ? StatusOfProblem(problem) : 400;
        break;
      }
      request->body = std::move(parser.get().body());
      taken.requests.push_back(*std::move(request));
      if (!parser.get().keep_alive()) break;
    }
    return taken;
  }

 private:
  template <class Done>
  error_code Until(Parser& parser, Done done) {
    while (!done()) {
      error_code problem;
      const bool wants_more = Feed(options_, parser, unread_, problem);
      if (problem || done()) return problem;
      if (!wants_more) continue;
      if (bytes_.empty()) return asio::error::eof;
      unread_.append(bytes_.substr(0, piece_));
      bytes_.remove_prefix(std::min(piece_, bytes_.size()));
    }
    return {};
  }

  const HttpServerOptions& options_;
  std::string_view bytes_;
  const size_t piece_;
  std::string unread_;
};

void Hold(const HttpServerOptions& options, const ServerRequest& request) {
  CHECK(request.path.starts_with('/'));
  CHECK(("/" + request.path + "/").find("/../") == std::string::npos);
  CHECK(request.body.size() <= options.max_body_bytes);
  size_t bytes = 0;
  int hosts = 0;
  for (const auto& [name, value] : request.headers) {
    bytes += name.size() + value.size();
    CHECK(!name.empty() && Lower(name) == name);
    CHECK(name.find_first_of(" \t\r\n:") == std::string::npos);
    CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    if (name == "host") ++hosts;
  }
  CHECK(hosts <= 1 && bytes <= options.max_header_bytes);
}

}  // namespace
}  // namespace coppice::net::http1

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::net;
  using namespace coppice::net::http1;
  if (size == 0) return 0;
  static const HttpServerOptions options{.max_header_bytes = 2'000, .max_body_bytes = 500};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Taken whole = Reader(options, bytes, bytes.size() + 1).All();
  const Taken pieces = Reader(options, bytes, 1 + data[0] % 64).All();
  CHECK(whole == pieces);
  for (const ServerRequest& request : whole.requests) Hold(options, request);
  return 0;
}
