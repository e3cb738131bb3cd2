// How CloudNodeGroups turns its ledger into the picture that reads are answered from.

#include <algorithm>
#include <iterator>

#include "cloud/group_instances.h"
#include "cloud/node_groups_core.h"

namespace coppice::cloud {

std::shared_ptr<const GroupView> CloudNodeGroups::Core::View(const Configured& group,
                                                             const GroupView* before,
                                                             uint64_t version) const {
  auto view = std::make_shared<GroupView>();
  view->info = group.info;
  view->config = group.config;
  if (const Book* book = book_.ledger().Find(group.config->name)) {
    const GroupCounts counts = book->Count();
    view->target_size = counts.target();
    view->current_size = counts.existing;
    view->instances = InstancesOf(*book, group.config->name);
    for (const Instance& instance : view->instances) {
      if (instance.state == InstanceState::kDeleting) view->going.push_back(instance.id);
    }
  }
  view->node_template = group.node_template;
  view->template_status = group.template_status;
  view->price_per_hour = group.price_per_hour;
  view->version = version;
  const bool same =
      before != nullptr && before->info == view->info && before->target_size == view->target_size &&
      before->current_size == view->current_size && before->instances == view->instances &&
      before->node_template == view->node_template &&
      before->template_status == view->template_status &&
      before->price_per_hour == view->price_per_hour && *before->config == *view->config;
  return same ? nullptr : view;
}

// Ids that one view of a group has and the next has not, and the other way round. Both are sorted
// in two runs, and most ids are in both: only the rest is put into the index.
void CloudNodeGroups::Core::Compare(const GroupView* before, const GroupView& after, uint32_t group,
                                    std::vector<IdIndex::Change>& changes) {
  std::vector<std::string_view> old_ids;
  std::vector<std::string_view> new_ids;
  if (before != nullptr) {
    for (const Instance& instance : before->instances) old_ids.push_back(instance.id);
  }
  for (const Instance& instance : after.instances) new_ids.push_back(instance.id);
  std::ranges::sort(old_ids);
  std::ranges::sort(new_ids);
  std::vector<std::string_view> differ;
  std::ranges::set_difference(old_ids, new_ids, std::back_inserter(differ));
  for (const std::string_view id : differ) changes.emplace_back(id, IdIndex::kNone);
  differ.clear();
  std::ranges::set_difference(new_ids, old_ids, std::back_inserter(differ));
  for (const std::string_view id : differ) changes.emplace_back(id, group);
}

void CloudNodeGroups::Core::PublishTouched() {
  const auto before = published_.Load();
  auto next = std::make_shared<GroupsPicture>(*before);
  std::vector<IdIndex::Change> changes;
  bool changed = false;
  for (const std::string& name : touched_) {
    const auto index = group_index_.find(name);
    if (index == group_index_.end()) continue;
    const auto group = static_cast<uint32_t>(index->second);
    auto view = View(groups_[group], before->groups[group].get(), before->version + 1);
    if (view == nullptr) continue;
    Compare(before->groups[group].get(), *view, group, changes);
    metrics_.Show(*view);
    next->groups[group] = std::move(view);
    changed = true;
  }
  touched_.clear();
  if (!changed) return;
  next->ids = before->ids.With(changes);
  Publish(std::move(next), true);
}

void CloudNodeGroups::Core::PublishAll() {
  const auto before = published_.Load();
  auto next = std::make_shared<GroupsPicture>();
  bool changed = before->flavors != flavors_ || before->refreshed != book_.listed();
  bool regrouped = before->groups.size() != groups_.size();
  auto names = std::make_shared<GroupsPicture::GroupNames>();
  std::vector<IdIndex::Change> changes;
  size_t machines = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const std::string& name = groups_[i].config->name;
    const auto group = static_cast<uint32_t>(i);
    const auto old = before->by_name->find(name);
    const GroupView* old_view =
        old == before->by_name->end() ? nullptr : before->groups[old->second].get();
    regrouped = regrouped || old_view == nullptr || old->second != group;
    auto view = View(groups_[i], old_view, before->version + 1);
    if (view == nullptr) {
      view = before->groups[old->second];
    } else {
      changed = true;
      Compare(old_view, *view, group, changes);
      metrics_.Show(*view);
    }
    machines += view->instances.size();
    next->groups.push_back(std::move(view));
    names->emplace(name, group);
  }
  auto orphans = std::make_shared<const std::vector<Machine>>(book_.Orphans());
  if (regrouped) {  // the indices of groups mean something else now
    changes.clear();
    for (uint32_t i = 0; i < next->groups.size(); ++i) {
      for (const Instance& instance : next->groups[i]->instances) {
        changes.emplace_back(instance.id, i);
      }
    }
  }
  metrics_.ShowTotals(machines + orphans->size(), flavors_ == nullptr ? 0 : flavors_->size(),
                      orphans->size());
  changed = changed || regrouped || *orphans != *before->orphans;
  next->ids = regrouped ? IdIndex(changes) : before->ids.With(changes);
  next->by_name = std::move(names);
  next->orphans = std::move(orphans);
  next->flavors = flavors_;
  next->refreshed = book_.listed();
  next->refreshed_at = book_.listed_at();
  touched_.clear();
  Publish(std::move(next), changed);
}

// An unchanged picture keeps its number, so that whoever has serialised it need not do so again.
void CloudNodeGroups::Core::Publish(std::shared_ptr<GroupsPicture> next, bool changed) {
  next->version = published_.Load()->version + (changed ? 1 : 0);
  const uint64_t version = next->version;
  published_.Store(std::move(next));
  version_.store(version, std::memory_order_release);
}

}  // namespace coppice::cloud
