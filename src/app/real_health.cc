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

std::optional<RealHealth::Leadership> RealHealth::leadership() const {
  const kube::LeaderLease* const lease = parts_.server.lease();
  if (lease == nullptr) return std::nullopt;
  if (lease->leads()) return Leadership{true, parts_.identity};
  const MutexLock lock(mutex_);
  // Its own name is that of the process before, until that lease has run out.
  return Leadership{false, leader_ == parts_.identity ? "" : leader_};
}

std::string RealHealth::StandsBy() const {
  const auto known = leadership();
  if (!known || known->leads) return "";
  return known->leader.empty()
             ? "this replica stands by, and nobody leads as far as it knows: ask again in a moment"
             : "this replica stands by: " + known->leader + " leads, and has the answer";
}

std::string RealHealth::ControlState() const {
  report::JsonOut out;
  out.Open('{').Field("mode", "cluster");
  if (const auto known = leadership())
    out.Field("leads", known->leads).Field("leader", known->leader);
  return out.Close('}').Take();
}

void RealHealth::Write(report::JsonOut& out) const {
  std::string pem;
  {
    const MutexLock lock(mutex_);
    pem = certificate_;
  }
  const std::string trouble = parts_.health.Trouble();
  out.Field("healthy", trouble.empty()).Field("trouble", trouble);
  const auto known = leadership();
  out.Field("leaderElection", known.has_value()).Field("identity", parts_.identity);
  if (known) out.Field("leader", known->leader).Field("leads", known->leads);
  out.Field("dryRun", parts_.dry_run).Field("server", parts_.server.url());
  out.Field("maxViewAgeSeconds", std::chrono::duration<double>(parts_.max_view_age).count());
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
