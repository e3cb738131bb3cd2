// FakeNodeClaims: a provider of node claims in memory that goes wrong on request: refusals, answers
// lost after the deed, classes that are not ready, offerings that are sold out, slow endings.
//
// It behaves: the cheapest available offering that the claim allows is bought, one machine per
// claim, and a machine takes its time to end. Thread-safe. It remembers every machine it ever made.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cloud/fake_cloud.h"
#include "cloud/node_claims.h"

namespace coppice::cloud {

class FakeNodeClaims : public NodeClaims {
 public:
  static constexpr char kGroup[] = "test.coppice.dev";
  static constexpr char kKind[] = "FakeNodeClass";

  explicit FakeNodeClaims(Clock& clock) : clock_(clock) {
    types_ = std::make_shared<const InstanceTypes>(
        InstanceTypes{AType("small", 2, 0.10), AType("medium", 4, 0.20), AType("large", 8, 0.40)});
  }

  // A type of so many cores, four times as many GiB, in two zones, on-demand and spot.
  static InstanceType AType(const std::string& name, int64_t cores, double price) {
    using model::NodeRequirement;
    InstanceType type{.name = name};
    const std::vector<std::string> zones = {"zone-a", "zone-b"};
    const std::vector<std::string> ways = {std::string(model::kOnDemand),
                                           std::string(model::kSpot)};
    type.requirements.Add(NodeRequirement::In(model::kInstanceTypeLabel, {name}));
    type.requirements.Add(NodeRequirement::In(model::kArchLabel, {"amd64"}));
    type.requirements.Add(NodeRequirement::In(model::kOsLabel, {"linux"}));
    type.requirements.Add(NodeRequirement::In(model::kZoneLabel, zones));
    type.requirements.Add(NodeRequirement::In(model::kCapacityTypeLabel, ways));
    type.capacity["cpu"] = model::Quantity::FromUnits(cores);
    type.capacity["memory"] =
        model::Quantity::FromUnits(cores * (4LL << 30), model::Quantity::Format::kBinarySI);
    type.capacity["pods"] = model::Quantity::FromUnits(110);
    type.overhead.kube_reserved["cpu"] = model::Quantity::FromMillis(100);
    for (const std::string& zone : zones) {
      for (const std::string& way : ways) {
        Offering offering{.price = way == model::kSpot ? price * 0.7 : price};
        offering.requirements.Add(NodeRequirement::In(model::kZoneLabel, {zone}));
        offering.requirements.Add(NodeRequirement::In(model::kCapacityTypeLabel, {way}));
        type.offerings.push_back(std::move(offering));
      }
    }
    return type;
  }

  // Hooks, asked without the lock; unset: everything works. Set them before threads start.
  std::function<FakeAnswer(const model::NodeClaim&)> on_create;
  std::function<FakeAnswer(const model::NodeClaim&)> on_delete;
  std::function<FakeAnswer()> on_list;
  std::function<void(const WaitingShapes&)> on_types;  // told what is asked for

  void set_types(InstanceTypes types) {
    const MutexLock lock(mutex_);
    types_ = std::make_shared<const InstanceTypes>(std::move(types));
  }
  void set_termination_time(Duration time) {
    const MutexLock lock(mutex_);
    termination_time_ = time;
  }
  void SetDrifted(const ProviderId& id, std::string reason) {
    const MutexLock lock(mutex_);
    drifted_[id] = std::move(reason);
  }
  // Before anybody asks for the traits.
  NodeClaimsTraits& traits() { return traits_; }
  // Not OK: nobody can be asked whether anything has drifted.
  void SetDriftTrouble(Status status) {
    const MutexLock lock(mutex_);
    drift_trouble_ = std::move(status);
  }
  void SetClassNotReady(const std::string& name) {
    const MutexLock lock(mutex_);
    classes_not_ready_.insert(name);
  }
  void Vanish(const ProviderId& id) {  // somebody else ends it behind our back
    const MutexLock lock(mutex_);
    machines_.at(id).ends_at = clock_.Now();
  }

  int calls_out() const {
    const MutexLock lock(mutex_);
    return calls_out_;
  }
  size_t ever_made() const {
    const MutexLock lock(mutex_);
    return machines_.size();
  }

  std::string_view Name() const override { return "fake"; }
  const NodeClaimsTraits& Traits() const override { return traits_; }
  std::vector<NodeClassKind> SupportedNodeClasses() const override {
    return {{kGroup, "v1", kKind}};
  }
  std::vector<RepairPolicy> RepairPolicies() const override { return repair_policies; }
  std::vector<RepairPolicy> repair_policies = {{.condition_type = "Ready",
                                                .condition_status = "False",
                                                .toleration = std::chrono::minutes(10),
                                                .termination_grace_period = Duration::zero()},
                                               {.condition_type = "Ready",
                                                .condition_status = "Unknown",
                                                .toleration = std::chrono::minutes(10),
                                                .termination_grace_period = Duration::zero()}};

  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline) override {
    const FakeAnswer answer = on_create ? on_create(claim) : FakeAnswer{};
    if (answer.latency > Duration::zero()) clock_.SleepFor(answer.latency);
    const MutexLock lock(mutex_);
    ++calls_out_;
    if (!answer.happens) return answer.status;
    if (claim.spec.node_class_ref && classes_not_ready_.contains(claim.spec.node_class_ref->name)) {
      return FailedPrecondition("class " + claim.spec.node_class_ref->name + " is not ready");
    }
    const auto made = by_claim_.find(claim.metadata.uid);
    if (made == by_claim_.end()) {
      auto machine = Launch(claim);
      if (!machine.ok()) return machine.status();
      by_claim_[claim.metadata.uid] = machine->status.provider_id;
      machines_[machine->status.provider_id] = {*machine, std::nullopt};
    }
    if (!answer.status.ok()) return answer.status;
    return machines_.at(by_claim_.at(claim.metadata.uid)).claim;
  }

