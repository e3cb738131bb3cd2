#include "grpc/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <mutex>
#include <string>
#include <utility>

namespace coppice::grpc {
namespace {

// The C++ library cannot be handed a certificate callback, the C library below it can. This class
// is the bridge: it opens its port on the C server itself.
class FetchingCredentials final : public ::grpc::ServerCredentials {
 public:
  explicit FetchingCredentials(std::shared_ptr<CertificateStore> store)
      : store_(std::move(store)) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<::grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &Fetch, this));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  // Called at start and for every handshake. What is handed over stays in use until the next NEW.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<FetchingCredentials*>(self)->FetchOne(config);
  }

  grpc_ssl_certificate_config_reload_status FetchOne(grpc_ssl_server_certificate_config** config) {
    const auto material = store_->Current();
    const std::lock_guard lock(mutex_);
    if (material == handed_over_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{material->key.c_str(), material->cert.c_str()};
    *config = grpc_ssl_server_certificate_config_create(material->ca.c_str(), &pair, 1);
    handed_over_ = material;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<CertificateStore> store_;
  std::mutex mutex_;
  std::shared_ptr<const TlsMaterial> handed_over_;
};

}  // namespace

std::shared_ptr<::grpc::ServerCredentials> MutualTls(std::shared_ptr<CertificateStore> store) {
  RequireTls13();
  return std::make_shared<FetchingCredentials>(std::move(store));
}

}  // namespace coppice::grpc
