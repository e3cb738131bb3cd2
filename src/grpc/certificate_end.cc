#include "grpc/certificate_end.h"

#include <openssl/ssl.h>

#include <ctime>

#include "grpc/openssl_parts.h"

namespace coppice::grpc {

Result<TimePoint> CertificateEnd(const std::string& pem) {
  const Owned<X509> certificate = NextCertificate(Reader(pem).get());
  if (certificate == nullptr)
    return InvalidArgument("no PEM certificate (" + OpenSslReason("unknown reason") + ")");
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1)
    return InvalidArgument("the certificate's end is no time");
  return TimePoint(std::chrono::seconds(timegm(&parts)));
}

}  // namespace coppice::grpc
