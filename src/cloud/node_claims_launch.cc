// How CloudNodeClaims buys the machine of a claim, and ends it.

#include <xxhash.h>

#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "cloud/node_claims_core.h"

namespace coppice::cloud {
namespace {

constexpr int64_t kClassVolumeUnit = 1LL << 30;

// A class that the claim names and that is no longer ours to read.
std::string WhichClass(const std::optional<model::NodeClassReference>& reference) {
  return reference ? "class '" + reference->name + "'" : "the claim's class";
}

// A refusal of the cloud, so that it does not read as one of ours: kFailedPrecondition would mean
// that the class is not ready, kNotFound that there is no such machine.
Status AsLaunchFailure(const Status& status) {
  switch (status.code()) {
    case Code::kResourceExhausted:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return status;
    default:
      return CreateError("LaunchRefused", status.message());
  }
}

}  // namespace

std::string ClaimDigits(std::string_view uid) {
  model::NodeClaim claim;
  claim.metadata.uid = std::string(uid);
  const std::string name = MachineNameOf(claim);
  return name.substr(name.rfind('-') + 1);
}

std::string PoolTagOf(const model::NodeClaim& claim) {
  const std::string* pool = claim.metadata.labels.Find(model::kNodePoolLabel);
  return pool == nullptr || pool->empty() ? std::string(kNoPool) : *pool;
}

Result<model::NodeClaim> CloudNodeClaims::Core::Launch(const model::NodeClaim& claim,
                                                       Deadline deadline) {
  if (claim.metadata.uid.empty()) {
    return InvalidArgument("claim '" + claim.metadata.name + "' has no uid: it is not stored yet");
  }
  const std::string pool = PoolTagOf(claim);
  const std::string name = MachineNameOf(claim, options_.machine_prefix);
  // What is there is the claim's, whatever is for sale now and whatever became of the class.
  const auto there = BuyAs(pool, name, nullptr, deadline);
  if (there.ok()) return Finish(pool, *there, ClassOf(*there).get(), deadline);
  if (there.code() != Code::kNotFound) return AsLaunchFailure(there.status());

  const auto view = TRY(ReadyClass(claim.spec.node_class_ref));
  const std::vector<Choice> choices = Choices(claim, *view, *published_.Load());
  if (choices.empty()) {
    return ResourceExhausted("nothing that claim '" + claim.metadata.name +
                             "' allows can be had now of " + WhichClass(claim.spec.node_class_ref));
  }
  std::vector<std::string> said;
  for (const Choice& choice : choices) {
    if (std::ssize(said) == options_.offerings_per_create) break;
    if (!said.empty() && deadline.Left(clock_) <= Duration::zero()) break;
    const auto bought = BuyAs(pool, name, SpecFor(claim, pool, *view, choice), deadline);
    if (bought.ok()) return Finish(pool, *bought, view.get(), deadline);
    if (bought.code() != Code::kResourceExhausted) return AsLaunchFailure(bought.status());
    MarkSoldOut({choice.flavor.name, choice.offering.zone, choice.offering.capacity_type},
                bought.status());
    said.push_back(choice.flavor.name + " in " + choice.offering.zone + " (" +
                   choice.offering.capacity_type + "): " + bought.status().message());
  }
  return ResourceExhausted(Join(said, "; "));
}

// An order whose answer was lost is looked for in a list first.
Result<Machine> CloudNodeClaims::Core::BuyAs(const std::string& pool, const std::string& name,
                                             const std::shared_ptr<const MachineSpec>& what,
                                             Deadline deadline) {
  bool lost = false;
  TRY(book_.EnsureListed(deadline));
  {
    const Lock lock(book_.mutex());
    if (const Book* book = book_.ledger().Find(pool)) {
      const auto order = book->orders.find(name);
      lost = order != book->orders.end() && order->second.state == OrderState::kUnanswered;
    }
  }
  if (lost) TRY(book_.Refresh(deadline));
  return book_.Buy(pool, name, what, deadline);
}

Result<model::NodeClaim> CloudNodeClaims::Core::Finish(const std::string& pool,
                                                       const Machine& machine,
                                                       const ClassView* view, Deadline deadline) {
  if (machine.state != MachineState::kFailed) return Shown(machine, view);
  // It bills, and its name is the claim's: it goes first, then the claim is tried again.
  const Status ended = book_.End(pool, machine.id, deadline);
  const MachineError error = machine.error.value_or(MachineError{});
  log_.Warning(
      "a machine ended in failure and is given up",
      {{"id", machine.id}, {"name", machine.name}, {"error", error.message}, {"delete", ended}});
  if (error.error_class == ErrorClass::kOutOfResources) {
    const Status said = ResourceExhausted(error.message);
    MarkSoldOut({machine.flavor, ZoneLabelOf(machine.zone), CapacityTypeOf(machine)}, said);
    return said;
  }
  return CreateError("MachineFailed", "machine " + machine.id + " ended in failure: " +
                                          (error.message.empty() ? "no reason" : error.message));
}

Result<std::shared_ptr<const CloudNodeClaims::Core::ClassView>> CloudNodeClaims::Core::ReadyClass(
    const std::optional<model::NodeClassReference>& reference) const {
  const auto picture = published_.Load();
  if (!picture->classes_known) return Unavailable("no class is known yet");
  if (!reference) return FailedPrecondition("the claim names no class");
  const auto it = picture->classes.find(reference->name);
  if (it == picture->classes.end() || reference->group != kNodeClassGroup ||
      reference->kind != kNodeClassKindName) {
    return FailedPrecondition(reference->kind + " '" + reference->name + "' does not exist");
  }
  const ClassView& view = *it->second;
  if (view.input.node_class.metadata.deletion_timestamp) {
    return FailedPrecondition(WhichClass(reference) + " is being deleted");
  }
  if (!view.state.known) return Unavailable(WhichClass(reference) + " has not been judged yet");
  if (!view.state.ready) {
    return FailedPrecondition(WhichClass(reference) + " is not ready: " + view.state.message);
  }
  if (view.types == nullptr) return Unavailable("the cloud has not told yet what it sells");
  return it->second;
}

// Cheapest first. Equal prices are dealt by the claim's uid, so that a cloud that asks the same in
// every zone does not get all machines into the first of them.
std::vector<CloudNodeClaims::Core::Choice> CloudNodeClaims::Core::Choices(
    const model::NodeClaim& claim, const ClassView& view, const Picture& picture) const {
  const auto wanted = model::NodeRequirements::From(claim.spec.requirements, traits_.labels);
  std::vector<Choice> choices;
  const auto consider = [&](const InstanceType& type, const Flavor& flavor) {
    if (!type.requirements.Intersects(wanted)) return;
    if (!Fits(claim.spec.requests, AllocatableGroups(type)[0].allocatable)) return;
    for (const Offering& offering : type.offerings) {
      if (!offering.Launchable()) continue;
      if (!wanted.Compatible(offering.requirements, &traits_.labels)) continue;
      const std::string zone = offering.Zone();
      const std::string tie = claim.metadata.uid + "/" + zone;
      choices.push_back({flavor,
                         {zone, offering.CapacityType(), offering.price},
                         offering.price,
                         XXH3_64bits(tie.data(), tie.size())});
    }
  };
  for (size_t i = 0; i < view.flavors.size(); ++i) consider((*view.types)[i], view.flavors[i]);
  if (picture.grid) {
    const auto named = wanted.Get(model::kInstanceTypeLabel);
    for (const Flavor& flavor : MadeFor(claim, named, view, *picture.grid)) {
      const auto type = TypeOf(flavor, view.input.node_class, cloud_.GpuLabel(), picture.sold_out);
      if (type.ok()) consider(*type, flavor);
    }
  }
  std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
    return std::tie(a.price, a.flavor.name, a.tie, a.offering.capacity_type) <
           std::tie(b.price, b.flavor.name, b.tie, b.offering.capacity_type);
  });
  return choices;
}

