// Random sequences of claims that come and go, over a cloud that loses answers, lags, refuses and
// runs out of stock, with crashes in between. Whatever happens: never two machines for one claim,
// never somebody else's machine ended, and once it is quiet, a machine for every claim that was
// launched and none for nobody.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "cloud/cloud_node_claims_fixture.h"

namespace coppice::cloud {
namespace {

// Looks for the name before it creates, as the contract has it.
class NameKeepingCloud final : public FakeCloud {
 public:
  using FakeCloud::FakeCloud;
  Result<Machine> Create(const MachineSpec& spec, Deadline deadline) override {
    for (const Machine& machine : alive()) {
      if (machine.name == spec.name) return machine;
    }
    return FakeCloud::Create(spec, deadline);
  }
};

class ClaimSequence {
 public:
  explicit ClaimSequence(uint64_t seed) : rng_(seed) {
    cloud_.set_flavors(SpotFlavors());
    stranger_ = cloud_.Plant("stranger", {{kClusterTag, "prod"}, {kGroupTag, "web"}});
    Start();
  }

  void Play(int steps) {
    Shake(true);
    for (int i = 0; i < steps; ++i) {
      Step();
      CheckNamesAreBoughtOnce();
    }
    Shake(false);
    // Quiet: what is wanted is asked for until it is there, what is not is asked to end.
    for (int i = 0; i < 12; ++i) {
      for (auto& [name, claim] : wanted_) Ask(claim);
      for (auto it = ending_.begin(); it != ending_.end();)
        it = Ended(*it) ? ending_.erase(it) : std::next(it);
      Refresh();
      clock_.Advance(std::chrono::minutes(5));
    }
    CheckTheEnd();
  }

 private:
  void Start() {
    claims_ = CloudNodeClaims::Create({cloud_, workers_, clock_, rng_, log_, metrics_},
                                      {.cluster = "prod"});
    claims_->SetClasses({AClass()});
  }
  Deadline Soon() { return Deadline::In(clock_, std::chrono::seconds(20)); }

  void Shake(bool on) {
    const auto draw = [this](double lost, double refused) {
      if (rng_.Chance(lost)) return FakeAnswer{.status = Unavailable("lost"), .happens = true};
      if (rng_.Chance(refused)) return FakeAnswer{.status = Unavailable("away"), .happens = false};
      return FakeAnswer{};
    };
    cloud_.on_create = [=, this](const MachineSpec&) {
      if (on && rng_.Chance(0.1)) {
        return FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
      }
      if (on && rng_.Chance(0.05)) return FakeAnswer{.ends_failed = true};
      return on ? draw(0.2, 0.1) : FakeAnswer{};
    };
    cloud_.on_delete = [=](const ProviderId&) { return on ? draw(0.1, 0.1) : FakeAnswer{}; };
    cloud_.on_list = [=, this] {
      return on && rng_.Chance(0.1) ? FakeAnswer{.status = Unavailable("half a page")}
                                    : FakeAnswer{};
    };
    cloud_.draw_lag = [=, this]() -> Duration {
      return on && rng_.Chance(0.3) ? Duration(std::chrono::seconds(rng_.Below(40))) : Duration();
    };
  }

  void Step() {
    switch (rng_.Below(6)) {
      case 0: {
        const std::string name = "c" + std::to_string(++made_);
        wanted_[name] = AClaim(name);
        Ask(wanted_[name]);
        break;
      }
      case 1:
        if (!wanted_.empty()) Ask(Any());
        break;
      case 2:  // the claim is deleted; its finalizer goes when the provider says so
        if (!wanted_.empty()) {
          ending_.push_back(Any());
          wanted_.erase(ending_.back().metadata.name);
        }
        break;
      case 3:  // somebody takes the finalizer away: the machine is a leak
        if (!wanted_.empty() && rng_.Chance(0.3)) wanted_.erase(Any().metadata.name);
        break;
      case 4:
        if (!ending_.empty() && Ended(ending_.front())) ending_.erase(ending_.begin());
        break;
      default:
        if (rng_.Chance(0.1)) Start();  // a crash
        Refresh();
    }
    clock_.Advance(std::chrono::seconds(rng_.Below(90)));
  }

  model::NodeClaim& Any() {
    auto it = wanted_.begin();
    std::advance(it, static_cast<long>(rng_.Below(wanted_.size())));
    return it->second;
  }
  void Ask(model::NodeClaim& claim) {
    if (!claim.status.provider_id.empty()) return;
    const auto created = claims_->Create(claim, Soon());
    if (!created.ok()) return;
    EXPECT_OK(TakeOver(*created, claim));
  }
  // Never launched as far as anybody knows: the engine asks no provider, and the machine, if there
  // is one, is a leak.
  bool Ended(const model::NodeClaim& claim) {
    if (claim.status.provider_id.empty() && rng_.Chance(0.5)) return true;
    return claims_->Delete(claim, Soon()).code() == Code::kNotFound;
  }
  void Refresh() {
    std::vector<ClaimRef> all;
    for (const auto& [name, claim] : wanted_) {
      all.push_back({claim.metadata.uid, claim.status.provider_id});
    }
    for (const auto& claim : ending_) all.push_back({claim.metadata.uid, claim.status.provider_id});
    claims_->SetClaims(std::move(all));
    (void)claims_->Refresh(Soon());
  }

  void CheckNamesAreBoughtOnce() {
    std::set<std::string> names;
    bool there = false;
    for (const Machine& machine : cloud_.alive()) {
      EXPECT_TRUE(names.insert(machine.name).second) << machine.name << " is there twice";
      there = there || machine.id == stranger_;
    }
    EXPECT_TRUE(there) << "a machine of a group was ended";
  }

  void CheckTheEnd() {
    std::set<std::string> alive, expected;
    for (const Machine& machine : cloud_.alive()) {
      if (machine.id != stranger_) alive.insert(machine.id);
    }
    for (const auto& [name, claim] : wanted_) {
      EXPECT_FALSE(claim.status.provider_id.empty()) << name << " was never launched";
      expected.insert(claim.status.provider_id);
    }
    EXPECT_EQ(alive, expected);
    EXPECT_TRUE(ending_.empty());
  }

  FakeClock clock_;
  SeededRng rng_;
  NameKeepingCloud cloud_{clock_};
  InlineWorkers workers_;
  const Log log_ = Log::Null();
  Metrics metrics_;
  std::unique_ptr<CloudNodeClaims> claims_;
  ProviderId stranger_;
  std::map<std::string, model::NodeClaim> wanted_;
  std::vector<model::NodeClaim> ending_;
  int made_ = 0;
};

TEST(ClaimSequencesTest, NothingIsBoughtTwiceLostOrLeftBehind) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ClaimSequence(seed).Play(80);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace coppice::cloud