  Status Delete(const model::NodeClaim& claim, Deadline) override {
    const FakeAnswer answer = on_delete ? on_delete(claim) : FakeAnswer{};
    const MutexLock lock(mutex_);
    ++calls_out_;
    if (!answer.happens) return answer.status;
    const auto it = machines_.find(claim.status.provider_id);
    if (it == machines_.end() || IsGone(it->second)) return NotFound("no such machine");
    if (!it->second.ends_at) it->second.ends_at = Later(clock_.Now(), termination_time_);
    return answer.status;
  }

  Result<model::NodeClaim> Get(const ProviderId& id, Deadline) override {
    const MutexLock lock(mutex_);
    ++calls_out_;
    const auto it = machines_.find(id);
    if (it == machines_.end() || IsGone(it->second)) return NotFound("no machine " + id);
    return it->second.claim;
  }

  Result<std::vector<model::NodeClaim>> List(Deadline) override {
    const FakeAnswer answer = on_list ? on_list() : FakeAnswer{};
    const MutexLock lock(mutex_);
    ++calls_out_;
    if (!answer.status.ok()) return answer.status;
    std::vector<model::NodeClaim> all;
    for (const auto& [id, machine] : machines_) {
      if (!IsGone(machine)) all.push_back(machine.claim);
    }
    return all;
  }

  Result<std::shared_ptr<const InstanceTypes>> InstanceTypesFor(
      const model::NodePool&, const WaitingShapes& waiting) const override {
    if (on_types) on_types(waiting);
    const MutexLock lock(mutex_);
    return types_;
  }

  Result<std::string> IsDrifted(const model::NodeClaim& claim) const override {
    const MutexLock lock(mutex_);
    if (!drift_trouble_.ok()) return drift_trouble_;
    const auto it = machines_.find(claim.status.provider_id);
    if (it == machines_.end() || IsGone(it->second)) return NotFound("no such machine");
    const auto reason = drifted_.find(claim.status.provider_id);
    return reason == drifted_.end() ? std::string() : reason->second;
  }

 private:
  struct Entry {
    model::NodeClaim claim;
    std::optional<TimePoint> ends_at;
  };

  bool IsGone(const Entry& entry) const { return entry.ends_at && *entry.ends_at <= clock_.Now(); }

  // The cheapest offering that the claim allows.
  Result<model::NodeClaim> Launch(const model::NodeClaim& claim) COPPICE_REQUIRES(mutex_) {
    const auto wanted = model::NodeRequirements::From(claim.spec.requirements, traits_.labels);
    const InstanceType* type = nullptr;
    const Offering* offering = nullptr;
    for (const InstanceType& candidate : *types_) {
      if (!candidate.requirements.Intersects(wanted)) continue;
      if (!Fits(claim.spec.requests, AllocatableGroups(candidate)[0].allocatable)) continue;
      for (const Offering& one : candidate.offerings) {
        if (!one.Launchable() || !wanted.Compatible(one.requirements, &traits_.labels)) continue;
        if (offering != nullptr && one.price >= offering->price) continue;
        type = &candidate;
        offering = &one;
      }
    }
    if (offering == nullptr) return ResourceExhausted("nothing that the claim allows is available");
    model::NodeClaim made;
    made.metadata.name = claim.metadata.name;
    made.metadata.creation_timestamp = model::Time{clock_.Now()};
    for (const auto* requirements : {&type->requirements, &offering->requirements}) {
      for (const model::NodeRequirement& requirement : *requirements) {
        if (!requirement.complement() && requirement.values().size() == 1) {
          made.metadata.labels[requirement.key()] = requirement.values()[0];
        }
      }
    }
    made.status.provider_id = "fake://" + std::to_string(machines_.size() + 1);
    made.status.image_id = "fake-image";
    made.status.capacity = type->capacity;
    made.status.allocatable = AllocatableGroups(*type)[0].allocatable;
    return made;
  }

  Clock& clock_;
  NodeClaimsTraits traits_;
  mutable Mutex mutex_;
  std::shared_ptr<const InstanceTypes> types_ COPPICE_GUARDED_BY(mutex_);
  std::map<ProviderId, Entry> machines_ COPPICE_GUARDED_BY(mutex_);
  std::map<std::string, ProviderId> by_claim_ COPPICE_GUARDED_BY(mutex_);  // by the claim's uid
  std::map<ProviderId, std::string> drifted_ COPPICE_GUARDED_BY(mutex_);
  Status drift_trouble_ COPPICE_GUARDED_BY(mutex_);
  std::set<std::string> classes_not_ready_ COPPICE_GUARDED_BY(mutex_);
  Duration termination_time_ COPPICE_GUARDED_BY(mutex_) = std::chrono::seconds(30);
  int calls_out_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::cloud
