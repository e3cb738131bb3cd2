// most-pods: whichever helps the most pods at once.

#include <algorithm>

#include "expand/expander.h"

namespace coppice::expanders::most_pods {
namespace {

class MostPods final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    size_t most = 0;
    for (const expand::Option* option : options) {
      most = std::max(most, option->pods.size());
      if (around.measured) {
        around.measured(*option, static_cast<double>(option->pods.size()),
                        "helps " + std::to_string(option->pods.size()) + " pods");
      }
    }
    expand::Options best;
    std::ranges::copy_if(options, std::back_inserter(best),
                         [most](const expand::Option* o) { return o->pods.size() == most; });
    return best;
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& registry) {
  registry.Add("most-pods", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<MostPods>());
  });
}

}  // namespace coppice::expanders::most_pods
