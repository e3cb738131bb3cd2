#include "net/http_message.h"

#include <fmt/format.h>

#include <algorithm>

namespace coppice::net {

namespace {

// Nobody reads them but people, so an unknown one may be empty.
std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

}  // namespace

bool WellFormed(const ServerResponse& response) {
  const auto one_line = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
  };
  return response.status >= 200 && response.status <= 599 && one_line(response.content_type) &&
         std::ranges::all_of(response.headers, [&](const auto& header) {
           return !header.first.empty() && header.first.find(':') == std::string::npos &&
                  one_line(header.first) && one_line(header.second);
         });
}

std::string FormatHead(const ServerResponse& response, const Framing& framing) {
  std::string head = fmt::format("HTTP/1.{} {} {}\r\nContent-Type: {}\r\n", framing.minor_version,
                                 response.status, Reason(response.status), response.content_type);
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  const bool keeps_by_default = framing.minor_version == 1;
  if (framing.keep_alive != keeps_by_default) {
    head += framing.keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  }
  if (!framing.content_length) {
    if (framing.minor_version == 1) head += "Transfer-Encoding: chunked\r\n";
  } else if (response.status != 204 && response.status != 304) {
    head += fmt::format("Content-Length: {}\r\n", *framing.content_length);
  }
  head += "\r\n";
  return head;
}

std::string FormatChunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace coppice::net
