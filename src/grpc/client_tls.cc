#include "grpc/client_tls.h"

#include <arpa/inet.h>

#include <string_view>

#include "grpc/server_tls.h"

namespace coppice::grpc {
namespace {

bool IsIpAddress(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

Status Expect(SSL* ssl, const std::string& name) {
  if (IsIpAddress(name)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1) return Status::Ok();
  } else if (SSL_set1_host(ssl, name.c_str()) == 1 &&
             SSL_set_tlsext_host_name(ssl, name.c_str()) == 1) {
    return Status::Ok();
  }
  return InvalidArgument("'" + name + "' cannot be the name of a server");
}

}  // namespace

Result<SslPtr> NewClientTls(const TlsMaterial& material, const std::string& name, int fd) {
  const auto failed = [](const std::string& what) { return Internal(what + ": " + TlsError()); };
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return failed("no TLS context");
  SSL_CTX* tls = context.get();
  SetForBothEnds(tls);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  if (SSL_CTX_set_alpn_protos(tls, kHttp2, sizeof kHttp2) != 0) return failed("no ALPN");
  if (!material.cert.empty()) TRY(UseIdentity(tls, material));
  const Owned<BIO> bundle = Reader(material.ca);
  X509_STORE* store = SSL_CTX_get_cert_store(tls);
  while (const Owned<X509> authority = NextCertificate(bundle.get())) {
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return failed("an authority of the bundle cannot be used");
  }
  ERR_clear_error();         // the end of each file was reported as one
  SslPtr ssl(SSL_new(tls));  // keeps the context
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) return failed("no TLS connection");
  TRY(Expect(ssl.get(), name));
  SSL_set_connect_state(ssl.get());
  return ssl;
}

Status CheckProtocol(const SSL* tls) {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls, &chosen, &size);
  if (std::string_view(reinterpret_cast<const char*>(chosen), size) == "h2") return Status::Ok();
  return Unavailable("the server does not agree on HTTP/2 (ALPN)");
}

std::string HandshakeProblem(const SSL* tls, const std::string& problem) {
  const long verdict = SSL_get_verify_result(tls);
  if (verdict == X509_V_OK) return problem;
  return problem + " (" + X509_verify_cert_error_string(verdict) + ")";
}

}  // namespace coppice::grpc
