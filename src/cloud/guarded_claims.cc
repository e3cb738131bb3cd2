#include "cloud/guarded_claims.h"

#include <utility>

namespace coppice::cloud {
namespace {

class GuardedClaims final : public NodeClaims {
 public:
  GuardedClaims(NodeClaims& claims, Gate gate, const Log& log)
      : claims_(claims), gate_(std::move(gate)), log_(log) {}

  std::string_view Name() const override { return claims_.Name(); }
  const NodeClaimsTraits& Traits() const override { return claims_.Traits(); }
  std::vector<NodeClassKind> SupportedNodeClasses() const override {
    return claims_.SupportedNodeClasses();
  }
  std::vector<RepairPolicy> RepairPolicies() const override { return claims_.RepairPolicies(); }

  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline deadline) override {
    if (gate_.dry_run) {
      Tell("create", claim);
      return CreateError("DryRun", "a dry run buys nothing");
    }
    Result<model::NodeClaim> made = Unavailable("not asked for");
    const Status gate = Passed(deadline, [&](Deadline by) { made = claims_.Create(claim, by); });
    if (!gate.ok()) return gate;
    return made;
  }
  Status Delete(const model::NodeClaim& claim, Deadline deadline) override {
    if (gate_.dry_run) {
      Tell("delete", claim);
      return Status::Ok();
    }
    Status done;
    TRY(Passed(deadline, [&](Deadline by) { done = claims_.Delete(claim, by); }));
    return done;
  }

  Result<model::NodeClaim> Get(const ProviderId& id, Deadline deadline) override {
    return claims_.Get(id, deadline);
  }
  Result<std::vector<model::NodeClaim>> List(Deadline deadline) override {
    return claims_.List(deadline);
  }
  Result<std::shared_ptr<const InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const WaitingShapes& waiting) const override {
    return claims_.InstanceTypesFor(pool, waiting);
  }
  Result<std::string> IsDrifted(const model::NodeClaim& claim) const override {
    return claims_.IsDrifted(claim);
  }
  Status Refresh(Deadline deadline) override { return claims_.Refresh(deadline); }
  void SetClasses(std::vector<NodeClassInput> classes) override {
    claims_.SetClasses(std::move(classes));
  }
  std::vector<NodeClassState> ClassStates() const override { return claims_.ClassStates(); }
  void SetClaims(std::vector<ClaimRef> claims) override { claims_.SetClaims(std::move(claims)); }
  std::optional<NodeToRegister> NodeFor(const model::NodeClaim& claim) const override {
    return claims_.NodeFor(claim);
  }

 private:
  void Tell(std::string_view what, const model::NodeClaim& claim) const {
    log_.Info("dry run: the cloud would have been changed",
              {{"what", what}, {"nodeclaim", claim.metadata.name}});
  }

  // OK: the call was made, whatever came of it.
  template <class Call>
  Status Passed(Deadline deadline, Call call) {
    const Deadline by = gate_.within ? gate_.within(deadline) : deadline;
    // First: from here on the lease is not given away.
    if (gate_.changes != nullptr) TRY(gate_.changes->Begin(by));
    Status may = gate_.may_change ? gate_.may_change() : Status::Ok();
    if (may.ok()) call(by);
    if (gate_.changes != nullptr) gate_.changes->End(by);
    return may;
  }

  NodeClaims& claims_;
  const Gate gate_;
  const Log& log_;
};

}  // namespace

std::unique_ptr<NodeClaims> GuardClaims(NodeClaims& claims, Gate gate, const Log& log) {
  return std::make_unique<GuardedClaims>(claims, std::move(gate), log);
}

}  // namespace coppice::cloud
