// Node claims of Acme's own: a shelf with so many machines of one type, which are switched on and
// off. Most need none of this (a cloud of four verbs sells to node pools, too); implement NodeClaims
// if you need more: reservations, drift that only you can see, machines that are not bought.

#include <map>
#include <mutex>
#include <string>

#include "acme.h"

namespace acme {
namespace {

using namespace coppice;  // NOLINT: an example reads better so
using model::NodeRequirement;

class AcmeShelf final : public cloud::NodeClaims {
 public:
  explicit AcmeShelf(int machines) : free_(machines) {
    cloud::InstanceType type{.name = "shelf"};
    cloud::Offering offering{.price = 0.05};
    for (auto* requirements : {&type.requirements, &offering.requirements}) {
      requirements->Add(NodeRequirement::In(model::kZoneLabel, {"basement"}));
      requirements->Add(NodeRequirement::In(model::kCapacityTypeLabel, {"on-demand"}));
    }
    type.requirements.Add(NodeRequirement::In(model::kInstanceTypeLabel, {"shelf"}));
    type.requirements.Add(NodeRequirement::In(model::kArchLabel, {"amd64"}));
    type.requirements.Add(NodeRequirement::In(model::kOsLabel, {"linux"}));
    type.capacity["cpu"] = model::Quantity::FromUnits(16);
    type.capacity["memory"] = model::Quantity::FromUnits(64LL << 30);
    type.capacity["pods"] = model::Quantity::FromUnits(110);
    type.offerings.push_back(offering);
    types_ = std::make_shared<const cloud::InstanceTypes>(cloud::InstanceTypes{type});
  }

  std::string_view Name() const override { return "acme-shelf"; }
  const cloud::NodeClaimsTraits& Traits() const override { return traits_; }
  std::vector<cloud::NodeClassKind> SupportedNodeClasses() const override {
    return {{"acme.example", "v1", "ShelfClass"}};
  }

  // One claim, one machine, however often it is asked for: by the claim's uid.
  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline) override {
    const std::lock_guard lock(mutex_);
    const std::string id = "shelf://" + claim.metadata.uid;
    if (!on_.contains(id)) {
      if (free_ == 0) return ResourceExhausted("the shelf is empty");
      if (!cloud::Fits(claim.spec.requests, types_->front().capacity))
        return ResourceExhausted("nothing on the shelf is as large");
      --free_;
      model::NodeClaim& made = on_[id];
      made.metadata.labels[model::kInstanceTypeLabel] = "shelf";
      made.metadata.labels[model::kZoneLabel] = "basement";
      made.metadata.labels[model::kCapacityTypeLabel] = "on-demand";
      made.status.provider_id = id;
      made.status.capacity = types_->front().capacity;
      made.status.allocatable = types_->front().capacity;
    }
    return on_.at(id);
  }

  Status Delete(const model::NodeClaim& claim, Deadline) override {
    const std::lock_guard lock(mutex_);
    if (on_.erase(claim.status.provider_id) == 0) return NotFound("it is off");
    ++free_;
    return Status::Ok();
  }

  Result<model::NodeClaim> Get(const cloud::ProviderId& id, Deadline) override {
    const std::lock_guard lock(mutex_);
    if (!on_.contains(id)) return NotFound(id + " is off");
    return on_.at(id);
  }

  Result<std::vector<model::NodeClaim>> List(Deadline) override {
    const std::lock_guard lock(mutex_);
    std::vector<model::NodeClaim> all;
    for (const auto& [id, claim] : on_) all.push_back(claim);
    return all;
  }

  Result<std::shared_ptr<const cloud::InstanceTypes>> InstanceTypesFor(
      const model::NodePool&, const cloud::WaitingShapes&) const override {
    return types_;
  }
  Result<std::string> IsDrifted(const model::NodeClaim&) const override { return std::string(); }

 private:
  cloud::NodeClaimsTraits traits_;
  std::shared_ptr<const cloud::InstanceTypes> types_;
  std::mutex mutex_;
  int free_;
  std::map<std::string, model::NodeClaim> on_;
};

Result<std::unique_ptr<cloud::NodeClaims>> MakeShelf(const cloud::NodeClaimsContext& context) {
  yaml::MapReader map(context.config, context.problems);
  map.Get("kind");
  int machines = 3;
  map.Read("machines", machines);
  map.Finish();
  if (context.problems.has_errors()) return context.problems.ToStatus();
  return std::unique_ptr<cloud::NodeClaims>(std::make_unique<AcmeShelf>(machines));
}

}  // namespace

void Register(cloud::NodeClaimsRegistry& claims) { claims.Add("acme-shelf", MakeShelf); }

}  // namespace acme
