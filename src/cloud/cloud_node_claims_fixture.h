// What the tests of CloudNodeClaims stand on.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "cloud/cloud_node_claims.h"
#include "cloud/fake_cloud.h"
#include "test/support/must.h"

namespace coppice::cloud {

inline NodeClassInput AClass(const std::string& name = "default") {
  NodeClassInput input{.kind = {kNodeClassGroup, kNodeClassVersion, kNodeClassKindName}};
  input.node_class.metadata.name = name;
  input.node_class.spec.image = "debian-12";
  return input;
}

inline model::NodePool APool(const std::string& name = "general") {
  model::NodePool pool;
  pool.metadata.name = name;
  pool.spec.template_.spec.node_class_ref = {kNodeClassGroup, kNodeClassKindName, "default"};
  return pool;
}

inline model::NodeClaim AClaim(const std::string& name, const std::string& pool = "general") {
  model::NodeClaim claim;
  claim.metadata.name = name;
  claim.metadata.uid = "uid-" + name;
  claim.metadata.labels[model::kNodePoolLabel] = pool;
  claim.spec.node_class_ref = {kNodeClassGroup, kNodeClassKindName, "default"};
  claim.spec.requests["cpu"] = model::Quantity::FromMillis(500);
  return claim;
}

// Two sizes in two zones, on-demand and spot.
inline std::vector<Flavor> SpotFlavors() {
  std::vector<Flavor> flavors;
  for (const int64_t cores : {2, 8}) {
    Flavor flavor{.name = "f" + std::to_string(cores),
                  .cpu_millis = cores * 1000,
                  .memory_bytes = cores * (4LL << 30),
                  .disk_bytes = 50LL << 30,
                  .zones = {"zone1", "zone2"}};
    const double price = static_cast<double>(cores) * 0.05;
    for (const std::string& zone : flavor.zones) {
      flavor.offerings.push_back({zone, kOnDemandCapacity, price});
      flavor.offerings.push_back({zone, kSpotCapacity, price * 0.5});
    }
    flavors.push_back(std::move(flavor));
  }
  return flavors;
}

class CloudNodeClaimsTest : public testing::Test {
 protected:
  CloudNodeClaimsTest() {
    options.cluster = "prod";
    options.name = "fake";
    Restart();
  }

  // Another process on the same cloud.
  void Restart() {
    claims = CloudNodeClaims::Create({cloud, workers, clock, rng, log, metrics}, options);
    claims->SetClasses(classes);
    EXPECT_OK(claims->Refresh(Soon()));
  }
  void Classes(std::vector<NodeClassInput> all) {
    classes = std::move(all);
    claims->SetClasses(classes);
    EXPECT_OK(claims->Refresh(Soon()));
  }
  Deadline Soon() { return Deadline::In(clock, std::chrono::seconds(30)); }
  void Pass(Duration time) {
    clock.Advance(time);
    EXPECT_OK(claims->Refresh(Soon()));
  }
  model::NodeClaim Launched(const std::string& name, const std::string& pool = "general") {
    model::NodeClaim claim = AClaim(name, pool);
    EXPECT_OK(TakeOver(MUST(claims->Create(claim, Soon())), claim));
    return claim;
  }
  std::string Label(const model::NodeClaim& claim, std::string_view key) {
    const std::string* value = claim.metadata.labels.Find(key);
    return value == nullptr ? "" : *value;
  }
  bool IsAvailable(const std::string& type, const std::string& zone, const std::string& way) {
    const auto types = MUST(claims->InstanceTypesFor(APool(), {}));
    for (const InstanceType& one : *types) {
      if (one.name != type) continue;
      for (const Offering& offering : one.offerings) {
        if (offering.Zone() == zone && offering.CapacityType() == way) return offering.available;
      }
    }
    ADD_FAILURE() << "no " << way << " of " << type << " in " << zone;
    return false;
  }
  // Creates answer as the queue says, then normally.
  void AnswerCreates(std::deque<FakeAnswer> answers) {
    cloud.on_create = [answers = std::move(answers)](const MachineSpec&) mutable {
      if (answers.empty()) return FakeAnswer{};
      FakeAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    };
  }

  FakeClock clock;
  FakeCloud cloud{clock};
  InlineWorkers workers;
  SeededRng rng{7};
  Log log = Log::Null();
  Metrics metrics;
  CloudNodeClaimsOptions options;
  std::vector<NodeClassInput> classes = {AClass()};
  std::unique_ptr<CloudNodeClaims> claims;
};

}  // namespace coppice::cloud
