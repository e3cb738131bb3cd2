// KwokClaims: Karpenter's provider without machines. A claim's machine is its Node alone, which the
// engine creates (NodeFor) and kwok's controller keeps alive; so a cluster tries node pools with no
// cloud behind it, and a cluster that tried them with Karpenter's own kwok provider can be taken
// over.
//
// There is nothing outside to ask: what exists is what claims say (SetClaims) and what was created
// since. Names follow from the claim, so a Create that is repeated after a crash answers with the
// same Node. Any thread.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/catalog.h"
#include "cloud/node_claims.h"

namespace coppice::node_claims::kwok {

inline constexpr char kKwokGroup[] = "karpenter.kwok.sh";
inline constexpr char kKwokKind[] = "KWOKNodeClass";

class KwokClaims final : public cloud::NodeClaims {
 public:
  KwokClaims(const cloud::Catalog& catalog, Clock& clock);

  std::string_view Name() const override { return "kwok"; }
  const cloud::NodeClaimsTraits& Traits() const override { return traits_; }
  std::vector<cloud::NodeClassKind> SupportedNodeClasses() const override;
  std::vector<cloud::RepairPolicy> RepairPolicies() const override;
  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline deadline) override;
  // Gone at once, as with the peer.
  Status Delete(const model::NodeClaim& claim, Deadline deadline) override;
  Result<model::NodeClaim> Get(const cloud::ProviderId& id, Deadline deadline) override;
  Result<std::vector<model::NodeClaim>> List(Deadline deadline) override;
  Result<std::shared_ptr<const cloud::InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const cloud::WaitingShapes& waiting) const override;
  Result<std::string> IsDrifted(const model::NodeClaim& claim) const override;  // never
  void SetClasses(std::vector<cloud::NodeClassInput> classes) override;
  std::vector<cloud::NodeClassState> ClassStates() const override;
  void SetClaims(std::vector<cloud::ClaimRef> claims) override;
  std::optional<cloud::NodeToRegister> NodeFor(const model::NodeClaim& claim) const override;

 private:
  Result<model::NodeClaim> Launch(const model::NodeClaim& claim) const;

  Clock& clock_;
  cloud::NodeClaimsTraits traits_;
  std::shared_ptr<const cloud::InstanceTypes> types_;
  mutable std::mutex mutex_;
  bool classes_known_ = false;
  std::map<std::string, cloud::NodeClassInput> classes_;
  std::map<cloud::ProviderId, model::NodeClaim> machines_;
};

}  // namespace coppice::node_claims::kwok
