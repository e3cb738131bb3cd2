// Says in time that a certificate of ours runs out: a metric with the moment, for alerts; a warning a
// day from two weeks before, an error a day when it is too late.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "grpc/credentials.h"

namespace coppice::grpc {

// Of certificates that somebody else keeps. Any thread.
class CertificateExpiry {
 public:
  // The metric is `prefix` + certificate_not_after_timestamp_seconds. All outlive this.
  CertificateExpiry(const Clock& clock, const Log& log, Metrics& metrics, std::string prefix)
      : clock_(clock), log_(log), metrics_(metrics), prefix_(std::move(prefix)) {}

  void Tell(const std::string& file, const std::string& subject, TimePoint end);
  // The first certificate of a PEM text, which is known by the name of its file. Nothing is said of
  // what cannot be read: whoever uses it does that.
  void LookAt(const std::string& file, const std::string& pem);
  void LookAtFile(const std::string& file);

 private:
  struct Told {
    TimePoint end;  // the certificate that the last line was about
    TimePoint next;
  };
  const Clock& clock_;
  const Log& log_;
  Metrics& metrics_;
  const std::string prefix_;
  Mutex mutex_;
  std::map<std::string, Told> told_ COPPICE_GUARDED_BY(mutex_);  // by file
};

// Of those in a store.
class ExpiryWatch {
 public:
  ExpiryWatch(std::shared_ptr<CertificateStore> certificates, Clock& clock, const Log& log,
              Metrics& metrics, const std::string& prefix);

  // Costs what CertificateStore::Current() costs.
  void Look();
  // For who has nothing else that comes round: with each call, and once a minute it looks. Any thread.
  void LookSometimes();

 private:
  const std::shared_ptr<CertificateStore> certificates_;
  Clock& clock_;
  CertificateExpiry expiry_;
  Mutex mutex_;
  TimePoint looked_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::grpc
