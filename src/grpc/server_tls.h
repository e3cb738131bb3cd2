// The server's side of mutual TLS on OpenSSL: contexts that follow the certificate store, and who
// the client is; and what the client's side (client_tls.h) does alike. Internal to this module.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "grpc/credentials.h"
#include "grpc/openssl_parts.h"

namespace coppice::grpc {

// TLS 1.3 and nothing less, and how records are written and read.
void SetForBothEnds(SSL_CTX* tls);
// Our certificate, its chain and its key.
Status UseIdentity(SSL_CTX* tls, const TlsMaterial& material);

// TLS 1.3 only, a client certificate of the bundle's authorities required (with kIdentity none is
// asked for), HTTP/2 or nothing, no resumption: every connection proves itself anew.
Result<SslContextPtr> ServerContext(const TlsMaterial& material, TlsParts parts);

// The context of what the store holds now; made again when that changes.
class ServerContexts {
 public:
  explicit ServerContexts(std::shared_ptr<CertificateStore> store) : store_(std::move(store)) {}
  Result<SslPtr> NewConnection(int fd);

 private:
  const std::shared_ptr<CertificateStore> store_;
  std::shared_ptr<const TlsMaterial> material_;
  SslContextPtr context_;
};

// Subject alternative names of the verified client certificate, else its common name.
std::vector<std::string> ClientNames(const SSL* ssl);

}  // namespace coppice::grpc
