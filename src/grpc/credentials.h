// Certificates of a gRPC end: read from files, checked before use, read again when the files
// change.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"

namespace coppice::grpc {

// Which of the files there must be. Named and never guessed from what was left empty, or a
// forgotten bundle would be a server that lets everybody in.
enum class TlsParts {
  kMutual,    // all: both sides show a certificate
  kIdentity,  // certificate and key: a server that asks for no client certificate
  kTrust,     // the bundle: a client that shows no certificate
};

struct TlsFiles {
  std::string cert_file;  // PEM, our certificate and its chain
  std::string key_file;   // PEM
  std::string ca_file;    // PEM, who may have signed the other side's certificate
  TlsParts parts = TlsParts::kMutual;

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// What the files held, checked: the key fits the certificate, the bundle has at least one
// certificate. What `parts` leaves out is empty.
struct TlsMaterial {
  std::string cert;
  std::string key;
  std::string ca;
  std::string subject;  // of our certificate, for the log; with kTrust of the bundle's first
  TimePoint not_after;
};

Result<TlsMaterial> ReadTlsFiles(const TlsFiles& files);

// The current certificates of `files`. A change on disk that does not check out (a key that does
// not fit, a half-written file) is logged once and the old pair stays in use. Any thread.
class CertificateStore {
 public:
  // Fails when the files cannot be used now: there is nothing to fall back to yet.
  static Result<std::shared_ptr<CertificateStore>> Open(TlsFiles files, const Log& log);

  // Looks at the files (three stat calls) and reads them when one has changed. Called for every
  // handshake and by whoever wants a broken rotation reported before the next one.
  std::shared_ptr<const TlsMaterial> Current();
  uint64_t version() const;  // grows with every material taken into use
  const TlsFiles& files() const { return files_; }

 private:
  CertificateStore(TlsFiles files, const Log& log) : files_(std::move(files)), log_(log) {}
  std::string Signature() const;

  const TlsFiles files_;
  const Log& log_;
  mutable Mutex mutex_;
  std::string seen_ COPPICE_GUARDED_BY(mutex_);  // signature of what was last tried, good or bad
  std::shared_ptr<const TlsMaterial> material_ COPPICE_GUARDED_BY(mutex_);
  uint64_t version_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::grpc
