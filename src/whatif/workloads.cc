#include "whatif/workloads.h"

#include <algorithm>

#include "base/strings.h"
#include "sim/pending.h"

namespace coppice::whatif {

namespace {

constexpr int32_t kMostReplicas = 100'000;  // a typing mistake, not a plan

std::string Space(const std::string& namespace_) {
  return namespace_.empty() ? "default" : namespace_;
}

class Expansion {
 public:
  Expansion(const ClusterObjects& cluster, TimePoint now, std::vector<std::string>& notes,
            ClusterObjects& out)
      : cluster_(cluster), now_(now), notes_(notes), out_(out) {}

  struct Owner {
    std::string api_version;
    std::string kind;
    std::string namespace_;
    std::string name;
  };

  // `replicas` pods of the template, called <prefix><number>.
  void Add(const Owner& owner, const model::PodTemplateSpec& from, int32_t replicas,
           const std::string& prefix, int32_t first = 0,
           const std::vector<model::PersistentVolumeClaim>& claims = {}) {
    if (replicas > kMostReplicas) {
      notes_.push_back(owner.kind + " " + owner.namespace_ + "/" + owner.name + " asks for " +
                       std::to_string(replicas) + " pods; " + std::to_string(kMostReplicas) +
                       " are looked at");
      replicas = kMostReplicas;
    }
    for (int32_t i = first; i < first + replicas; ++i) {
      model::Pod pod;
      pod.metadata = from.metadata;
      pod.metadata.namespace_ = owner.namespace_;
      pod.metadata.name = prefix + std::to_string(i);
      pod.metadata.uid = "whatif-" + owner.namespace_ + "-" + pod.metadata.name;
      pod.metadata.owner_references = {{.api_version = owner.api_version,
                                        .kind = owner.kind,
                                        .name = owner.name,
                                        .uid = "whatif-" + owner.kind + "-" + owner.name,
                                        .controller = true}};
      pod.spec = from.spec;
      for (const auto& claim : claims) Claim(claim, pod);
      AddPod(std::move(pod));
    }
  }

  void AddPod(model::Pod pod) {
    pod.metadata.namespace_ = Space(pod.metadata.namespace_);
    if (pod.metadata.uid.empty())
      pod.metadata.uid = "whatif-" + pod.metadata.namespace_ + "-" + pod.metadata.name;
    if (!pod.metadata.creation_timestamp)
      pod.metadata.creation_timestamp = model::Time{now_ - std::chrono::minutes(1)};
    if (!pod.spec.priority) pod.spec.priority = PriorityOf(pod.spec.priority_class_name);
    if (pod.spec.node_name.empty()) {
      pod = sim::AsRefused(std::move(pod), now_);
    } else if (pod.status.phase.empty()) {
      pod.status.phase = "Running";
    }
    out_.pods.push_back(std::make_shared<const model::Pod>(std::move(pod)));
  }

 private:
  // The claim that the StatefulSet makes for this pod, and the volume that stands for it. Without
  // its storage class nothing could be said about it, so it is left out.
  void Claim(const model::PersistentVolumeClaim& from, model::Pod& pod) {
    const std::string name = from.metadata.name + "-" + pod.metadata.name;
    const std::optional<std::string>& class_name = from.spec.storage_class_name;
    const bool known = std::ranges::any_of(cluster_.storage_classes, [&](const auto& each) {
      return class_name && each->metadata.name == *class_name;
    });
    if (!known) {
      const std::string note = "the storage class of the volume claim template " +
                               from.metadata.name + " is not in the dump: its volumes are left out";
      if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
      return;
    }
    model::PersistentVolumeClaim claim = from;
    claim.metadata.name = name;
    claim.metadata.namespace_ = pod.metadata.namespace_;
    claim.metadata.uid = "whatif-" + name;
    claim.status = {};
    claim.status.phase = "Pending";
    out_.claims.push_back(std::make_shared<const model::PersistentVolumeClaim>(std::move(claim)));
    std::erase_if(pod.spec.volumes,
                  [&](const model::Volume& v) { return v.name == from.metadata.name; });
    pod.spec.volumes.push_back({.name = from.metadata.name, .claim_name = name});
  }

  int32_t PriorityOf(const std::string& class_name) {
    if (class_name == "system-node-critical") return 2'000'001'000;
    if (class_name == "system-cluster-critical") return 2'000'000'000;
    using List = const Listed<model::PriorityClass>*;
    for (const List list : {List{&out_.priority_classes}, List{&cluster_.priority_classes}}) {
      for (const auto& each : *list) {
        if (class_name.empty() ? each->global_default : each->metadata.name == class_name)
          return each->value;
      }
    }
    if (!class_name.empty()) {
      const std::string note =
          "the priority class " + class_name + " is not in the dump: priority 0 is assumed";
      if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
    }
    return 0;
  }

