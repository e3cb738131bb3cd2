// The client's side of TLS on OpenSSL. Internal to this module.

#pragma once

#include <string>

#include "base/status.h"
#include "grpc/credentials.h"
#include "grpc/openssl_parts.h"

namespace coppice::grpc {

// A connection over `fd` that is about to begin its handshake: TLS 1.3 only, HTTP/2 or nothing, the
// server's certificate signed by an authority of the bundle and made out to `name` (a host's name
// or an IP address). Ours is shown if there is one. `material` is not needed afterwards.
Result<SslPtr> NewClientTls(const TlsMaterial& material, const std::string& name, int fd);

// After the handshake: that the server speaks HTTP/2.
Status CheckProtocol(const SSL* tls);

// Why it failed, with what is wrong with the server's certificate if that is why.
std::string HandshakeProblem(const SSL* tls, const std::string& problem);

}  // namespace coppice::grpc
