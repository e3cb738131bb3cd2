// The part of a live what-if that is about node pools (live.h): a provider that answers from what was
// taken hold of, the change as pools have it, and the run.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/live.h"

namespace coppice::whatif {

// Knows what each pool could buy at a moment, and does nothing. Never changed after it was made: any
// thread.
class TakenClaims final : public cloud::NodeClaims {
 public:
  // On the decision thread. Types are as asked for by `waiting`.
  TakenClaims(const cloud::NodeClaims& of, const Listed<model::NodePool>& pools,
              const cloud::WaitingShapes& waiting);

  std::string_view Name() const override { return name_; }
  const cloud::NodeClaimsTraits& Traits() const override { return traits_; }
  std::vector<cloud::NodeClassKind> SupportedNodeClasses() const override { return kinds_; }
  Result<model::NodeClaim> Create(const model::NodeClaim&, Deadline) override { return Nothing(); }
  Status Delete(const model::NodeClaim&, Deadline) override { return Nothing(); }
  Result<model::NodeClaim> Get(const cloud::ProviderId&, Deadline) override { return Nothing(); }
  Result<std::vector<model::NodeClaim>> List(Deadline) override { return Nothing(); }
  Result<std::shared_ptr<const cloud::InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const cloud::WaitingShapes&) const override;
  Result<std::string> IsDrifted(const model::NodeClaim&) const override { return std::string(); }

  bool Sells(std::string_view type) const;
  bool IsOurs(const model::NodePool& pool) const;

 private:
  static Status Nothing() { return FailedPrecondition("this is a what-if"); }

  const std::string name_;
  const cloud::NodeClaimsTraits traits_;
  const std::vector<cloud::NodeClassKind> kinds_;
  std::map<std::string, Result<std::shared_ptr<const cloud::InstanceTypes>>, std::less<>> types_;
};

bool HasPool(const LiveMoment& moment, std::string_view name);
// Of a pool that this process looks after.
bool IsOfPool(const LiveMoment& moment, std::string_view node);

// What is asked without any change.
PoolsWhatIf PoolsQuestion(const LiveMoment& moment, const ClusterObjects& objects,
                          const provision::Settings& settings, std::function<bool()> stop);
// With the change; `used` learns which of the types that are forbidden are sold.
void ChangePools(const LiveMoment& moment, const LiveChange& change, Listed<model::NodePool>& pools,
                 std::set<std::string>& used);

// Pods that wait for a batch scheduler are not theirs: they are as before in what comes of it.
Result<PoolsPlan> PlayPools(PoolsWhatIf what_if, TakenClaims& claims,
                            const provision::Settings& settings);
// What a reader of the answer has to know.
std::vector<std::string> NotesOfPools(const LiveAnswer& answer);

}  // namespace coppice::whatif
