#include "test/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace coppice::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using Certificate = std::unique_ptr<X509, decltype([](X509* x) { X509_free(x); })>;
using Bio = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;

constexpr long kHour = 3'600;
constexpr long kMonth = 31 * 24 * kHour;  // no warning yet

std::string TextOf(BIO* bio) {
  char* text = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(bio, &text));
  return {text, size};
}

std::string ToPem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return TextOf(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio.get());
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) throw std::runtime_error("bad extension: " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate Blank(const std::string& common_name, EVP_PKEY* key) {
  static std::atomic<long> serial{1};
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++ + getpid() * 1'000L);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kMonth);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

bool IsAddress(const std::string& name) {
  return name.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

struct TestAuthority::State {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
};

TestAuthority::TestAuthority(std::string name) : state_(std::make_unique<State>()) {
  state_->certificate = Blank(name, state_->key.get());
  X509* self = state_->certificate.get();
  X509_set_issuer_name(self, X509_get_subject_name(self));
  AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(self, state_->key.get(), EVP_sha256());
  pem_ = ToPem(self);
}

TestAuthority::~TestAuthority() = default;

PemPair TestAuthority::Issue(const std::string& common_name,
                             const std::vector<std::string>& names) const {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = Blank(common_name, key.get());
  X509* issuer = state_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ",") + std::string(IsAddress(name) ? "IP:" : "DNS:") + name;
  }
  if (!list.empty()) AddExtension(certificate.get(), issuer, NID_subject_alt_name, list);
  AddExtension(certificate.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  X509_sign(certificate.get(), state_->key.get(), EVP_sha256());
  return {.cert = ToPem(certificate.get()), .key = ToPem(key.get())};
}

TempDirectory::TempDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "coppice-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDirectory::Write(const std::string& name, std::string_view text) const {
  const std::string target = At(name);
  const std::string part = target + ".part";
  std::ofstream(part, std::ios::binary) << text;
  std::filesystem::rename(part, target);
  return target;
}

void WriteMutualTls(const TestAuthority& authority, const TempDirectory& dir) {
  const PemPair server = authority.Issue("provider", {"localhost"});
  const PemPair client = authority.Issue("autoscaler", {"autoscaler.kube-system"});
  dir.Write("ca.crt", authority.pem());
  dir.Write("server.crt", server.cert);
  dir.Write("server.key", server.key);
  dir.Write("client.crt", client.cert);
  dir.Write("client.key", client.key);
}

}  // namespace coppice::test
