// overcommit: groups are admitted while what they ask for is within the cluster's size times a
// factor.

#include "batch/plugin.h"
#include "batch/admission_text.h"
#include "batch/session.h"

namespace coppice::batch::overcommit {
namespace {

constexpr double kDefaultFactor = 1.2;

class Overcommit final : public Plugin, public JobEnqueueable, public JobEnqueued {
 public:
  explicit Overcommit(const Arguments& arguments) {
    arguments.Get("overcommit-factor", factor_);
    if (factor_ < 1.0) factor_ = kDefaultFactor;
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    idle_ = session.total();
    idle_.Scale(factor_);
    Resource used;
    for (const NodeInfo* node : session.nodes()) used.Add(node->used);
    (void)idle_.Sub(used);
    for (const Job* job : session.jobs()) {
      if (!job->HasMinResources()) continue;
      const std::string& phase = job->group.status.phase;
      if (phase == "Inqueue") {
        inqueue_.Add(job->WithoutGated(job->MinResources()));
      } else if (phase == "Running" && job->counts.Allocated() >= job->group.spec.min_member) {
        inqueue_.Add(job->WithoutGated(job->InqueueResource()));
      }
    }
    slots.job_enqueueable = this;
    slots.job_enqueued = this;
    return Status::Ok();
  }

  int JobEnqueueableVote(const Job& job) override {
    if (!job.HasMinResources()) return 1;
    Resource wanted = inqueue_;
    wanted.Add(job.MinResources());
    const Dimensions fits = LessEqualWhereAsked(&wanted, &idle_, &job.MinResources());
    if (fits.yes) return 1;
    session_->RecordGroupEvent(
        job, "Normal", "Unschedulable",
        NamedResources("resource in cluster is overused", "overused", fits.names));
    return -1;
  }

  bool WouldAdmitAlone(const Job& job) override {
    return FitsWhereAsked(job.MinResources(), idle_, job.MinResources());
  }

  void OnJobEnqueued(const Job& job) override {
    if (job.HasMinResources()) inqueue_.Add(job.WithoutGated(job.MinResources()));
  }

 private:
  double factor_ = kDefaultFactor;
  Session* session_ = nullptr;
  Resource idle_;
  Resource inqueue_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("overcommit", FactoryOf<Overcommit>()); }

}  // namespace coppice::batch::overcommit
