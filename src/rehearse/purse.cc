#include "rehearse/purse.h"

#include <algorithm>

#include "cloud/pricing.h"

namespace coppice::rehearse {

Purse::Purse(sim::Model& model, Outcome& outcome) : model_(model), outcome_(outcome) {
  if (auto flavors = model.cloud.Flavors(Deadline::Never()); flavors.ok())
    flavors_ = *std::move(flavors);
  for (const cloud::GroupConfig& group : model.groups()) {
    if (group.price_per_hour) group_prices_[group.name] = *group.price_per_hour;
  }
  last_ = model.agenda.Now();
  for (const cloud::Machine& machine : model.cloud.Truth()) Came(machine);
  outcome_.bought = 0;
  model.cloud.hooks.created = [this](const cloud::Machine& machine) { Came(machine); };
  model.cloud.hooks.ended = [this](const cloud::ProviderId& id) { Went(id); };
}

double Purse::PriceOf(const cloud::Machine& machine) const {
  if (const auto tag = machine.tags.find(cloud::kGroupTag); tag != machine.tags.end()) {
    const auto own = group_prices_.find(tag->second);
    if (own != group_prices_.end()) return own->second;
  }
  const auto flavor = std::ranges::find(flavors_, machine.flavor, &cloud::Flavor::name);
  if (flavor != flavors_.end())
    return cloud::FlavorPricePerHour(*flavor, machine.zone, machine.capacity_type).value_or(0);
  const auto grid = model_.cloud.Grid();
  const auto measure = grid ? grid->Parse(machine.flavor) : std::nullopt;
  if (!measure) return 0;
  return cloud::FlavorPricePerHour(grid->FlavorOf(*measure), machine.zone, machine.capacity_type)
      .value_or(0);
}

void Purse::Charge() {
  const double hours =
      std::chrono::duration<double, std::ratio<3600>>(model_.agenda.Now() - last_).count();
  last_ = model_.agenda.Now();
  outcome_.cost += rate_ * hours;
  outcome_.machine_hours += static_cast<double>(prices_.size()) * hours;
}

void Purse::Came(const cloud::Machine& machine) {
  Charge();
  const double price = PriceOf(machine);
  if (!prices_.emplace(machine.id, price).second) return;
  rate_ += price;
  ++outcome_.bought;
  outcome_.peak_machines = std::max(outcome_.peak_machines, machines());
}

void Purse::Went(const cloud::ProviderId& id) {
  const auto found = prices_.find(id);
  if (found == prices_.end()) return;
  Charge();
  rate_ -= found->second;
  ++outcome_.removed;
  prices_.erase(found);
}

}  // namespace coppice::rehearse
