// Which instance types are left for a claim: requirements, room, offerings, variety, reservations,
// volumes, limits.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "provision/solve_run.h"

namespace coppice::provision {

bool SolveRun::Filter(const RunClass& of, const Claim& claim, const Bits& among, SetId set,
                      bool may_relax, Fit& fit, TemplateRefusal* refusal) {
  using What = TemplateRefusal::What;
  const PodClass& pods = *of.pods;
  CatalogIndex& catalog = *claim.from->catalog;
  const Bits& matching = catalog.Matching(set);
  const Bits& offered = catalog.Offered(set);
  fit.set = set;
  fit.min_values_relaxed = false;
  fit.types.assign(WordsFor(catalog.size()), 0);
  scratch_requests_ = claim.requests;
  AddAmounts(scratch_requests_, pods.requests);
  TypeFlags flags;
  uint64_t looked_at = 0;
  const bool claim_clashes = !pods.ports.empty() && Clash(pods.ports, claim.ports);
  for (size_t at = 0; at < claim.from->daemons.size(); ++at) {
    const DaemonGroup& group = claim.from->daemons[at];
    if (claim_clashes || (!pods.ports.empty() && Clash(pods.ports, group.ports))) continue;
    if (at < kBitsPerWord) looked_at |= uint64_t{1} << at;
    const DenseAmounts* requests = &scratch_requests_;
    if (group.has_daemons) {
      scratch_amounts_ = scratch_requests_;
      AddAmounts(scratch_amounts_, group.amounts);
      requests = &scratch_amounts_;
    }
    catalog.Fitting(*requests, scratch_slots_);
    KeepOnly(scratch_slots_, offered);
    catalog.TypesOf(scratch_slots_, scratch_types_);
    KeepOnly(scratch_types_, group.types);
    KeepOnly(scratch_types_, among);  // types that fit where there is an offering
    if (refusal != nullptr) {
      Bits with_offering;
      catalog.TypesOf(offered, with_offering);
      Bits here = among;
      KeepOnly(here, group.types);
      KeepOnly(with_offering, here);
      Bits met = here;
      KeepOnly(met, matching);
      Bits unfit = with_offering;
      DropBits(unfit, scratch_types_);
      Bits unmet = scratch_types_;
      DropBits(unmet, matching);
      flags.requirements_met = flags.requirements_met || AnyBit(met);
      flags.fits = flags.fits || AnyBit(scratch_types_);
      flags.has_offering = flags.has_offering || AnyBit(with_offering);
      flags.requirements_and_offering = flags.requirements_and_offering || Overlap(unfit, met);
      flags.fits_and_offering = flags.fits_and_offering || AnyBit(unmet);
    }
    KeepOnly(scratch_types_, matching);
    AddBits(fit.types, scratch_types_);
  }
  bool any = AnyBit(fit.types);
  std::string wishes;
  if (any && algebra_.has_min_values(set)) {
    const auto wished = cloud::SatisfiesMinValues(catalog.List(fit.types), algebra_.Expand(set));
    if (!wished.met() && !may_relax) {
      any = false;
      wishes = wished.Error();
    } else if (!wished.met()) {
      fit.min_values_relaxed = true;
      for (const auto& [label, count] : wished.unmet) {
        model::NodeRequirement lowered =
            algebra_.requirement(algebra_.Find(set, algebra_.Key(label)));
        lowered.set_min_values(count);
        fit.set = algebra_.Replace(fit.set, algebra_.Intern(lowered));
      }
    }
  }
  if (!any && refusal != nullptr) {
    refusal->what = wishes.empty() ? What::kTypes : What::kMinValues;
    refusal->offer = set;
    refusal->flags = flags;
    refusal->daemon_groups = looked_at;
    refusal->text = std::move(wishes);
  }
  return any;
}

bool SolveRun::FitsVolumes(const PodClass& pods, const Claim& claim, Bits& among,
                           std::string* why) const {
  VolumesByDriver all = claim.volumes;
  for (const auto& [driver, names] : pods.volumes) all[driver].insert(names.begin(), names.end());
  const CatalogIndex& catalog = *claim.from->catalog;
  const Bits before = among;
  ForEachBit(before, [&](size_t type) {
    const auto& limits = catalog.type(type).volume_attachment_limits;
    for (const auto& [driver, names] : all) {
      const auto limit = limits.find(driver);
      if (limit != limits.end() && static_cast<int64_t>(names.size()) > limit->second)
        ClearBit(among, type);
    }
  });
  if (AnyBit(among)) return true;
  if (why == nullptr) return false;
  *why = "would exceed volume limit for all instance type options";
  // One driver that no type has enough room for, if there is one, is named.
  for (const auto& [driver, names] : all) {
    int64_t most = -1;
    bool exceeds_all = true;
    ForEachBit(before, [&](size_t type) {
      const auto& limits = catalog.type(type).volume_attachment_limits;
      const auto limit = limits.find(driver);
      if (limit == limits.end() || static_cast<int64_t>(names.size()) <= limit->second) {
        exceeds_all = false;
      } else {
        most = std::max(most, limit->second);
      }
    });
    if (!exceeds_all) continue;
    *why += fmt::format(" (provisioner={}, volume-count={}, volume-limit={})", driver, names.size(),
                        most);
    break;
  }
  return false;
}

bool SolveRun::Reserve(const Claim& claim, Fit& fit, TemplateRefusal* refusal) const {
  fit.reserved.clear();
  CatalogIndex& catalog = *claim.from->catalog;
  if (!world_.options.reserved_capacity || catalog.reserved().empty()) return true;
  bool has_capacity = false;
  bool is_full = false;
  for (const CatalogIndex::ReservedOffering& offering : catalog.reserved()) {
    if (!HasBit(fit.types, offering.type) ||
        !algebra_.Compatible(fit.set, offering.requirements, true)) {
      continue;
    }
    const auto credit = request_.credited_reservations.find(offering.id);
    const bool credited = credit != request_.credited_reservations.end() && credit->second != 0;
    if (offering.capacity == 0 && !credited) {
      is_full = true;
      continue;
    }
    has_capacity = true;
    const auto left = reservations_.find(offering.id);
    if (claim.reserved.contains(offering.id) || (left != reservations_.end() && left->second != 0))
      fit.reserved.insert(offering.id);
  }
  const bool strict = request_.reserved == ReservedMode::kStrict;
  const auto refuse = [&](TemplateRefusal::What what, std::string_view why) {
    if (refusal != nullptr) {
      refusal->what = what;
      refusal->text = why;
    }
    return false;
  };
  using What = TemplateRefusal::What;
  if (strict && has_capacity && fit.reserved.empty()) {
    return refuse(
        What::kReservation,
        "one or more instance types with compatible reserved offerings are available, but "
        "could not be reserved");
  }
  if (is_full && !has_capacity && !Overlap(fit.types, catalog.UnreservedTypes(fit.set))) {
    return strict
               ? refuse(What::kReservation,
                        "all compatible reserved offerings are full and no on-demand or spot "
                        "fallback is available")
               : refuse(What::kReservationPlain,
                        "the only compatible reserved offering is full; falling through to other "
                        "NodePools");
  }
  if (strict && !claim.reserved.empty() && fit.reserved.empty()) {
    return refuse(What::kReservation,
                  "satisfying updated nodeclaim constraints would remove all compatible reserved "
                  "offering options");
  }
  return true;
}

const Bits* SolveRun::WithinLimits(const ClaimTemplate& from, TemplateRefusal& refusal) {
  const SparseAmounts& left = limits_left_[from.pool];
  if (left.empty()) return &from.types;
  const Column nodes = world_.columns.Of("nodes");
  if (std::ranges::any_of(
          left, [&](const auto& entry) { return entry.first == nodes && entry.second == 0; })) {
    refusal.what = TemplateRefusal::What::kNodeLimit;
    return nullptr;
  }
  LimitFilter& filter = limit_filters_[static_cast<size_t>(&from - world_.templates.data())];
  if (!filter.known) {
    filter.known = true;
    filter.types = from.types;
    ForEachBit(from.types, [&](size_t type) {
      for (const auto& [column, amount] : left) {
        if (AmountOf(from.catalog->capacity(type), column) > amount) ClearBit(filter.types, type);
      }
    });
  }
  if (AnyBit(filter.types)) return &filter.types;
  refusal.what = TemplateRefusal::What::kLimits;
  return nullptr;
}

void SolveRun::TakeFromLimits(const Claim& claim) {
  SparseAmounts& left = limits_left_[claim.from->pool];
  if (left.empty()) return;
  const Column nodes = world_.columns.Of("nodes");
  // The largest that it might become.
  for (auto& [column, amount] : left) {
    Amount largest = 0;
    ForEachBit(claim.types, [&](size_t type) {
      largest = std::max(largest, AmountOf(claim.from->catalog->capacity(type), column));
    });
    if (column == nodes && !world_.options.upstream_exact)
      largest = ToAmount(model::Quantity::FromUnits(1));
    amount -= largest;
  }
  for (size_t at = 0; at < world_.templates.size(); ++at) {
    if (world_.templates[at].pool == claim.from->pool) limit_filters_[at].known = false;
  }
}

}  // namespace coppice::provision
