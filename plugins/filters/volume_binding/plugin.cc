// VolumeBinding: every claim of the pod has its volume within the node's reach, or can get one
// there.
//
// Bound claims: the volume's node affinity. Claims that wait for their first consumer: a free
// volume that matches, or room to make one. All other claims have to be bound before the pod can be
// placed at all, which PreFilter sees to. Nothing is bound or reserved by asking, and placing a pod
// does not use up a volume: the verdict is about one pod at a time, as kube-scheduler's is.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fit/csi_migration.h"
#include "fit/filter.h"
#include "fit/volume_claims.h"
#include "plugins/filters/volume_binding/claims.h"

namespace coppice::filters::volume_binding {
namespace {

using model::Verdict;
using model::VerdictCode;

constexpr std::string_view kName = "VolumeBinding";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

// What is wrong with a node; several may be at once.
enum Conflict : unsigned { kNone = 0, kAffinity = 1, kNoVolume = 2, kNoRoom = 4, kVolumeGone = 8 };

const Verdict& RefusalFor(unsigned conflicts) {
  static const std::array<Verdict, 16> refusals = [] {
    constexpr std::array<std::string_view, 4> kTexts = {
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};
    const auto refusal = [&](unsigned mask) {
      model::Refusal no{.plugin = kName, .code = VerdictCode::kUnschedulableAndUnresolvable};
      for (unsigned i = 0; i < kTexts.size(); ++i) {
        if ((mask >> i & 1) != 0) no.reasons.emplace_back(kTexts[i]);
      }
      return mask == 0 ? Verdict::Yes() : Verdict::No(std::move(no));
    };
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::array<Verdict, 16>{refusal(I)...};
    }(std::make_index_sequence<16>());
  }();
  return refusals[conflicts];
}

Verdict Unresolvable(std::string reason) {
  return Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable, std::move(reason));
}

Verdict Failed(std::string reason) {
  return Verdict::No(kName, VerdictCode::kError, std::move(reason));
}

class BindingCheck final : public fit::NodeCheck {
 public:
  BindingCheck(PodClaims claims, const cluster::Snapshot& snapshot)
      : claims_(std::move(claims)), snapshot_(snapshot) {}

  Verdict Check(cluster::NodeIndex node) const override {
    const cluster::NodeFacts& facts = snapshot_.node(node);
    unsigned conflicts = kNone;
    for (const BoundClaim& bound : claims_.bound) {
      if (bound.volume == nullptr) {
        conflicts |= kVolumeGone;
        break;
      }
      const model::CompiledNodeSelector* affinity = bound.affinity;
      if (!bound.in_tree_plugin.empty() &&
          fit::MigratedOn(snapshot_.facts().csi_nodes.Find(facts.name), bound.in_tree_plugin)) {
        if (!bound.migration.ok())
          return Failed("could not translate pv: " + bound.migration.message());
        affinity = bound.migrated_affinity ? &*bound.migrated_affinity : nullptr;
      }
      if (!Reaches(affinity, facts.labels)) {
        conflicts |= kAffinity;
        break;
      }
    }
    const auto waiting = CheckWaiting(facts);
    if (!waiting.ok()) return Failed(waiting.status().message());
    return RefusalFor(conflicts | *waiting);
  }

 private:
  Result<unsigned> CheckWaiting(const cluster::NodeFacts& node) const {
    const auto selected_elsewhere = [&](const WaitingClaim& claim) {
      return claim.selected_node != nullptr && *claim.selected_node != node.name;
    };
    if (std::ranges::any_of(claims_.waiting, selected_elsewhere)) return kNoVolume;

    std::vector<const WaitingClaim*> to_make;
    for (const WaitingClaim& claim : claims_.waiting) {
      if (claim.selected_node != nullptr) to_make.push_back(&claim);
    }
    std::vector<const model::PersistentVolume*> taken;  // by a smaller claim of this pod
    for (const WaitingClaim& claim : claims_.waiting) {
      if (claim.selected_node != nullptr) continue;
      if (!claim.selector.ok()) return claim.selector;
      const model::PersistentVolume* volume = FindVolume(claim, node.labels, taken);
      if (volume != nullptr) taken.push_back(volume);
      if (volume == nullptr) to_make.push_back(&claim);
    }
    for (const WaitingClaim* claim : to_make) {
      if (const unsigned conflict = CheckMaking(claim->provisioning, node.labels)) return conflict;
    }
    return kNone;
  }

