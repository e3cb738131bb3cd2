// The gRPC library's face of credentials.h. Only .cc files of this module and tests include it.

#pragma once

#include <memory>

#include "grpc/credentials.h"

namespace grpc {
class ServerCredentials;
}  // namespace grpc

namespace coppice::grpc {

// TLS 1.3 with a client certificate required and verified; asks `store` for the certificates at
// every handshake, so connections that exist are not touched by a rotation.
std::shared_ptr<::grpc::ServerCredentials> MutualTls(std::shared_ptr<CertificateStore> store);

}  // namespace coppice::grpc
