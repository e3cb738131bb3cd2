#include "app/real_health.h"

#include "app/health_page.h"
#include "grpc/certificate_end.h"

namespace coppice::app {

void RealHealth::Look() {
  const kube::LeaderLease* const lease = parts_.server.lease();
  std::string certificate = parts_.server.credentials().client_certificate();
  const MutexLock lock(mutex_);
  leader_ = lease == nullptr ? "" : lease->holder();
  certificate_ = std::move(certificate);
}

void RealHealth::Write(report::JsonOut& out) const {
  std::string leader;
  std::string pem;
  {
    const MutexLock lock(mutex_);
    leader = leader_;
    pem = certificate_;
  }
  const std::string trouble = parts_.health.Trouble();
  out.Field("healthy", trouble.empty()).Field("trouble", trouble);
  const kube::LeaderLease* const lease = parts_.server.lease();
  out.Field("leaderElection", lease != nullptr).Field("identity", parts_.identity);
  if (lease != nullptr) {
    const bool leads = lease->leads();
    out.Field("leader", leads ? parts_.identity : leader).Field("leads", leads);
  }
  out.Field("dryRun", parts_.dry_run).Field("server", parts_.server.url());
  out.Key("kinds").Open('[');
  for (const auto& kind : parts_.server.feed().Ages()) {
    out.Open('{').Field("kind", kind.kind);
    out.Field("ageSeconds", std::chrono::duration<double>(kind.age).count()).Close('}');
  }
  out.Close(']').Key("apiFailures").Open('[');
  for (const host::ApiErrors::Failure& failure : parts_.server.errors().Last()) {
    out.Open('{').Field("method", failure.method).Field("path", failure.path);
    out.Field("status", failure.status).Field("why", failure.why).Field("times", failure.times);
    const Duration ago = parts_.clock.Now() - failure.at;
    out.Field("agoSeconds", std::chrono::duration<double>(ago).count()).Close('}');
  }
  out.Close(']');
  if (pem.empty()) return;
  const auto end = grpc::CertificateEnd(pem);
  WriteCertificates(out, "apiCertificate",
                    {{.what = "shown to the API server",
                      .end = end.ok() ? *end : TimePoint{},
                      .error = end.ok() ? "" : end.status().message()}});
}

}  // namespace coppice::app
