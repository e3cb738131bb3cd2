// resourcequota: groups are admitted while their namespace's quotas have room for their minimum.

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/strings.h"
#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/resourcequota/go_text.h"

namespace coppice::batch::resourcequota {
namespace {

// Of `list` what `names` names.
model::ResourceList Masked(const model::ResourceList& list, const model::ResourceList& names) {
  model::ResourceList masked;
  for (const auto& [name, amount] : list) {
    if (names.contains(name)) masked[name] = amount;
  }
  return masked;
}

void AddTo(model::ResourceList& list, const model::ResourceList& more) {
  for (const auto& [name, amount] : more) list[name].Add(amount);
}

std::string Shown(const model::ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : list) parts.push_back(name + "=" + amount.ToString());
  return parts.empty() ? "none" : Join(parts, " ");
}

class ResourceQuotas final : public Plugin, public JobEnqueueable, public JobEnqueued {
 public:
  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    slots.job_enqueueable = this;
    slots.job_enqueued = this;
    return Status::Ok();
  }

  int JobEnqueueableVote(const Job& job) override {
    if (!job.HasMinResources()) return 1;
    const auto info = session_->namespaces().find(job.namespace_);
    if (info == session_->namespaces().end()) return 1;
    for (const auto& [name, quota] : info->second.quotas) {
      if (!HasRoom(job, quota)) return -1;
    }
    return 1;
  }

  void OnJobEnqueued(const Job& job) override {
    if (!job.HasMinResources() || !session_->namespaces().contains(job.namespace_)) return;
    AddTo(admitted_[job.namespace_], *job.group.spec.min_resources);
  }

 private:
  bool HasRoom(const Job& job, const model::ResourceQuotaStatus& quota) {
    const model::ResourceList asked = Masked(*job.group.spec.min_resources, quota.hard);
    model::ResourceList used = quota.used;
    if (const auto more = admitted_.find(job.namespace_); more != admitted_.end()) {
      AddTo(used, more->second);
    }
    AddTo(used, asked);
    model::ResourceList exceeded;
    for (const auto& [name, amount] : Masked(used, asked)) {
      const model::Quantity* hard = quota.hard.Find(name);
      if (hard && amount.Compare(*hard) > 0) exceeded[name] = amount;
    }
    if (exceeded.empty()) return true;
    const auto shown = session_->upstream_exact() ? GoText : Shown;
    session_->RecordGroupEvent(
        job, "Normal", "Unschedulable",
        fmt::format("resource quota insufficient, requested: {}, used: {}, limited: {}",
                    shown(Masked(asked, exceeded)), shown(Masked(quota.used, exceeded)),
                    shown(Masked(quota.hard, exceeded))));
    return false;
  }

  Session* session_ = nullptr;
  std::map<std::string, model::ResourceList> admitted_;  // by namespace, in this session
};

}  // namespace

void Register(PluginRegistry& registry) {
  registry.Add("resourcequota", FactoryOf<ResourceQuotas>());
}

}  // namespace coppice::batch::resourcequota
