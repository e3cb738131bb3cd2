#include "grpc/server_tls.h"

#include <arpa/inet.h>

namespace coppice::grpc {
namespace {

int ChooseHttp2(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                unsigned int in_size, void*) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kHttp2, sizeof kHttp2, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::string Text(const ASN1_STRING* value) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
          static_cast<size_t>(ASN1_STRING_length(value))};
}

std::string NameOf(const GENERAL_NAME* name) {
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(name, &type);
  switch (type) {
    case GEN_DNS:
    case GEN_EMAIL:
    case GEN_URI:
      return Text(static_cast<const ASN1_STRING*>(value));
    case GEN_IPADD: {
      const std::string bytes = Text(static_cast<const ASN1_STRING*>(value));
      char text[INET6_ADDRSTRLEN] = {};
      inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
      return text;
    }
    default:
      return {};
  }
}

}  // namespace

void SetForBothEnds(SSL_CTX* tls) {
  SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(tls, 1);  // a record's header and body with one system call
}

Status UseIdentity(SSL_CTX* tls, const TlsMaterial& material) {
  const auto failed = [](const std::string& what) { return Internal(what + ": " + TlsError()); };
  const Owned<BIO> chain = Reader(material.cert);
  const Owned<X509> own = NextCertificate(chain.get());
  if (own == nullptr || SSL_CTX_use_certificate(tls, own.get()) != 1)
    return failed("the certificate cannot be used");
  while (const Owned<X509> next = NextCertificate(chain.get())) {
    if (SSL_CTX_add1_chain_cert(tls, next.get()) != 1)
      return failed("the certificate's chain cannot be used");
  }
  const Owned<EVP_PKEY> key = ReadKey(material.key);
  if (key == nullptr || SSL_CTX_use_PrivateKey(tls, key.get()) != 1)
    return failed("the key cannot be used");
  return Status::Ok();
}

Result<SslContextPtr> ServerContext(const TlsMaterial& material, TlsParts parts) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  const auto failed = [](const std::string& what) { return Internal(what + ": " + TlsError()); };
  if (context == nullptr) return failed("no TLS context");
  SSL_CTX* tls = context.get();
  SetForBothEnds(tls);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(tls, 0);
  SSL_CTX_set_alpn_select_cb(tls, &ChooseHttp2, nullptr);
  const int verify = parts == TlsParts::kIdentity
                         ? SSL_VERIFY_NONE
                         : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(tls, verify, nullptr);
  TRY(UseIdentity(tls, material));

  const Owned<BIO> bundle = Reader(material.ca);
  X509_STORE* store = SSL_CTX_get_cert_store(tls);
  while (const Owned<X509> authority = NextCertificate(bundle.get())) {
    if (X509_STORE_add_cert(store, authority.get()) != 1 ||
        SSL_CTX_add_client_CA(tls, authority.get()) != 1)
      return failed("an authority of the bundle cannot be used");
  }
  ERR_clear_error();  // the end of each file was reported as one
  return context;
}

Result<SslPtr> ServerContexts::NewConnection(int fd) {
  const auto current = store_->Current();
  if (current != material_) {
    context_ = TRY(ServerContext(*current, store_->files().parts));
    material_ = current;
  }
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1)
    return Internal("no TLS connection: " + TlsError());
  SSL_set_accept_state(ssl.get());
  return ssl;
}

std::vector<std::string> ClientNames(const SSL* ssl) {
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  std::vector<std::string> names;
  const Owned<GENERAL_NAMES> alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    std::string name = NameOf(sk_GENERAL_NAME_value(alternatives.get(), i));
    if (!name.empty()) names.push_back(std::move(name));
  }
  if (!names.empty()) return names;  // the common name is only the fallback, as everywhere in TLS
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
    names.push_back(Text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  return names;
}

}  // namespace coppice::grpc
