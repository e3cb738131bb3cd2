// The shelf is held to what every provider of node claims must do: three lines, and what the shelf
// cannot do by itself (lose an answer) is done to it on the way.

#include "acme.h"
#include "base/fake_clock.h"
#include "test/conformance/flaky_node_claims.h"
#include "test/conformance/node_claims_suite.h"

namespace coppice::conformance {

class ShelfUnderTest {
 public:
  cloud::NodeClaims& claims() { return flaky_; }
  Clock& clock() { return clock_; }
  model::NodePool Pool() {
    model::NodePool pool;
    pool.metadata.name = "default";
    pool.spec.template_.spec.node_class_ref = {"acme.example", "ShelfClass", "default"};
    return pool;
  }
  void Settle() { clock_.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return flaky_.calls; }
  void LoseNextCreate() { flaky_.lose = true; }
  void RefuseNextCreate() { flaky_.refuse = true; }
  void FailNextList() { flaky_.fail_list = true; }

 private:
  static cloud::NodeClaimsRegistry& Filled(cloud::NodeClaimsRegistry& registry) {
    acme::Register(registry);
    return registry;
  }

  FakeClock clock_;
  SeededRng rng_{1};
  Metrics metrics_;
  const Log log_ = Log::Null();
  yaml::Problems problems_;
  cloud::NodeClaimsRegistry registry_{"node claim provider"};
  std::unique_ptr<cloud::NodeClaims> shelf_ = MUST(Filled(registry_).Make(
      "acme-shelf",
      cloud::NodeClaimsContext{clock_, rng_, log_, metrics_, yaml::Node(), problems_}));
  FlakyNodeClaims flaky_{*shelf_};
};
INSTANTIATE_TYPED_TEST_SUITE_P(AcmeShelf, NodeClaimsSuite, ShelfUnderTest);

}  // namespace coppice::conformance
