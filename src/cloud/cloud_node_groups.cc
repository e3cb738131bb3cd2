#include "cloud/cloud_node_groups.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "cloud/node_groups_core.h"
#include "cloud/pricing.h"
#include "cloud/template.h"

namespace coppice::cloud {

namespace {

std::shared_ptr<const GroupsPicture> EmptyPicture() {
  auto picture = std::make_shared<GroupsPicture>();
  picture->version = 1;  // 0 means "cannot say" to NodeGroups::Version
  picture->by_name = std::make_shared<const GroupsPicture::GroupNames>();
  picture->orphans = std::make_shared<const std::vector<Machine>>();
  return picture;
}

OrderBookOptions BookOptions(const CloudNodeGroupsOptions& options) {
  OrderBookOptions book{
      .orphan_text =
          "orphan: a machine carries this cluster's tags and a group that is not configured; "
          "configure the group or delete the machine",
      .max_parallel = options.max_parallel,
      .limits = {.list_lag = options.list_lag,
                 .delete_patience = options.delete_patience,
                 .failed_order_ttl = options.failed_order_ttl,
                 .max_attempts = options.max_attempts},
      .create_timeout = options.create_timeout,
      .delete_timeout = options.delete_timeout,
      .answer_margin = options.answer_margin};
  if (!options.cluster.empty()) book.tags[kClusterTag] = options.cluster;
  return book;
}

// Machine names are host names: "<group>-<8 digits>" has to fit into one. Capitals and dots are
// left to the cloud to judge; a slash would break placeholder ids.
bool IsHostNamePart(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto good = [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 54 && alphanumeric(name.front()) &&
         std::ranges::all_of(name, good);
}

Result<const GroupView*> FindGroup(const GroupsPicture& picture, std::string_view group) {
  const GroupView* view = picture.Find(group);
  if (view != nullptr) return view;
  return NotFound("no node group '" + std::string(group) + "' is configured");
}

// A read that only a list can answer.
Result<const GroupView*> FindListed(const GroupsPicture& picture, std::string_view group) {
  const GroupView* view = TRY(FindGroup(picture, group));
  if (picture.refreshed) return view;
  return Unavailable("group '" + std::string(group) +
                     "': the cloud has not been asked yet what exists; refresh first");
}

template <class T>
bool Override(const std::optional<T>& from, T& to) {
  if (from) to = *from;
  return from.has_value();
}

}  // namespace

Status CheckGroups(const std::vector<GroupConfig>& groups, const std::string& cluster) {
  std::vector<std::string> complaints;
  std::set<std::string> names;
  for (const GroupConfig& group : groups) {
    const std::string who = "group '" + group.name + "': ";
    if (!IsHostNamePart(group.name)) {
      complaints.push_back(
          who + "the name becomes part of host names: use up to 54 letters, digits, '-' and '.'");
    }
    if (!names.insert(group.name).second) complaints.push_back(who + "the name is used twice");
    if (group.min_size < 0) complaints.push_back(who + "minSize must not be negative");
    if (group.max_size < group.min_size) {
      complaints.push_back(who + "maxSize " + std::to_string(group.max_size) +
                           " is below minSize " + std::to_string(group.min_size));
    }
    if (group.flavor.empty()) complaints.push_back(who + "flavor is required");
    const auto tag = group.tags.find(kClusterTag);
    if (tag != group.tags.end() && !cluster.empty() && tag->second != cluster) {
      complaints.push_back(who + "tag k8s-cluster says '" + tag->second +
                           "' and clusterTag says '" + cluster + "'; remove one of them");
    }
    const Status reserved = CheckReserved(group);
    if (!reserved.ok()) complaints.push_back(reserved.message());
  }
  return complaints.empty() ? Status::Ok() : InvalidArgument(Join(complaints, "\n"));
}

CloudNodeGroups::Core::Core(const CloudNodeGroupsContext& context, CloudNodeGroupsOptions options)
    : cloud_(context.cloud),
      clock_(context.clock),
      log_(context.log),
      options_(std::move(options)),
      audit_(options_.audit ? options_.audit : AuditToLog(context.log)),
      metrics_(context.metrics, options_.metrics_prefix.empty() ? context.cloud.MetricPrefix()
                                                                : options_.metrics_prefix),
      published_(EmptyPicture()),
      book_({context.cloud, context.workers, context.clock, context.rng, context.log},
            BookOptions(options_), *this) {}

std::shared_ptr<CloudNodeGroups::Core> CloudNodeGroups::Core::Make(
    const CloudNodeGroupsContext& context, CloudNodeGroupsOptions options) {
  auto core = std::make_shared<Core>(context, std::move(options));
  core->book_.set_owner_life(core);
  return core;
}

CloudNodeGroups::CloudNodeGroups(std::shared_ptr<Core> core) : core_(std::move(core)) {}
CloudNodeGroups::~CloudNodeGroups() = default;

Result<std::unique_ptr<CloudNodeGroups>> CloudNodeGroups::Create(
    const CloudNodeGroupsContext& context, CloudNodeGroupsOptions options,
    std::vector<GroupConfig> groups) {
  auto core = Core::Make(context, std::move(options));
  TRY(core->Configure(std::move(groups)));
  return std::unique_ptr<CloudNodeGroups>(new CloudNodeGroups(std::move(core)));
}

std::shared_ptr<const GroupsPicture> CloudNodeGroups::picture() const { return core_->picture(); }
uint64_t CloudNodeGroups::Version() const { return core_->version(); }
Status CloudNodeGroups::Reconfigure(std::vector<GroupConfig> groups) {
  return core_->Configure(std::move(groups));
}
Status CloudNodeGroups::Drain(Deadline deadline) { return core_->Drain(deadline); }

std::vector<GroupInfo> CloudNodeGroups::Groups() {
  const auto now = picture();  // named: a loop over a temporary's member does not keep it alive
  std::vector<GroupInfo> all;
  for (const auto& group : now->groups) all.push_back(group->info);
  return all;
}

Result<std::optional<std::string>> CloudNodeGroups::GroupOf(const NodeRef& node) {
  const auto now = picture();
  const GroupView* group = now->FindByMachine(node.provider_id);
  return group == nullptr ? std::nullopt : std::optional(group->info.id);
}

Result<bool> CloudNodeGroups::HasInstance(const NodeRef& node) {
  const auto now = picture();
  if (const GroupView* group = now->FindByMachine(node.provider_id)) {
    // A machine on its way out is not in the target. If its Node went on counting, one that was
    // ordered meanwhile would seem to have come.
    return std::ranges::find(group->going, node.provider_id) == group->going.end();
  }
  if (!now->refreshed) return Unavailable("the cloud has not been asked yet what exists");
  const auto orphan =
      std::ranges::find(*now->orphans, std::string_view(node.provider_id), &Machine::id);
  if (orphan != now->orphans->end()) return true;
  if (core_->HadMachine(node.provider_id)) return false;
  // A control plane, or nodes that somebody else looks after: our lists do not show their machines,
  // which says nothing about whether they exist. To call them gone would take them out of what the
  // cluster's health is judged by.
  return Unimplemented("node '" + node.name + "' is of none of our groups");
}

Result<int> CloudNodeGroups::TargetSize(std::string_view group) {
  const auto now = picture();
  return TRY(FindListed(*now, group))->target_size;
}

Result<std::vector<Instance>> CloudNodeGroups::Instances(std::string_view group) {
  const auto now = picture();
  return TRY(FindListed(*now, group))->instances;
}

Result<std::shared_ptr<const model::Node>> CloudNodeGroups::Template(std::string_view group) {
  const auto now = picture();
  const GroupView* view = TRY(FindGroup(*now, group));
  if (view->node_template == nullptr) return view->template_status;
  return view->node_template;
}

Result<std::optional<ScalingOptions>> CloudNodeGroups::Options(std::string_view group,
                                                               const ScalingOptions& defaults) {
  const auto now = picture();
  const GroupScalingOptions& own = TRY(FindGroup(*now, group))->config->options;
  if (own == GroupScalingOptions{}) return std::optional<ScalingOptions>();
  ScalingOptions all = defaults;
  Override(own.scale_down_utilization_threshold, all.scale_down_utilization_threshold);
  Override(own.scale_down_gpu_utilization_threshold, all.scale_down_gpu_utilization_threshold);
  Override(own.scale_down_unneeded_time, all.scale_down_unneeded_time);
  Override(own.scale_down_unready_time, all.scale_down_unready_time);
  Override(own.max_node_provision_time, all.max_node_provision_time);
  Override(own.max_node_startup_time, all.max_node_startup_time);
  Override(own.zero_or_max_node_scaling, all.zero_or_max_node_scaling);
  Override(own.allow_non_atomic_scale_up_to_max, all.allow_non_atomic_scale_up_to_max);
  Override(own.ignore_daemon_sets_utilization, all.ignore_daemon_sets_utilization);
  return std::optional(all);
}

Status CloudNodeGroups::Increase(std::string_view group, int delta, Deadline deadline) {
  return core_->Increase(group, delta, deadline);
}
Status CloudNodeGroups::IncreaseAtomically(std::string_view, int, Deadline) {
  // Four verbs cannot promise all or nothing; the caller falls back to Increase.
  return Unimplemented("machines are ordered one by one; use Increase");
}
Status CloudNodeGroups::Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                               Deadline deadline) {
  return core_->Delete(group, nodes, deadline);
}
Status CloudNodeGroups::DecreaseTarget(std::string_view group, int delta, Deadline) {
  return core_->DecreaseTarget(group, delta);
}
Status CloudNodeGroups::Refresh(Deadline deadline) { return core_->Refresh(deadline); }
// The autoscaler says good-bye when it exits; the provider serves the next one.
Status CloudNodeGroups::Cleanup() { return Status::Ok(); }

std::string CloudNodeGroups::GpuLabel() { return core_->GpuLabel(); }

std::vector<std::string> CloudNodeGroups::GpuTypes() {
  const auto now = picture();
  std::set<std::string> types;
  if (now->flavors != nullptr) {
    for (const auto& [name, flavor] : *now->flavors) {
      if (flavor.gpu_count > 0) types.insert(AsLabelValue(flavor.gpu_type));
    }
  }
  return {types.begin(), types.end()};
}

Result<double> CloudNodeGroups::NodePrice(const NodeRef& node,
                                          const std::map<std::string, std::string>& labels,
                                          TimePoint start, TimePoint end) {
  const auto price = NodePricePerHour(*picture(), node, labels);
  if (!price) return Unimplemented("no price is known for node '" + node.name + "'");
  return *price * Hours(start, end);
}

Result<double> CloudNodeGroups::PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) {
  const auto price = PodPricePerHour(*picture(), pod);
  if (!price) {
    return Unimplemented("no price is known for pod '" + pod.metadata.namespace_ + "/" +
                         pod.metadata.name + "'");
  }
  return *price * Hours(start, end);
}

}  // namespace coppice::cloud
