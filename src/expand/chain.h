// Chain: expanders one after the other, until one option is left; what still ties is drawn by lot.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expand/expander.h"

namespace coppice::expand {

// What happened at one link, for the report.
struct ChainStep {
  std::string expander;
  std::vector<std::string> survivors;  // group ids
};

struct Choice {
  const Option* chosen = nullptr;  // null: nothing was left
  bool by_lot = false;             // several were left after the last expander
  Options survivors;               // of the last expander
  std::vector<ChainStep> steps;
};

class Chain {
 public:
  // Refuses unknown names, a name twice, and anything after an expander that always picks one.
  static Result<Chain> Create(const std::vector<std::string>& names,
                              const ExpanderRegistry& registry, const ExpanderContext& context);

  // `first_of_tie`: take the first survivor instead of drawing, for replays.
  Choice Choose(const Options& options, const Surroundings& surroundings,
                bool first_of_tie = false);

  bool Blocks() const;

 private:
  explicit Chain(Rng& rng) : rng_(&rng) {}

  Rng* rng_;
  std::vector<std::pair<std::string, std::unique_ptr<Expander>>> links_;
};

}  // namespace coppice::expand
