// The text of HTTP answers; private to http_server.cc, which keeps Beast for reading requests only.

#pragma once

#include <optional>
#include <string>

#include "net/http_server.h"

namespace coppice::net {

// Whether it can be sent: a line break in a header would let whoever chose its text write the rest
// of the answer.
bool WellFormed(const ServerResponse& response);

struct Framing {
  int minor_version = 1;  // of HTTP/1.x, as the request had it
  bool keep_alive = true;
  std::optional<size_t> content_length;  // none: a stream, chunked if the version knows that
};

// Status line and headers, with the empty line that ends them.
std::string FormatHead(const ServerResponse& response, const Framing& framing);

// One piece of a chunked stream; an empty one would end it.
std::string FormatChunk(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace coppice::net
