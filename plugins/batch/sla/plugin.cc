// sla: a job that has waited for as long as it may comes first and is let through.

#include <optional>

#include "base/go_duration.h"
#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::sla {
namespace {

class Sla final : public Plugin, public JobOrder, public JobEnqueueable, public JobPipelined {
 public:
  explicit Sla(const Arguments& arguments) {
    std::string text;
    arguments.Get("sla-waiting-time", text);
    const auto duration = ParseGoDuration(text);
    if (duration.ok() && *duration > Duration::zero()) waiting_time_ = *duration;
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    slots.job_order = this;
    slots.job_enqueueable = this;
    slots.job_pipelined = this;
    return Status::Ok();
  }

  int CompareJobs(const Job& l, const Job& r) override {
    const auto wait_l = WaitOf(l);
    const auto wait_r = WaitOf(r);
    if (!wait_l || !wait_r) return wait_l ? -1 : (wait_r ? 1 : 0);
    const TimePoint due_l = Later(l.created, *wait_l);
    const TimePoint due_r = Later(r.created, *wait_r);
    return due_l == due_r ? 0 : (due_l < due_r ? -1 : 1);
  }
  int JobEnqueueableVote(const Job& job) override { return HasWaited(job); }
  int JobPipelinedVote(const Job& job) override { return HasWaited(job); }

 private:
  std::optional<Duration> WaitOf(const Job& job) const {
    return job.waiting_time ? job.waiting_time : waiting_time_;
  }
  int HasWaited(const Job& job) const {
    const auto wait = WaitOf(job);
    return wait && session_->now() - job.created >= *wait ? 1 : 0;
  }

  std::optional<Duration> waiting_time_;
  const Session* session_ = nullptr;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("sla", FactoryOf<Sla>()); }

}  // namespace coppice::batch::sla