std::shared_ptr<const MachineSpec> CloudNodeClaims::Core::SpecFor(const model::NodeClaim& claim,
                                                                  const std::string& pool,
                                                                  const ClassView& view,
                                                                  const Choice& choice) const {
  // The cloud's own spelling of the zone, which a label may not be able to have.
  std::string zone = choice.offering.zone;
  for (const FlavorOffering& sold : OfferingsOf(choice.flavor)) {
    if (ZoneLabelOf(sold.zone) == choice.offering.zone) zone = sold.zone;
  }
  GroupConfig group = view.group;
  group.flavor = choice.flavor.name;
  group.zone = zone;
  MachineSpec spec{.flavor = choice.flavor.name,
                   .zone = zone,
                   .image = group.image,
                   .disk_bytes = group.volume_size_gb * kClassVolumeUnit,
                   .tags = group.tags,
                   .user_data = view.input.user_data,
                   .extra = cloud_.Extra(group),
                   .capacity_type = choice.offering.capacity_type};
  spec.tags[kPoolTag] = pool;
  spec.tags[kClaimTag] = claim.metadata.name;
  spec.tags[kClassTag] = view.state.name;
  spec.tags[kClassHashTag] = view.hash;
  spec.tags[kCapacityTypeTag] = choice.offering.capacity_type;
  if (!options_.cluster.empty()) spec.tags[kClusterTag] = options_.cluster;
  return std::make_shared<const MachineSpec>(std::move(spec));
}

