// Where a server may listen without TLS.

#include <algorithm>

#include "grpc/listen_socket.h"
#include "grpc/server.h"

namespace coppice::grpc {
namespace {

bool IsLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

}  // namespace

Status CheckListen(const ServerOptions& options) {
  return CheckListen(options.listen, options.certificates != nullptr, options.insecure);
}

Status CheckListen(const std::string& listen, bool tls, bool insecure) {
  if (IsUnixAddress(listen)) {
    if (tls) {
      return InvalidArgument("listen: " + listen +
                             " is a Unix socket, which needs no tls block; remove it");
    }
    return Status::Ok();
  }
  const size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(port) > 65'535) {
    return InvalidArgument("listen: '" + listen + "' is not host:port, :port or unix:/path");
  }
  if (tls) return Status::Ok();
  if (!IsLoopback(listen)) {
    return FailedPrecondition(
        "listen: " + listen +
        " would serve without TLS on the network, where anybody could delete machines; add a "
        "tls block (certFile, keyFile, caFile), or listen on unix:/path");
  }
  if (!insecure) {
    return FailedPrecondition("listen: " + listen +
                              " has no tls block; plaintext on loopback needs the flag --insecure");
  }
  return Status::Ok();
}

}  // namespace coppice::grpc
