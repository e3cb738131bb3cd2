#include "grpc/expiry_watch.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "base/go_duration.h"
#include "grpc/certificate_end.h"

namespace coppice::grpc {
namespace {

constexpr Duration kWarnBefore = std::chrono::hours(14 * 24);
constexpr Duration kTellEvery = std::chrono::hours(24);
constexpr Duration kSometimes = std::chrono::minutes(1);

}  // namespace

void CertificateExpiry::Tell(const std::string& file, const std::string& subject, TimePoint end) {
  metrics_
      .GetGauge(prefix_ + "certificate_not_after_timestamp_seconds",
                "When the certificate in use expires, in seconds since 1970.", {{"file", file}})
      .Set(std::chrono::duration<double>(end.time_since_epoch()).count());
  const TimePoint now = clock_.Now();
  const Duration left = end - now;
  if (left > kWarnBefore) return;
  {
    const MutexLock lock(mutex_);
    Told& told = told_[file];
    if (told.end == end && now < told.next) return;
    told = {.end = end, .next = now + kTellEvery};
  }
  // Whole minutes: nobody wants the nanoseconds of a date.
  const std::string time = FormatGoDuration(std::chrono::duration_cast<std::chrono::minutes>(left));
  if (left > Duration::zero()) {
    log_.Warning("a certificate expires soon; a new one is taken into use without a restart",
                 {{"file", file}, {"subject", subject}, {"left", time}});
  } else {
    log_.Error("a certificate has expired, and the other side will refuse it",
               {{"file", file}, {"subject", subject}, {"left", time}});
  }
}

void CertificateExpiry::LookAt(const std::string& file, const std::string& pem) {
  const auto end = CertificateEnd(pem);
  if (end.ok()) Tell(file, "", *end);
}

void CertificateExpiry::LookAtFile(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string pem((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  LookAt(file, pem);
}

ExpiryWatch::ExpiryWatch(std::shared_ptr<CertificateStore> certificates, Clock& clock,
                         const Log& log, Metrics& metrics, const std::string& prefix)
    : certificates_(std::move(certificates)),
      clock_(clock),
      expiry_(clock, log, metrics, prefix),
      looked_(clock.Now()) {
  Look();
}

void ExpiryWatch::Look() {
  const auto material = certificates_->Current();
  const TlsFiles& files = certificates_->files();
  expiry_.Tell(files.cert_file.empty() ? files.ca_file : files.cert_file, material->subject,
               material->not_after);
}

void ExpiryWatch::LookSometimes() {
  {
    const TimePoint now = clock_.Now();
    const MutexLock lock(mutex_);
    if (now < looked_ + kSometimes) return;
    looked_ = now;
  }
  Look();
}

}  // namespace coppice::grpc
