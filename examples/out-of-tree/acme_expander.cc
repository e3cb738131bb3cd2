// The expander: a pure function that narrows the options. Acme prefers groups with a green label
// and lets the next expander of the chain decide when there are several, or none.
//
//   --expander=acme-green,least-waste

#include <algorithm>
#include <memory>

#include "acme.h"

namespace acme {
namespace {

using namespace coppice;  // NOLINT

class Green final : public expand::Expander {
 public:
  expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
    expand::Options green;
    std::ranges::copy_if(options, std::back_inserter(green), [](const expand::Option* option) {
      const std::string* label = option->node == nullptr
                                     ? nullptr
                                     : option->node->metadata.labels.Find("acme.example/green");
      return label != nullptr && *label == "true";
    });
    return green.empty() ? options : green;
  }
};

}  // namespace

void Register(expand::ExpanderRegistry& expanders) {
  expanders.Add("acme-green", [](const expand::ExpanderContext&) {
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Green>());
  });
}

}  // namespace acme
