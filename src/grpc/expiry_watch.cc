#include "grpc/expiry_watch.h"

#include <utility>

#include "base/go_duration.h"

namespace coppice::grpc {
namespace {

constexpr Duration kWarnBefore = std::chrono::hours(14 * 24);
constexpr Duration kTellEvery = std::chrono::hours(24);

}  // namespace

ExpiryWatch::ExpiryWatch(std::shared_ptr<CertificateStore> certificates, Clock& clock,
                         const Log& log, Metrics& metrics, const std::string& prefix)
    : certificates_(std::move(certificates)),
      clock_(clock),
      log_(log),
      not_after_(metrics.GetGauge(prefix + "certificate_not_after_timestamp_seconds",
                                  "When the certificate in use expires, in seconds since 1970.",
                                  {{"file", certificates_->files().cert_file.empty()
                                                ? certificates_->files().ca_file
                                                : certificates_->files().cert_file}})) {
  Look();
}

void ExpiryWatch::Look() {
  const auto material = certificates_->Current();
  const TimePoint end = material->not_after;
  not_after_.Set(std::chrono::duration<double>(end.time_since_epoch()).count());
  const TimePoint now = clock_.Now();
  const Duration left = end - now;
  if (left > kWarnBefore || (end == told_for_ && now < tell_next_)) return;
  told_for_ = end;
  tell_next_ = now + kTellEvery;
  // Whole minutes: nobody wants the nanoseconds of a date.
  const std::string time = FormatGoDuration(std::chrono::duration_cast<std::chrono::minutes>(left));
  const TlsFiles& files = certificates_->files();
  const std::string& file = files.cert_file.empty() ? files.ca_file : files.cert_file;
  if (left > Duration::zero()) {
    log_.Warning("a certificate expires soon; a new one is taken into use without a restart",
                 {{"file", file}, {"subject", material->subject}, {"left", time}});
  } else {
    log_.Error("a certificate has expired, and the other side will refuse it",
               {{"file", file}, {"subject", material->subject}, {"left", time}});
  }
}

}  // namespace coppice::grpc
