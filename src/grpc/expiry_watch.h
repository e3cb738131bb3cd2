// ExpiryWatch: says in time that a certificate of ours runs out. A metric with the moment, for
// alerts; a warning a day from two weeks before, an error a day when it is too late.
//
// Look() costs what CertificateStore::Current() costs. One thread at a time.

#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "grpc/credentials.h"

namespace coppice::grpc {

class ExpiryWatch {
 public:
  // The metric is `prefix` + certificate_not_after_timestamp_seconds. All outlive this.
  ExpiryWatch(std::shared_ptr<CertificateStore> certificates, Clock& clock, const Log& log,
              Metrics& metrics, const std::string& prefix);

  void Look();

 private:
  const std::shared_ptr<CertificateStore> certificates_;
  Clock& clock_;
  const Log& log_;
  Gauge& not_after_;
  TimePoint told_for_;  // the certificate that the last line was about
  TimePoint tell_next_;
};

}  // namespace coppice::grpc
