// Chain: expanders one after the other, until one option is left; what still ties is drawn by lot.
//
// Lives on one thread. Choose() runs every link there; ChooseElsewhere() hands the links that block
// to somebody else's thread and goes on when they are done.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "expand/expander.h"

namespace coppice::expand {

// What an expander measured of one option.
struct Measured {
  std::string group;
  double value = 0;
  std::string text;
};

// What happened at one link, for the report.
struct ChainStep {
  std::string expander;
  std::vector<std::string> survivors;  // group ids
  std::string note = {};               // what the expander had to say
  std::vector<Measured> measured = {};
};

struct Choice {
  const Option* chosen = nullptr;  // null: nothing was left
  bool by_lot = false;             // several were left after the last expander
  Options survivors;               // of the last expander
  std::vector<ChainStep> steps;
};

// Runs a piece of work on another thread; fails if it was not run. Null: here and now.
using Elsewhere = std::function<Task<Status>(std::function<void()> work)>;

class Chain {
 public:
  // Refuses unknown names, a name twice, and anything after an expander that always picks one.
  static Result<Chain> Create(const std::vector<std::string>& names,
                              const ExpanderRegistry& registry, const ExpanderContext& context);

  // `first_of_tie`: take the first survivor instead of drawing, for replays.
  Choice Choose(const Options& options, const Surroundings& surroundings,
                bool first_of_tie = false);

  // The same answer. `options`, `surroundings` and `elsewhere` outlive the task. A link that could
  // not be run narrows nothing.
  Task<Choice> ChooseElsewhere(const Options& options, const Surroundings& surroundings,
                               const Elsewhere& elsewhere, bool first_of_tie = false);

  bool Blocks() const;

 private:
  explicit Chain(Rng& rng) : rng_(&rng) {}

  void Draw(Choice& choice, bool first_of_tie);

  Rng* rng_;
  std::vector<std::pair<std::string, std::unique_ptr<Expander>>> links_;
};

}  // namespace coppice::expand
