// How CloudNodeGroups is told what there should be, and learns what there is.

#include <algorithm>

#include "base/strings.h"
#include "cloud/node_groups_core.h"
#include "cloud/template.h"

namespace coppice::cloud {

namespace {

// Hardware on sale is read in pages on some APIs; the client's deadline usually ends it sooner.
constexpr Duration kFlavorsTimeout = std::chrono::minutes(1);

std::string DebugLine(const GroupConfig& group) {
  return group.name + ": flavor " + group.flavor + ", zone " + group.zone + ", " +
         std::to_string(group.min_size) + " to " + std::to_string(group.max_size);
}

}  // namespace

Status CloudNodeGroups::Core::Configure(std::vector<GroupConfig> groups) {
  TRY(CheckGroups(groups, options_.cluster));
  const Lock lock(book_.mutex());
  for (const Configured& old : groups_) {
    const bool stays = std::ranges::any_of(
        groups, [&](const GroupConfig& group) { return group.name == old.config->name; });
    if (stays) continue;
    metrics_.Forget(old.config->name);
    // What the cloud has not heard of is given up with the group; what it has will be an orphan.
    book_.CancelAll(old.config->name, {OrderState::kQueued, OrderState::kFailed});
  }
  groups_.clear();
  group_index_.clear();
  for (GroupConfig& config : groups) {
    Configured group{.cluster = options_.cluster};
    const auto own = config.tags.find(kClusterTag);
    if (own != config.tags.end()) group.cluster = own->second;
    group.info = {config.name, config.min_size, config.max_size, DebugLine(config)};
    group.config = std::make_shared<const GroupConfig>(std::move(config));
    group.what = SpecFor(group, cloud_);
    MakeTemplate(group);
    group_index_[group.config->name] = groups_.size();
    groups_.push_back(std::move(group));
  }
  PublishAll();
  return Status::Ok();
}

void CloudNodeGroups::Core::MakeTemplate(Configured& group) const {
  const GroupConfig& config = *group.config;
  group.node_template = nullptr;
  group.price_per_hour = config.price_per_hour;
  if (flavors_ == nullptr) {
    group.template_status = Unavailable("group '" + config.name +
                                        "': the cloud has not told its flavors yet; refresh first");
    return;
  }
  const auto flavor = flavors_->find(config.flavor);
  if (flavor == flavors_->end()) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : *flavors_) names.push_back(name);
    const std::string nearest = Nearest(config.flavor, names);
    group.template_status = FailedPrecondition(
        "group '" + config.name + "': the cloud has no flavor '" + config.flavor + "'; " +
        (nearest.empty() ? "correct it in the configuration" : "did you mean '" + nearest + "'?"));
    return;
  }
  if (!group.price_per_hour) group.price_per_hour = flavor->second.price_per_hour;
  auto node = cloud::MakeTemplate(config, flavor->second, cloud_.GpuLabel());
  group.template_status = node.status();
  if (node.ok()) group.node_template = std::make_shared<const model::Node>(*std::move(node));
}

bool CloudNodeGroups::Core::HadMachine(std::string_view id) {
  const Lock lock(book_.mutex());
  return book_.ledger().FormerOwnerOf(id) != nullptr;
}

void CloudNodeGroups::Core::Changed(std::string_view group, bool show) {
  Touch(group);
  if (show) PublishTouched();
}

// A failure leaves the flavors as they were: hardware on sale changes rarely, and a list that was
// read must not be thrown away for it.
void CloudNodeGroups::Core::BeforeMerge(Deadline deadline) {
  {
    const Lock lock(book_.mutex());
    if (flavors_ != nullptr && clock_.Now() < flavors_at_ + options_.flavor_ttl) return;
  }
  auto flavors = cloud_.Flavors(deadline.Earlier(Deadline::In(clock_, kFlavorsTimeout)));
  if (!flavors.ok()) {
    log_.Warning("flavors could not be read; templates stay as they are",
                 {{"error", flavors.status()}});
    return;
  }
  auto by_name = std::make_shared<std::map<std::string, Flavor>>();
  for (Flavor& flavor : *flavors) by_name->insert_or_assign(flavor.name, std::move(flavor));
  const Lock lock(book_.mutex());
  flavors_at_ = clock_.Now();
  if (flavors_ != nullptr && *flavors_ == *by_name) return;
  flavors_ = std::move(by_name);
  for (Configured& group : groups_) {
    const auto before = group.node_template;
    MakeTemplate(group);
    if (before != nullptr && group.node_template != nullptr && *before == *group.node_template) {
      group.node_template = before;
    }
  }
}

std::optional<std::string> CloudNodeGroups::Core::GroupOf(const Machine& machine) const {
  const auto group = machine.tags.find(kGroupTag);
  if (group == machine.tags.end()) return std::nullopt;
  if (machine.tags.contains(kPoolTag)) return std::nullopt;  // a claim's, whatever else it says
  const auto index = group_index_.find(group->second);
  const std::string& cluster =
      index == group_index_.end() ? options_.cluster : groups_[index->second].cluster;
  const auto tag = machine.tags.find(kClusterTag);
  // Checked here although the list was filtered: a cloud that ignores a filter must not hand us
  // somebody else's machines.
  if ((tag == machine.tags.end() ? std::string_view() : std::string_view(tag->second)) != cluster) {
    return std::nullopt;
  }
  return group->second;
}

}  // namespace coppice::cloud
