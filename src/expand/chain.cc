#include "expand/chain.h"

#include <algorithm>

namespace coppice::expand {

Result<Chain> Chain::Create(const std::vector<std::string>& names, const ExpanderRegistry& registry,
                            const ExpanderContext& context) {
  Chain chain(context.rng);
  for (const std::string& name : names) {
    const bool seen =
        std::ranges::any_of(chain.links_, [&](const auto& l) { return l.first == name; });
    if (seen) {
      return InvalidArgument(
          "Expander " + name +
          " was specified multiple times, each expander must not be specified more than once");
    }
    if (!chain.links_.empty() && chain.links_.back().second->PicksOne()) {
      return InvalidArgument(
          "Expander " + name + " came after an expander " + chain.links_.back().first +
          " that will always return only one result, this is not allowed since " + name +
          " will never be used");
    }
    if (!registry.Has(name)) {
      return InvalidArgument("Expander " + name +
                             " not supported; there are: " + Join(registry.names(), ", "));
    }
    auto expander = TRY(registry.Make(name, context).Context("making the expander " + name));
    chain.links_.emplace_back(name, std::move(expander));
  }
  return chain;
}

Choice Chain::Choose(const Options& options, const Surroundings& surroundings, bool first_of_tie) {
  Choice choice;
  choice.survivors = options;
  for (auto& [name, expander] : links_) {
    choice.survivors = expander->Narrow(choice.survivors, surroundings);
    ChainStep step{name, {}};
    for (const Option* option : choice.survivors) step.survivors.push_back(option->group);
    choice.steps.push_back(std::move(step));
    if (choice.survivors.size() == 1) break;
  }
  if (choice.survivors.empty()) return choice;
  choice.by_lot = choice.survivors.size() > 1;
  const size_t drawn = choice.by_lot && !first_of_tie ? rng_->Below(choice.survivors.size()) : 0;
  choice.chosen = choice.survivors[drawn];
  return choice;
}

bool Chain::Blocks() const {
  return std::ranges::any_of(links_, [](const auto& link) { return link.second->Blocks(); });
}

}  // namespace coppice::expand
