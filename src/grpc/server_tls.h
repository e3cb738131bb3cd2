// The server's side of mutual TLS on OpenSSL: contexts that follow the certificate store, and who
// the client is. Internal to this module.

#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "grpc/credentials.h"

namespace coppice::grpc {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeSsl>;

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

// What OpenSSL last complained about on this thread; clears it.
std::string TlsError();

}  // namespace coppice::grpc
