#include "expand/chain.h"

#include <algorithm>

namespace coppice::expand {
namespace {

// One link on the calling thread.
ChainStep RunHere(const std::string& name, Expander& expander, Options& survivors,
                  const Surroundings& around) {
  ChainStep step{name, {}};
  Surroundings noting = around;
  noting.note = [&step](std::string sentence) { step.note = std::move(sentence); };
  noting.measured = [&step](const Option& option, double value, std::string text) {
    step.measured.push_back({option.group, value, std::move(text)});
  };
  survivors = expander.Narrow(survivors, noting);
  return step;
}

// One link elsewhere. What belongs to our own thread is kept from it: ConfigMaps are refused, and
// warnings wait until it is back.
Task<ChainStep> RunThere(const std::string& name, Expander& expander, Options& survivors,
                         const Surroundings& around, const Elsewhere& elsewhere) {
  ChainStep step{name, {}};
  std::vector<std::pair<std::string, std::string>> warnings;
  Surroundings apart = around;
  apart.note = [&step](std::string sentence) { step.note = std::move(sentence); };
  apart.measured = [&step](const Option& option, double value, std::string text) {
    step.measured.push_back({option.group, value, std::move(text)});
  };
  apart.warn = [&warnings](std::string_view reason, std::string text) {
    warnings.emplace_back(reason, std::move(text));
  };
  apart.config_map = [](std::string_view, std::string_view) -> Result<std::string> {
    return Unimplemented("an expander that blocks cannot read ConfigMaps");
  };
  Options narrowed;
  const std::function<void()> work = [&] { narrowed = expander.Narrow(survivors, apart); };
  const Status ran = co_await elsewhere(work);
  if (ran.ok()) {
    survivors = std::move(narrowed);
  } else {
    step.note = "could not be run, all options are kept: " + ran.message();
  }
  for (auto& [reason, text] : warnings) {
    if (around.warn) around.warn(reason, std::move(text));
  }
  co_return step;
}

// Adds the step; true if there is no more to choose.
bool Finish(Choice& choice, ChainStep step) {
  for (const Option* option : choice.survivors) step.survivors.push_back(option->group);
  choice.steps.push_back(std::move(step));
  return choice.survivors.size() == 1;
}

}  // namespace

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
    ChainStep step = RunHere(name, *expander, choice.survivors, surroundings);
    if (Finish(choice, std::move(step))) break;
  }
  Draw(choice, first_of_tie);
  return choice;
}

Task<Choice> Chain::ChooseElsewhere(const Options& options, const Surroundings& surroundings,
                                    const Elsewhere& elsewhere, bool first_of_tie) {
  Choice choice;
  choice.survivors = options;
  for (auto& [name, expander] : links_) {
    ChainStep step;
    if (elsewhere && expander->Blocks()) {
      step = co_await RunThere(name, *expander, choice.survivors, surroundings, elsewhere);
    } else {
      step = RunHere(name, *expander, choice.survivors, surroundings);
    }
    if (Finish(choice, std::move(step))) break;
  }
  Draw(choice, first_of_tie);
  co_return choice;
}

void Chain::Draw(Choice& choice, bool first_of_tie) {
  if (choice.survivors.empty()) return;
  choice.by_lot = choice.survivors.size() > 1;
  const size_t drawn = choice.by_lot && !first_of_tie ? rng_->Below(choice.survivors.size()) : 0;
  choice.chosen = choice.survivors[drawn];
}

bool Chain::Blocks() const {
  return std::ranges::any_of(links_, [](const auto& link) { return link.second->Blocks(); });
}

}  // namespace coppice::expand
