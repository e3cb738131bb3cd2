#include "base/fake_clock.h"
#include "cloud/cloud.h"
#include "test/conformance/cloud_suite.h"

namespace coppice::clouds::fresh_cloud {
void Register(cloud::CloudRegistry&);
}  // namespace coppice::clouds::fresh_cloud

namespace coppice::conformance {

struct FreshCloudUnderTest {
  FreshCloudUnderTest() {
    cloud::CloudRegistry registry("cloud");
    clouds::fresh_cloud::Register(registry);
    made = MUST(registry.Make(
        "fresh-cloud", cloud::CloudContext{fake_clock, rng, log, metrics, yaml::Node(), problems}));
  }
  cloud::Cloud& cloud() { return *made; }
  Clock& clock() { return fake_clock; }
  cloud::MachineSpec ASpec(const std::string& name) {
    return {.name = name, .flavor = "medium", .zone = "here", .image = "debian-12"};
  }
  cloud::ProviderId AnUnknownId() { return "fresh-cloud://4711"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }

  FakeClock fake_clock;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  yaml::Problems problems;
  std::unique_ptr<cloud::Cloud> made;
};
INSTANTIATE_TYPED_TEST_SUITE_P(FreshCloud, CloudSuite, FreshCloudUnderTest);

}  // namespace coppice::conformance
