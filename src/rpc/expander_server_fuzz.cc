// Any bytes as a request to the expander's server: no crash, and every answer names only groups
// that were offered.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string_view>

#include "base/fake_clock.h"
#include "rpc/expander_messages.h"
#include "rpc/expander_server.h"

namespace {

using coppice::expand::Option;
using coppice::expand::Options;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Looks at everything that an expander may look at.
class Looks final : public coppice::expand::Expander {
 public:
  Options Narrow(const Options& options, const coppice::expand::Surroundings&) override {
    Options kept;
    for (const Option* option : options) {
      size_t seen = option->debug.size();
      if (option->node != nullptr) seen += option->node->metadata.name.size();
      for (const auto* pod : option->pods) seen += pod->spec.containers.size();
      if (seen % 2 == 0) kept.push_back(option);
    }
    return kept;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static coppice::FakeClock clock;
  static coppice::SeededRng rng(1);
  static const coppice::Log log = coppice::Log::Null();
  static coppice::Metrics metrics;
  coppice::expand::ExpanderRegistry registry("expander");
  registry.Add("looks", [](const coppice::expand::ExpanderContext&) {
    return coppice::Result<std::unique_ptr<coppice::expand::Expander>>(std::make_unique<Looks>());
  });
  auto chain = coppice::expand::Chain::Create(
      {"looks"}, registry, {.clock = clock, .rng = rng, .log = log, .metrics = metrics});
  Require(chain.ok());
  const auto service = coppice::rpc::ExpanderService({.chain = *chain, .log = log});
  const std::string_view request(reinterpret_cast<const char*>(data), size);
  const auto answer = service.methods.at(0).handler({.request = request});
  if (!answer.status.ok()) {
    Require(!answer.status.message().empty());
    return 0;
  }
  const auto offered = coppice::rpc::ParseBestOptionsRequest(request);
  Require(offered.ok());
  std::set<std::string_view> known;
  for (const Option& option : (*offered)->options) known.insert(option.group);
  const auto groups = coppice::rpc::ParseBestOptionsResponse(answer.bytes.view());
  Require(groups.ok());
  for (const auto& group : *groups) Require(known.contains(group));
  return 0;
}
