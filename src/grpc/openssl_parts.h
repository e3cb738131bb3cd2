// What both users of OpenSSL here need: objects that free themselves, PEM text as they read it, and
// OpenSSL's own words. Internal to this module.

#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace coppice::grpc {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;
using SslPtr = Owned<SSL>;
using SslContextPtr = Owned<SSL_CTX>;

// Reads `text`, which must outlive it.
inline Owned<BIO> Reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Null at the end, or when what follows is no certificate.
inline Owned<X509> NextCertificate(BIO* pem) {
  return Owned<X509>(PEM_read_bio_X509(pem, nullptr, nullptr, nullptr));
}

// Null when there is none, or when it has a passphrase, which cannot be asked for here: without the
// callback OpenSSL would ask the terminal.
inline Owned<EVP_PKEY> ReadKey(const std::string& pem) {
  const Owned<BIO> text = Reader(pem);
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(
      text.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr));
}

// What OpenSSL last complained about on this thread, else `otherwise`; clears it.
inline std::string OpenSslReason(const char* otherwise) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason != nullptr ? reason : otherwise;
}

// The same of a connection.
inline std::string TlsError() { return OpenSslReason("connection closed"); }

}  // namespace coppice::grpc
