// FlakyNodeClaims: a provider that has no faults of its own to be switched on, behind a line that loses
// answers and breaks off lists when it is told to; for node_claims_suite.h.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/node_claims.h"

namespace coppice::conformance {

class FlakyNodeClaims final : public cloud::NodeClaims {
 public:
  explicit FlakyNodeClaims(cloud::NodeClaims& inner) : inner_(inner) {}
  bool lose = false, refuse = false, fail_list = false;
  int calls = 0;

  std::string_view Name() const override { return inner_.Name(); }
  const cloud::NodeClaimsTraits& Traits() const override { return inner_.Traits(); }
  std::vector<cloud::NodeClassKind> SupportedNodeClasses() const override {
    return inner_.SupportedNodeClasses();
  }
  std::vector<cloud::RepairPolicy> RepairPolicies() const override {
    return inner_.RepairPolicies();
  }
  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline deadline) override {
    ++calls;
    if (std::exchange(refuse, false)) return Unavailable("come back later");
    auto made = inner_.Create(claim, deadline);
    if (std::exchange(lose, false)) return Unavailable("the line is dead");
    return made;
  }
  Status Delete(const model::NodeClaim& claim, Deadline deadline) override {
    ++calls;
    return inner_.Delete(claim, deadline);
  }
  Result<model::NodeClaim> Get(const cloud::ProviderId& id, Deadline deadline) override {
    ++calls;
    return inner_.Get(id, deadline);
  }
  Result<std::vector<model::NodeClaim>> List(Deadline deadline) override {
    ++calls;
    if (std::exchange(fail_list, false)) return Unavailable("half a page");
    return inner_.List(deadline);
  }
  Result<std::shared_ptr<const cloud::InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const cloud::WaitingShapes& waiting) const override {
    return inner_.InstanceTypesFor(pool, waiting);
  }
  Result<std::string> IsDrifted(const model::NodeClaim& claim) const override {
    return inner_.IsDrifted(claim);
  }
  Status Refresh(Deadline deadline) override { return inner_.Refresh(deadline); }
  void SetClasses(std::vector<cloud::NodeClassInput> classes) override {
    inner_.SetClasses(std::move(classes));
  }
  std::vector<cloud::NodeClassState> ClassStates() const override { return inner_.ClassStates(); }
  void SetClaims(std::vector<cloud::ClaimRef> claims) override {
    inner_.SetClaims(std::move(claims));
  }
  std::optional<cloud::NodeToRegister> NodeFor(const model::NodeClaim& claim) const override {
    return inner_.NodeFor(claim);
  }

 private:
  cloud::NodeClaims& inner_;
};

}  // namespace coppice::conformance
