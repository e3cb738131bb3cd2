#include "grpc/credentials.h"

#include <openssl/ssl.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/file_signature.h"
#include "grpc/certificate_end.h"
#include "grpc/openssl_parts.h"

namespace coppice::grpc {
namespace {

constexpr std::streamoff kMaxFileBytes =
    1 << 20;  // a certificate bundle; anything larger is a mistake
constexpr char kUnknown[] = "unknown reason";

Result<std::string> ReadFile(const std::string& path, std::string_view what) {
  if (path.empty()) return InvalidArgument(std::string(what) + " is not set");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return NotFound(std::string(what) + " " + path + " cannot be opened");
  if (in.tellg() > kMaxFileBytes)
    return InvalidArgument(std::string(what) + " " + path + " is larger than 1 MiB");
  in.seekg(0);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.empty()) return InvalidArgument(std::string(what) + " " + path + " is empty");
  return text;
}

Result<Owned<X509>> FirstCertificate(const std::string& pem, const std::string& path) {
  Owned<X509> certificate = NextCertificate(Reader(pem).get());
  if (certificate == nullptr) {
    return InvalidArgument(path + " holds no PEM certificate (" + OpenSslReason(kUnknown) + ")");
  }
  return certificate;
}

std::string SubjectOf(const X509* certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(bio.get(), &text));
  return {text, size};
}

Status ReadIdentity(const TlsFiles& files, TlsMaterial& material) {
  material.cert = TRY(ReadFile(files.cert_file, "tls.certFile"));
  material.key = TRY(ReadFile(files.key_file, "tls.keyFile"));
  const Owned<X509> certificate = TRY(FirstCertificate(material.cert, files.cert_file));
  const Owned<EVP_PKEY> key = ReadKey(material.key);
  if (key == nullptr) {
    return InvalidArgument(files.key_file +
                           " holds no PEM private key that can be read without a passphrase (" +
                           OpenSslReason(kUnknown) + ")");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return FailedPrecondition("the key in " + files.key_file +
                              " does not belong to the certificate in " + files.cert_file);
  }
  material.subject = SubjectOf(certificate.get());
  material.not_after = TRY(CertificateEnd(material.cert));
  return Status::Ok();
}

}  // namespace

Result<TlsMaterial> ReadTlsFiles(const TlsFiles& files) {
  TlsMaterial material;
  if (files.parts != TlsParts::kTrust) TRY(ReadIdentity(files, material));
  if (files.parts != TlsParts::kIdentity) {
    material.ca = TRY(ReadFile(files.ca_file, "tls.caFile"));
    const Owned<X509> authority = TRY(FirstCertificate(material.ca, files.ca_file));
    if (files.parts == TlsParts::kTrust) {
      material.subject = SubjectOf(authority.get());
      material.not_after = TRY(CertificateEnd(material.ca));
    }
  }
  return material;
}

Result<std::shared_ptr<CertificateStore>> CertificateStore::Open(TlsFiles files, const Log& log) {
  auto store = std::shared_ptr<CertificateStore>(new CertificateStore(std::move(files), log));
  const MutexLock lock(store->mutex_);
  store->seen_ = store->Signature();
  store->material_ = std::make_shared<const TlsMaterial>(TRY(ReadTlsFiles(store->files_)));
  store->version_ = 1;
  return store;
}

std::string CertificateStore::Signature() const {
  return FileSignature({files_.cert_file, files_.key_file, files_.ca_file});
}

std::shared_ptr<const TlsMaterial> CertificateStore::Current() {
  const MutexLock lock(mutex_);
  std::string signature = Signature();
  if (signature == seen_) return material_;
  // Remembered before reading: a write that is still going on changes it again and is read again.
  seen_ = std::move(signature);
  auto read = ReadTlsFiles(files_);
  if (!read.ok()) {
    log_.Error("certificates changed on disk and cannot be used, the old ones stay in use",
               {{"error", read.status().message()}, {"subject", material_->subject}});
    return material_;
  }
  material_ = std::make_shared<const TlsMaterial>(std::move(read).value());
  ++version_;
  log_.Info("certificates read again",
            {{"cert_file", files_.cert_file},
             {"subject", material_->subject},
             {"expires_unix", material_->not_after.time_since_epoch() / std::chrono::seconds(1)}});
  return material_;
}

uint64_t CertificateStore::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

}  // namespace coppice::grpc