  const ClusterObjects& cluster_;
  TimePoint now_;
  std::vector<std::string>& notes_;
  ClusterObjects& out_;
};

// A manifest without a namespace goes where kubectl would put it.
template <class T>
void GiveNamespace(Listed<T>& objects) {
  for (auto& object : objects) {
    if (!object->metadata.namespace_.empty()) continue;
    T copy = *object;
    copy.metadata.namespace_ = Space("");
    object = std::make_shared<const T>(std::move(copy));
  }
}

int32_t PodsOfWorkload(const model::JobSpec& job) {
  const int32_t parallel = job.parallelism.value_or(1);
  return job.suspend.value_or(false) ? 0 : std::min(parallel, job.completions.value_or(parallel));
}

}  // namespace

ClusterObjects ExpandWorkloads(const ClusterObjects& added, const ClusterObjects& cluster,
                               TimePoint now, std::vector<std::string>& notes) {
  ClusterObjects out = added;
  out.pods.clear();
  out.deployments.clear();
  out.cron_jobs.clear();
  GiveNamespace(out.replica_sets);
  GiveNamespace(out.replication_controllers);
  GiveNamespace(out.stateful_sets);
  GiveNamespace(out.jobs);
  GiveNamespace(out.daemon_sets);
  GiveNamespace(out.budgets);
  GiveNamespace(out.claims);
  GiveNamespace(out.config_maps);
  GiveNamespace(out.services);
  GiveNamespace(out.pod_groups);
  GiveNamespace(out.quotas);
  Expansion expansion(cluster, now, notes, out);
  for (const auto& pod : added.pods) expansion.AddPod(*pod);
  for (const auto& deployment : added.deployments) {
    const std::string space = Space(deployment->metadata.namespace_);
    model::ReplicaSet set;  // who owns the pods, for the rules of draining
    set.metadata.name = deployment->metadata.name + "-whatif";
    set.metadata.namespace_ = space;
    set.spec.replicas = deployment->spec.replicas.value_or(1);
    set.spec.selector = deployment->spec.selector;
    set.spec.template_ = deployment->spec.template_;
    expansion.Add({"apps/v1", "ReplicaSet", space, set.metadata.name}, deployment->spec.template_,
                  *set.spec.replicas, set.metadata.name + "-");
    out.replica_sets.push_back(std::make_shared<const model::ReplicaSet>(std::move(set)));
  }
  for (const auto& set : added.replica_sets) {
    expansion.Add({"apps/v1", "ReplicaSet", Space(set->metadata.namespace_), set->metadata.name},
                  set->spec.template_, set->spec.replicas.value_or(1), set->metadata.name + "-");
  }
  for (const auto& controller : added.replication_controllers) {
    if (!controller->spec.template_) continue;
    expansion.Add({"v1", "ReplicationController", Space(controller->metadata.namespace_),
                   controller->metadata.name},
                  *controller->spec.template_, controller->spec.replicas.value_or(1),
                  controller->metadata.name + "-");
  }
  for (const auto& set : added.stateful_sets) {
    expansion.Add({"apps/v1", "StatefulSet", Space(set->metadata.namespace_), set->metadata.name},
                  set->spec.template_, set->spec.replicas.value_or(1), set->metadata.name + "-",
                  set->spec.ordinals_start.value_or(0), set->spec.volume_claim_templates);
  }
  for (const auto& job : added.jobs) {
    expansion.Add({"batch/v1", "Job", Space(job->metadata.namespace_), job->metadata.name},
                  job->spec.template_, PodsOfWorkload(job->spec), job->metadata.name + "-");
  }
  for (const auto& cron_job : added.cron_jobs) {
    model::Job job;  // one run of it
    job.metadata.name = cron_job->metadata.name + "-whatif";
    job.metadata.namespace_ = Space(cron_job->metadata.namespace_);
    job.spec = cron_job->spec.job_template.spec;
    expansion.Add({"batch/v1", "Job", job.metadata.namespace_, job.metadata.name},
                  job.spec.template_, PodsOfWorkload(job.spec), job.metadata.name + "-");
    out.jobs.push_back(std::make_shared<const model::Job>(std::move(job)));
  }
  for (const auto& set : added.daemon_sets) {
    notes.push_back("DaemonSet " + Space(set->metadata.namespace_) + "/" + set->metadata.name +
                    " counts on new nodes; its pods on the present ones are not added");
  }
  return out;
}

}  // namespace coppice::whatif
