#include "plugins/expanders/grpc/target.h"

namespace coppice::expanders::grpc {

Result<std::string> TargetOf(std::string_view url) {
  constexpr std::string_view kTls = "https://";
  if (url.empty()) {
    return InvalidArgument("--grpc-expander-url is not set; give the host:port of the expander");
  }
  if (url.starts_with("http://")) {
    return InvalidArgument("--grpc-expander-url=" + std::string(url) +
                           " asks for plaintext, which no expander is spoken to in; use https://");
  }
  if (!url.starts_with(kTls)) return std::string(url);
  std::string target(url.substr(kTls.size()));
  if (const size_t slash = target.find('/'); slash != std::string::npos) {
    if (slash + 1 != target.size()) {
      return InvalidArgument("--grpc-expander-url=" + std::string(url) +
                             " has a path; gRPC has its own, give https://host:port or host:port");
    }
    target.pop_back();
  }
  // Of an IPv6 address the colons stand inside brackets.
  const size_t colon = target.rfind(':');
  const size_t bracket = target.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  if (target.empty() || colon == 0) {
    return InvalidArgument("--grpc-expander-url=" + std::string(url) + " names no host");
  }
  return has_port ? target : target + ":443";
}

}  // namespace coppice::expanders::grpc
