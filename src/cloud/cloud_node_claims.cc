#include "cloud/cloud_node_claims.h"

#include <utility>

#include "cloud/node_claims_core.h"

namespace coppice::cloud {
namespace {

OrderBookOptions ClaimBookOptions(const CloudNodeClaimsOptions& options) {
  OrderBookOptions book{
      .orphan_text = "a machine carries a pool that nobody serves",  // all are served
      .max_parallel = options.max_parallel,
      // An order whose answer was lost is repeated by whoever wants the claim, and by nobody else:
      // the claim may be gone by then.
      .limits = {.list_lag = options.list_lag,
                 .delete_patience = options.delete_patience,
                 .max_attempts = 1},
      .create_timeout = options.create_timeout,
      .delete_timeout = options.delete_timeout,
      .answer_margin = options.answer_margin};
  if (!options.cluster.empty()) book.tags[kClusterTag] = options.cluster;
  return book;
}

}  // namespace

CloudNodeClaims::Core::Core(const CloudNodeClaimsContext& context, CloudNodeClaimsOptions options)
    : cloud_(context.cloud),
      clock_(context.clock),
      log_(context.log),
      options_(std::move(options)),
      leaked_(context.metrics.GetGauge("coppice_node_claims_leaked_machines",
                                       "machines of node pools that are no claim's")),
      machines_(context.metrics.GetGauge("coppice_node_claims_machines",
                                         "machines of node pools that exist")),
      leaks_ended_(context.metrics.GetCounter("coppice_node_claims_leaks_ended_total",
                                              "machines that were no claim's and were ended")),
      stock_outs_(context.metrics.GetCounter("coppice_node_claims_stock_outs_total",
                                             "offerings that the cloud said were sold out")),
      published_(std::make_shared<const Picture>()),
      book_({context.cloud, context.workers, context.clock, context.rng, context.log},
            ClaimBookOptions(options_), *this) {
  const std::string gpu_label = cloud_.GpuLabel();
  if (!gpu_label.empty()) traits_.labels.well_known.insert(gpu_label);
  traits_.well_known_resources.insert("nvidia.com/gpu");
}

std::shared_ptr<CloudNodeClaims::Core> CloudNodeClaims::Core::Make(
    const CloudNodeClaimsContext& context, CloudNodeClaimsOptions options) {
  if (options.name.empty()) options.name = "cloud";
  if (options.machine_prefix.empty()) options.machine_prefix = "nc";
  auto core = std::make_shared<Core>(context, std::move(options));
  core->book_.set_owner_life(core);
  return core;
}

// Checked here although the list was filtered: a cloud that ignores a filter must not hand us
// somebody else's machines.
std::optional<std::string> CloudNodeClaims::Core::GroupOf(const Machine& machine) const {
  const auto pool = machine.tags.find(kPoolTag);
  if (pool == machine.tags.end() || machine.tags.contains(kGroupTag)) return std::nullopt;
  const auto cluster = machine.tags.find(kClusterTag);
  if ((cluster == machine.tags.end() ? std::string_view() : std::string_view(cluster->second)) !=
      options_.cluster) {
    return std::nullopt;
  }
  return pool->second;
}

CloudNodeClaims::CloudNodeClaims(std::shared_ptr<Core> core) : core_(std::move(core)) {}
CloudNodeClaims::~CloudNodeClaims() = default;

std::unique_ptr<CloudNodeClaims> CloudNodeClaims::Create(const CloudNodeClaimsContext& context,
                                                         CloudNodeClaimsOptions options) {
  return std::unique_ptr<CloudNodeClaims>(
      new CloudNodeClaims(Core::Make(context, std::move(options))));
}

std::vector<CloudNodeClaims::Leak> CloudNodeClaims::Leaks() const { return core_->Leaks(); }
Status CloudNodeClaims::Drain(Deadline deadline) { return core_->Drain(deadline); }
std::string_view CloudNodeClaims::Name() const { return core_->options().name; }
const NodeClaimsTraits& CloudNodeClaims::Traits() const { return core_->traits(); }

std::vector<NodeClassKind> CloudNodeClaims::SupportedNodeClasses() const {
  return {{kNodeClassGroup, kNodeClassVersion, kNodeClassKindName}};
}

// As most providers of Karpenter have it: half an hour is longer than any reboot. A kubelet that is
// not heard of ends no pods: none of them is waited for.
std::vector<RepairPolicy> CloudNodeClaims::RepairPolicies() const {
  std::vector<RepairPolicy> policies = {{"Ready", "False", std::chrono::minutes(30)},
                                        {"Ready", "Unknown", std::chrono::minutes(30)}};
  for (RepairPolicy& policy : policies) policy.termination_grace_period = Duration::zero();
  return policies;
}

Result<model::NodeClaim> CloudNodeClaims::Create(const model::NodeClaim& claim, Deadline deadline) {
  return core_->Launch(claim, deadline);
}
Status CloudNodeClaims::Delete(const model::NodeClaim& claim, Deadline deadline) {
  return core_->End(claim, deadline);
}
Result<model::NodeClaim> CloudNodeClaims::Get(const ProviderId& id, Deadline deadline) {
  return core_->Get(id, deadline);
}
Result<std::vector<model::NodeClaim>> CloudNodeClaims::List(Deadline deadline) {
  return core_->List(deadline);
}
Result<std::shared_ptr<const InstanceTypes>> CloudNodeClaims::InstanceTypesFor(
    const model::NodePool& pool, const WaitingShapes& waiting) const {
  return core_->TypesFor(pool, waiting);
}
Result<std::string> CloudNodeClaims::IsDrifted(const model::NodeClaim& claim) const {
  return core_->IsDrifted(claim);
}
Status CloudNodeClaims::Refresh(Deadline deadline) { return core_->Refresh(deadline); }
void CloudNodeClaims::SetClasses(std::vector<NodeClassInput> classes) {
  core_->SetClasses(std::move(classes));
}
std::vector<NodeClassState> CloudNodeClaims::ClassStates() const { return core_->ClassStates(); }
void CloudNodeClaims::SetClaims(std::vector<ClaimRef> claims) {
  core_->SetClaims(std::move(claims));
}
std::optional<NodeToRegister> CloudNodeClaims::NodeFor(const model::NodeClaim& claim) const {
  return core_->NodeFor(claim);
}

}  // namespace coppice::cloud
