// One pod and one place: an existing node, a planned claim, a new one.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "provision/solve_run.h"

namespace coppice::provision {
namespace {

bool ExceedsLimits(const std::map<std::string, int64_t>& limits, const VolumesByDriver& there,
                   const VolumesByDriver& more) {
  return std::ranges::any_of(limits, [&](const auto& limit) {
    const auto& [driver, most] = limit;
    std::set<std::string> all;
    for (const VolumesByDriver* volumes : {&there, &more}) {
      const auto it = volumes->find(driver);
      if (it != volumes->end()) all.insert(it->second.begin(), it->second.end());
    }
    return static_cast<int64_t>(all.size()) > most;
  });
}

bool HasRoom(const DenseAmounts& remaining, const SparseAmounts& requests) {
  return std::ranges::all_of(
      requests, [&](const auto& entry) { return entry.second <= remaining[entry.first]; });
}

}  // namespace

bool SolveRun::PlaceOnNode(size_t pod, RunClass& of) {
  for (size_t word = 0; word < of.ruled_out_nodes.size(); ++word) {
    for (uint64_t left = ~of.ruled_out_nodes[word]; left != 0; left &= left - 1) {
      const size_t rank = word * kBitsPerWord + static_cast<size_t>(std::countr_zero(left));
      if (rank >= nodes_.size()) break;
      const TopologyVerdict verdict = TryNode(of, rank);
      if (verdict == TopologyVerdict::kNever) SetBit(of.ruled_out_nodes, rank);
      if (verdict != TopologyVerdict::kYes) continue;
      CommitNode(pod, of, rank, node_set_);
      return true;
    }
  }
  return false;
}

TopologyVerdict SolveRun::TryNode(RunClass& of, size_t rank) {
  const PodClass& pods = *of.pods;
  const size_t at = world_.node_order[rank];
  const NodeRecord& record = world_.nodes[at];
  const Node& node = nodes_[rank];
  if (request_.is_consolidation && world_.input.nodes[at].settling && !pods.may_join_settling)
    return TopologyVerdict::kNever;
  if (node.overdrawn || !HasRoom(node.remaining, pods.requests) ||
      !world_.taints.Tolerates(pods.tolerations, record.taints) ||
      !HostMeets(&record.host, pods.demands.host) ||
      !algebra_.Compatible(node.set, pods.demands.set, false)) {
    return TopologyVerdict::kNever;
  }
  if (!pods.ports.empty() && Clash(pods.ports, node.ports)) return TopologyVerdict::kNever;
  if (!record.volume_limits.empty() &&
      ExceedsLimits(record.volume_limits, node.volumes, pods.volumes)) {
    return TopologyVerdict::kNever;
  }
  const SetId base = algebra_.Add(node.set, pods.demands.set);
  if (pods.volume_alternatives.empty()) {
    return Narrow(of, base, record.taints, record.host, record.host_id, false, node_set_, nullptr);
  }
  for (const HostedSet& alternative : pods.volume_alternatives) {
    if (!algebra_.Compatible(base, alternative.set, false) ||
        !HostMeets(&record.host, alternative.host)) {
      continue;
    }
    const SetId with = algebra_.Add(base, alternative.set);
    if (Narrow(of, with, record.taints, record.host, record.host_id, false, node_set_, nullptr) ==
        TopologyVerdict::kYes) {
      return TopologyVerdict::kYes;
    }
  }
  return TopologyVerdict::kNotNow;
}

TopologyVerdict SolveRun::Narrow(RunClass& of, SetId base, TaintsId taints, const std::string& host,
                                 HostId host_id, bool is_claim, SetId& narrowed,
                                 TemplateRefusal* refusal) {
  GroupIndex refusing = 0;
  narrowed = base;
  const TopologyVerdict verdict =
      topology_->Check(of.rules, {.set = base, .taints = taints, .host = &host, .host_id = host_id},
                       narrowing_, refusing);
  if (verdict != TopologyVerdict::kYes) {
    if (refusal != nullptr) {
      refusal->what = TemplateRefusal::What::kTopology;
      refusal->group = refusing;
      refusal->offer = base;
      refusal->host = host;
    }
    return verdict;
  }
  bool compatible = true;
  for (const ReqId domains : narrowing_) {
    const KeyId key = algebra_.key_of(domains);
    const ReqId there = algebra_.Find(base, key);
    const ReqId both = there == kNoId ? domains : algebra_.Intersection(there, domains);
    if (there != kNoId) {
      compatible = compatible && algebra_.Meet(there, both);
    } else {
      compatible = compatible && ((is_claim && algebra_.is_well_known(key)) ||
                                  model::AcceptsAbsence(algebra_.requirement(both).op()));
    }
    if (!compatible && refusal == nullptr) return TopologyVerdict::kNotNow;
    narrowed = algebra_.AddOne(narrowed, both);
  }
  if (compatible) return TopologyVerdict::kYes;
  refusal->what = TemplateRefusal::What::kTopologyIncompatible;
  refusal->offer = base;
  refusal->demand = narrowed;
  return TopologyVerdict::kNotNow;
}

void SolveRun::CommitNode(size_t pod, RunClass& of, size_t rank, SetId set) {
  const NodeRecord& record = world_.nodes[world_.node_order[rank]];
  Node& node = nodes_[rank];
  node.pods.push_back(pod);
  for (const auto& [column, amount] : of.pods->requests) node.remaining[column] -= amount;
  if (algebra_.Loosened(node.set, set, false)) ForgetNode(rank);
  node.set = set;
  topology_->Record(
      of.rules,
      {.set = set, .taints = record.taints, .host = &record.host, .host_id = record.host_id});
  node.ports.insert(node.ports.end(), of.pods->ports.begin(), of.pods->ports.end());
  for (const auto& [driver, names] : of.pods->volumes)
    node.volumes[driver].insert(names.begin(), names.end());
}

void SolveRun::ForgetNode(size_t rank) {
  if (!is_target_[world_.node_order[rank]]) return;
  for (auto& of : run_classes_) ClearBit(of->ruled_out_nodes, rank);
}

void SolveRun::ForgetClaim(uint32_t claim) {
  for (auto& of : run_classes_) {
    if (of->ruled_out_claims.size() * kBitsPerWord > claim) ClearBit(of->ruled_out_claims, claim);
  }
}

bool SolveRun::PlaceOnClaim(size_t pod, RunClass& of) {
  if (of.ruled_out_claims.size() < WordsFor(claims_.size()))
    of.ruled_out_claims.resize(2 * WordsFor(claims_.size()), 0);
  const std::vector<uint32_t>& order = order_.order();
  for (size_t position = 0; position < order.size(); ++position) {
    const uint32_t claim = order[position];
    if (HasBit(of.ruled_out_claims, claim)) continue;
    const TopologyVerdict verdict = TryClaim(of, claim);
    if (verdict == TopologyVerdict::kNever) SetBit(of.ruled_out_claims, claim);
    if (verdict != TopologyVerdict::kYes) continue;
    order_.GotPod(position);
    CommitClaim(pod, of, claim, std::move(fit_));
    return true;
  }
  return false;
}

TopologyVerdict SolveRun::TryClaim(RunClass& of, uint32_t id) {
  const PodClass& pods = *of.pods;
  Claim& claim = claims_[id];
  if (!world_.taints.Tolerates(pods.tolerations, claim.from->taints) ||
      !HostMeets(&claim.host, pods.demands.host) ||
      !algebra_.Compatible(claim.set, pods.demands.set, true)) {
    return TopologyVerdict::kNever;
  }
  const Bits* among = &claim.types;
  Bits fewer;
  if (!pods.volumes.empty()) {
    fewer = claim.types;
    if (!FitsVolumes(pods, claim, fewer, nullptr)) return TopologyVerdict::kNever;
    among = &fewer;
  }
  const auto host_id = static_cast<HostId>(world_.host_names.size() + id);
  const SetId base = algebra_.Add(claim.set, pods.demands.set);
  // Without topology first: a no is final then.
  if (!Filter(of, claim, *among, base, false, fit_, nullptr)) return TopologyVerdict::kNever;
  if (pods.volume_alternatives.empty()) {
    SetId narrowed = base;
    const TopologyVerdict verdict =
        Narrow(of, base, claim.from->taints, claim.host, host_id, true, narrowed, nullptr);
    if (verdict != TopologyVerdict::kYes) return verdict;
    if (narrowed != base && !Filter(of, claim, *among, narrowed, false, fit_, nullptr))
      return TopologyVerdict::kNotNow;
    return Reserve(claim, fit_, nullptr) ? TopologyVerdict::kYes : TopologyVerdict::kNotNow;
  }
  for (const HostedSet& alternative : pods.volume_alternatives) {
    if (!algebra_.Compatible(base, alternative.set, true) ||
        !HostMeets(&claim.host, alternative.host)) {
      continue;
    }
    SetId narrowed = 0;
    if (Narrow(of, algebra_.Add(base, alternative.set), claim.from->taints, claim.host, host_id,
               true, narrowed, nullptr) == TopologyVerdict::kYes &&
        Filter(of, claim, *among, narrowed, false, fit_, nullptr) &&
        Reserve(claim, fit_, nullptr)) {
      return TopologyVerdict::kYes;
    }
  }
  return TopologyVerdict::kNotNow;
}

void SolveRun::CommitClaim(size_t pod, RunClass& of, uint32_t id, Fit fit) {
  Claim& claim = claims_[id];
  const auto host_id = static_cast<HostId>(world_.host_names.size() + id);
  claim.pods.push_back(pod);
  AddAmounts(claim.requests, of.pods->requests);
  if (algebra_.Loosened(claim.set, fit.set, true)) ForgetClaim(id);
  claim.set = fit.set;
  std::swap(claim.types, fit.types);
  std::swap(fit_.types, fit.types);  // its memory is used again
  topology_->Touch(host_id, claim.host);
  topology_->Record(
      of.rules,
      {.set = claim.set, .taints = claim.from->taints, .host = &claim.host, .host_id = host_id});
  claim.ports.insert(claim.ports.end(), of.pods->ports.begin(), of.pods->ports.end());
  for (const auto& [driver, names] : of.pods->volumes)
    claim.volumes[driver].insert(names.begin(), names.end());
  for (const std::string& reservation : fit.reserved) {
    if (!claim.reserved.contains(reservation)) --reservations_[reservation];
  }
  for (const std::string& reservation : claim.reserved) {
    if (!fit.reserved.contains(reservation)) ++reservations_[reservation];
  }
  claim.reserved = std::move(fit.reserved);
}

bool SolveRun::PlaceOnNew(size_t pod, RunClass& of, Refusal& refusal) {
  for (size_t at = 0; at < world_.templates.size(); ++at) {
    const ClaimTemplate& from = world_.templates[at];
    TemplateRefusal why{.template_index = at, .run_class = run_class_of_[of.id]};
    const Bits* types = WithinLimits(from, why);
    if (types != nullptr) {
      Claim claim{.from = &from, .set = from.set, .types = *types};
      claim.requests.assign(world_.columns.size(), 0);
      claim.host = fmt::format("hostname-placeholder-{:04}", ++hosts_made_);
      if (TryTemplate(of, at, claim, why)) {
        claim.min_values_relaxed = fit_.min_values_relaxed;
        last_relaxed_[at] = fit_.min_values_relaxed;
        claims_.push_back(std::move(claim));
        order_.Append();
        CommitClaim(pod, of, static_cast<uint32_t>(claims_.size() - 1), std::move(fit_));
        TakeFromLimits(claims_.back());
        return true;
      }
    }
    const bool waits = why.what == TemplateRefusal::What::kReservation;
    refusal.templates.push_back(std::move(why));
    if (waits) {  // a pool of less weight is no way around a reservation
      refusal.kind = PodErrorKind::kReservation;
      return false;
    }
  }
  return false;
}

bool SolveRun::TryTemplate(RunClass& of, size_t at, Claim& claim, TemplateRefusal& refusal) {
  using What = TemplateRefusal::What;
  const PodClass& pods = *of.pods;
  const ClaimTemplate& from = world_.templates[at];
  const auto host_id = static_cast<HostId>(world_.host_names.size() + claims_.size());
  if (!world_.taints.Tolerates(pods.tolerations, from.taints)) {
    refusal.what = What::kTaints;
    return false;
  }
  if (!pods.volumes.empty() && !FitsVolumes(pods, claim, claim.types, &refusal.text)) {
    refusal.what = What::kVolumeLimit;
    return false;
  }
  if (!algebra_.Compatible(from.set, pods.demands.set, true) ||
      !HostMeets(&claim.host, pods.demands.host)) {
    refusal.what = What::kIncompatible;
    refusal.offer = from.set;
    refusal.host = claim.host;
    return false;
  }
  const SetId base = algebra_.Add(from.set, pods.demands.set);
  const bool may_relax = world_.options.min_values == MinValuesPolicy::kBestEffort;
  const size_t alternatives = std::max<size_t>(1, pods.volume_alternatives.size());
  for (size_t one = 0; one < alternatives; ++one) {
    SetId with = base;
    if (!pods.volume_alternatives.empty()) {
      const HostedSet& alternative = pods.volume_alternatives[one];
      if (!algebra_.Compatible(base, alternative.set, true) ||
          !HostMeets(&claim.host, alternative.host)) {
        refusal.what = What::kIncompatibleVolumes;
        refusal.offer = base;
        refusal.alternative = one;
        refusal.host = claim.host;
        continue;
      }
      with = algebra_.Add(base, alternative.set);
    }
    SetId narrowed = with;
    if (Narrow(of, with, from.taints, claim.host, host_id, true, narrowed, &refusal) ==
            TopologyVerdict::kYes &&
        Filter(of, claim, claim.types, narrowed, may_relax, fit_, &refusal) &&
        Reserve(claim, fit_, &refusal)) {
      return true;
    }
  }
  return false;
}

}  // namespace coppice::provision