void CloudNodeClaims::Core::MarkSoldOut(const OfferingKey& key, const Status& said) {
  stock_outs_.Increment();
  log_.Info("an offering is sold out; it is not asked for again for a while",
            {{"flavor", key.flavor},
             {"zone", key.zone},
             {"capacity_type", key.capacity_type},
             {"said", said.message()}});
  const Lock lock(book_.mutex());
  sold_out_[key] = Later(clock_.Now(), options_.stock_out_time);
  Publish();
}

Status CloudNodeClaims::Core::End(const model::NodeClaim& claim, Deadline deadline) {
  const ProviderId& id = claim.status.provider_id;
  if (id.empty()) return EndUnlaunched(claim, deadline);
  TRY(book_.EnsureListed(deadline));
  const auto owner = [&]() -> std::optional<std::pair<std::string, bool>> {
    const Lock lock(book_.mutex());
    const std::string* pool = book_.ledger().OwnerOf(id);
    if (pool == nullptr) return std::nullopt;
    const MachineRecord& record = book_.ledger().Find(*pool)->machines.at(id);
    return std::pair(*pool, record.going == Going::kAgreed);
  };
  auto found = owner();
  if (!found) {
    TRY(FreshList(deadline));
    found = owner();
  }
  // Not one of ours is not ours to end, whatever the claim says.
  if (!found) return NotFound("no machine '" + id + "' of a node pool is known");
  if (!found->second) return book_.End(found->first, id, deadline);
  // It is on its way: whether it is gone, its own cloud knows before any list does.
  return cloud_.Delete(id, deadline.Earlier(Deadline::In(clock_, options_.delete_timeout)));
}

// A claim that goes before its machine was answered for: what may still come is not wanted.
Status CloudNodeClaims::Core::EndUnlaunched(const model::NodeClaim& claim, Deadline deadline) {
  TRY(book_.EnsureListed(deadline));
  const std::string pool = PoolTagOf(claim);
  const std::string name = MachineNameOf(claim, options_.machine_prefix);
  std::string id;
  {
    const Lock lock(book_.mutex());
    const Book* book = book_.ledger().Find(pool);
    if (book == nullptr) return NotFound("nothing was ordered for the claim");
    if (const MachineRecord* record = book->FindByName(name)) {
      id = record->machine.id;
    } else {
      const auto order = book->orders.find(name);
      if (order == book->orders.end()) return NotFound("nothing was ordered for the claim");
      const OrderState state = order->second.state;
      if (state == OrderState::kQueued || state == OrderState::kFailed) {
        book_.Cancel(pool, name);
        return NotFound("the order was given up before it was sent");
      }
      book_.ledger().At(pool).orders.at(name).doomed = true;
      return Status::Ok();
    }
  }
  model::NodeClaim launched = claim;
  launched.status.provider_id = id;
  return End(launched, deadline);
}

}  // namespace coppice::cloud
