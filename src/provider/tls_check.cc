#include "provider/tls_check.h"

#include <filesystem>

#include "grpc/credentials.h"
#include "wire/time_text.h"

namespace coppice::provider {
namespace {

using grpc::TlsParts;

// Whether it is there; otherwise that is said.
bool IsHere(yaml::MapReader& tls, const char* key, const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return true;
  tls.Complain(key, path + " is not here, so it was not looked at", yaml::Severity::kWarning);
  return false;
}

}  // namespace

void CheckTlsFiles(const ProviderConfig& config, TimePoint now, yaml::Problems& problems) {
  if (!config.tls) return;
  yaml::MapReader tls(config.tls_node, problems);
  const ProviderTls& files = *config.tls;
  const auto look = [&](const char* key, TlsParts parts) {
    const auto read = grpc::ReadTlsFiles({.cert_file = files.cert_file,
                                          .key_file = files.key_file,
                                          .ca_file = files.ca_file,
                                          .parts = parts});
    if (!read.ok()) {
      tls.Complain(key, read.status().message());
    } else if (read->not_after <= now) {
      tls.Complain(key, (parts == TlsParts::kTrust ? files.ca_file : files.cert_file) +
                            ": the certificate of " + read->subject + " ended at " +
                            wire::FormatRfc3339(read->not_after) + ": nobody will trust it");
    }
  };
  const bool cert = IsHere(tls, "certFile", files.cert_file);
  const bool key = IsHere(tls, "keyFile", files.key_file);
  if (cert && key) look("certFile", TlsParts::kIdentity);
  if (IsHere(tls, "caFile", files.ca_file)) look("caFile", TlsParts::kTrust);
}

}  // namespace coppice::provider
