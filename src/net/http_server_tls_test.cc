// The server's TLS, tried with OpenSSL's own client.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/fake_clock.h"
#include "net/http_server.h"
#include "test/support/must.h"

namespace coppice::net {
namespace {

using testing::EndsWith;

class HttpServerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tls_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    WriteSelfSigned();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string cert() const { return folder_ / "cert.pem"; }
  std::string key() const { return folder_ / "key.pem"; }

  void WriteSelfSigned() const {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, pair);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, pair, EVP_sha256());
    FILE* file = std::fopen(cert().c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    file = std::fopen(key().c_str(), "w");
    PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(pair);
  }

  // The answer, or "" when no connection came about. `version` 0: the newest.
  std::string Get(uint16_t port, int version) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version);
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, socket);
    std::string answer;
    if (SSL_connect(ssl) == 1) {
      X509* certificate = SSL_get1_peer_certificate(ssl);
      unsigned char digest[EVP_MAX_MD_SIZE];
      unsigned size = 0;
      X509_digest(certificate, EVP_sha256(), digest, &size);
      shown_.assign(reinterpret_cast<const char*>(digest), size);
      X509_free(certificate);
      constexpr std::string_view kRequest =
          "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
      SSL_write(ssl, kRequest.data(), static_cast<int>(kRequest.size()));
      char buffer[4096];
      for (int length = 0; (length = SSL_read(ssl, buffer, sizeof(buffer))) > 0;) {
        answer.append(buffer, static_cast<size_t>(length));
      }
      EXPECT_EQ(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN) << "closed properly, not cut off";
    }
    SSL_free(ssl);
    ::close(socket);
    SSL_CTX_free(context);
    return answer;
  }

  std::filesystem::path folder_;
  std::string shown_;  // the digest of the certificate that the last answer came with
};

ServerResponse HelloByTls(const ServerRequest&) { return {.body = "hello\n"}; }

TEST_F(HttpServerTlsTest, ServesTls13AndNothingOlder) {
  const auto server =
      MUST(HttpServer::Create({.tls_cert_file = cert(), .tls_key_file = key()}, HelloByTls));
  EXPECT_THAT(Get(server->port(), 0), EndsWith("\r\n\r\nhello\n"));
  EXPECT_THAT(Get(server->port(), TLS1_3_VERSION), EndsWith("\r\n\r\nhello\n"));
  EXPECT_EQ(Get(server->port(), TLS1_2_VERSION), "");
}

TEST_F(HttpServerTlsTest, ARenewedCertificateIsShownToTheNextConnection) {
  const auto server =
      MUST(HttpServer::Create({.tls_cert_file = cert(), .tls_key_file = key()}, HelloByTls));
  Get(server->port(), 0);
  const std::string first = shown_;
  ASSERT_NE(first, "");
  WriteSelfSigned();
  EXPECT_THAT(Get(server->port(), 0), EndsWith("\r\n\r\nhello\n"));
  EXPECT_NE(shown_, first);
}

TEST_F(HttpServerTlsTest, ABrokenRenewalLeavesTheOldCertificateInUseAndIsSaidOnce) {
  FakeClock clock;
  std::string lines;
  std::mutex mutex;
  const Log log(
      clock,
      [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        lines += line;
      },
      LogFormat::kText);
  const auto server = MUST(
      HttpServer::Create({.tls_cert_file = cert(), .tls_key_file = key(), .log = log}, HelloByTls));
  Get(server->port(), 0);
  const std::string first = shown_;
  std::ofstream(key()) << "half a k";
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Get(server->port(), 0), EndsWith("\r\n\r\nhello\n"));
    EXPECT_EQ(shown_, first);
  }
  const std::lock_guard lock(mutex);
  const size_t at = lines.find("the old ones stay in use");
  ASSERT_NE(at, std::string::npos) << lines;
  EXPECT_EQ(lines.find("the old ones stay in use", at + 1), std::string::npos) << lines;
}

TEST_F(HttpServerTlsTest, RefusesAKeyThatDoesNotFit) {
  const std::string old_cert = folder_ / "old.pem";
  std::filesystem::rename(cert(), old_cert);
  WriteSelfSigned();
  const auto server =
      HttpServer::Create({.tls_cert_file = old_cert, .tls_key_file = key()}, HelloByTls);
  EXPECT_EQ(server.code(), Code::kUnavailable);
  EXPECT_THAT(server.status().message(), testing::HasSubstr(key()));
}

}  // namespace
}  // namespace coppice::net
