// random: any of them.

#include "expand/expander.h"

namespace coppice::expanders::random {
namespace {

class Random final : public expand::Expander {
 public:
  explicit Random(Rng& rng) : rng_(rng) {}

  expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
    if (options.empty()) return {};
    return {options[rng_.Below(options.size())]};
  }
  bool PicksOne() const override { return true; }

 private:
  Rng& rng_;
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("random", [](const expand::ExpanderContext& context) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Random>(context.rng));
  });
}

}  // namespace coppice::expanders::random