  // A volume that names the claim decides alone, even if the node cannot reach it.
  static const model::PersistentVolume* FindVolume(
      const WaitingClaim& claim, const model::Labels& labels,
      const std::vector<const model::PersistentVolume*>& taken) {
    const auto is_taken = [&](const Candidate& candidate) {
      return std::ranges::find(taken, candidate.volume) != taken.end();
    };
    for (const Candidate& candidate : claim.reserved) {
      if (!is_taken(candidate)) {
        return Reaches(candidate.affinity, labels) ? candidate.volume : nullptr;
      }
    }
    for (const Candidate& candidate : claim.free) {
      if (!is_taken(candidate) && Reaches(candidate.affinity, labels)) return candidate.volume;
    }
    return nullptr;
  }

  static unsigned CheckMaking(const Provisioning& provisioning, const model::Labels& labels) {
    const auto allows = [&](const std::vector<model::Requirement>& conditions) {
      return std::ranges::all_of(conditions, [&](const auto& c) { return c.Matches(labels); });
    };
    if (!provisioning.possible) return kNoVolume;
    if (!provisioning.anywhere && std::ranges::none_of(provisioning.allowed, allows))
      return kNoVolume;
    const auto reaches = [&](const model::Selector& selector) { return selector.Matches(labels); };
    if (provisioning.tracked && std::ranges::none_of(provisioning.with_room, reaches))
      return kNoRoom;
    return kNone;
  }

  PodClaims claims_;
  const cluster::Snapshot& snapshot_;
};

class VolumeBinding final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    std::vector<const model::PersistentVolumeClaim*> claims;
    for (const model::Volume& volume : pod.volumes.volumes) {
      const auto name = fit::ClaimName(volume, pod.name);
      if (!name) continue;
      const auto* claim = snapshot.facts().claims.Find(pod.namespace_, *name);
      if (std::string why = WhyUnusable(volume, *name, claim, pod); !why.empty()) {
        return fit::Preparation::Reject(Unresolvable(std::move(why)));
      }
      claims.push_back(claim);
    }
    if (claims.empty()) return fit::Preparation::Skip().ForSpec();
    return Sort(claims, snapshot);
  }

 private:
  static std::string WhyUnusable(const model::Volume& volume, const std::string& name,
                                 const model::PersistentVolumeClaim* claim,
                                 const cluster::PodView& pod) {
    const bool ephemeral = !volume.claim_name;
    if (claim == nullptr) {
      return ephemeral
                 ? "waiting for ephemeral volume controller to create the persistentvolumeclaim " +
                       fit::Quoted(name)
                 : fit::ClaimNotFound(name);
    }
    const std::string shown = "persistentvolumeclaim " + fit::Quoted(claim->metadata.name);
    if (claim->status.phase == "Lost") {
      return shown + " bound to non-existent persistentvolume " +
             fit::Quoted(claim->spec.volume_name);
    }
    if (claim->metadata.deletion_timestamp) return shown + " is being deleted";
    return ephemeral && !fit::IsMadeFor(*claim, pod) ? fit::NotMadeForText(*claim, pod) : "";
  }

  // Bound, waiting for a consumer, or neither: then the pod has to wait.
  static fit::Preparation Sort(const std::vector<const model::PersistentVolumeClaim*>& claims,
                               const cluster::Snapshot& snapshot) {
    PodClaims sorted;
    bool immediate = false;
    for (const model::PersistentVolumeClaim* claim : claims) {
      const bool named = !claim->spec.volume_name.empty();
      if (named && claim->metadata.annotations.contains(kBindCompleted)) {
        sorted.bound.push_back(MakeBound(*claim, snapshot));
        continue;
      }
      const std::string_view class_name = fit::ClassOf(*claim);
      const model::StorageClass* storage_class =
          class_name.empty() ? nullptr : snapshot.facts().storage_classes.Find(class_name);
      if (storage_class != nullptr && !storage_class->volume_binding_mode) {
        return fit::Preparation::Reject(Failed(fit::BindingModeNotSet(class_name)));
      }
      if (!named && storage_class != nullptr &&
          *storage_class->volume_binding_mode == fit::kWaitForFirstConsumer) {
        sorted.waiting.push_back(MakeWaiting(*claim, *storage_class, snapshot));
      } else {
        immediate = true;
      }
    }
    if (immediate) {
      return fit::Preparation::Reject(
          Unresolvable("pod has unbound immediate PersistentVolumeClaims"));
    }
    Order(sorted.waiting);
    return fit::Preparation::Ask(std::make_unique<BindingCheck>(std::move(sorted), snapshot));
  }
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
    return std::make_unique<VolumeBinding>();
  });
}

}  // namespace coppice::filters::volume_binding
