#include "plugins/node_groups/externalgrpc/picture.h"

#include <algorithm>
#include <set>

namespace coppice::node_groups::externalgrpc {
namespace {

Instances WithDeleting(const Instances& list,
                       const std::vector<std::pair<std::string, uint64_t>>& deleted) {
  std::set<std::string_view> going;
  for (const auto& [id, ticket] : deleted) going.insert(id);
  std::vector<cloud::Instance> changed = *list;
  for (cloud::Instance& instance : changed) {
    if (!going.contains(instance.id)) continue;
    instance.state = cloud::InstanceState::kDeleting;
    instance.error.reset();
  }
  return std::make_shared<const std::vector<cloud::Instance>>(std::move(changed));
}

}  // namespace

// Engines put a node into their model for every machine that is on its way, so that one wrong
// number could keep a pass busy for hours.
void GroupView::Judge(Attempt<int>& attempt) const {
  if (!attempt.result || !attempt.result->ok()) return;
  const size_t listed = instances.known() ? (*instances.value)->size() : 0;
  const int most = cloud::MostCredibleTarget(info.max_size, listed);
  const int said = **attempt.result;
  if (said >= 0 && said <= most) return;
  attempt.result =
      Internal("a target of " + std::to_string(said) + " is not believed: the maximum is " +
               std::to_string(info.max_size) + ", " + std::to_string(listed) +
               " machines are listed, and at most " + std::to_string(most) + " would be believed");
}

void GroupView::TakeInstances(const Attempt<Instances>& attempt) {
  const Instances before = instances.value.value_or(nullptr);
  if (!instances.Take(attempt)) return;
  // A list that was asked for before the deletion still shows what is going.
  std::erase_if(deleted, [&](const auto& mark) { return mark.second < instances.ticket; });
  if (!deleted.empty()) instances.value = WithDeleting(*instances.value, deleted);
  // The same list is the same object: then nothing is indexed anew.
  if (before != nullptr && *before == **instances.value) instances.value = before;
}

void GroupView::MarkDeleted(const std::vector<cloud::NodeRef>& nodes, uint64_t ticket) {
  for (const cloud::NodeRef& node : nodes) deleted.emplace_back(node.provider_id, ticket);
  if (instances.known()) instances.value = WithDeleting(*instances.value, deleted);
}

GroupPtr Picture::Find(std::string_view group) const {
  const auto it = by_name.find(group);
  return it == by_name.end() ? nullptr : groups[it->second];
}

GroupPtr Picture::FindRemote(std::string_view remote_id) const {
  const auto it = by_remote.find(remote_id);
  return it == by_remote.end() ? nullptr : groups[it->second];
}

GroupPtr Picture::FindByMachine(std::string_view id) const {
  const auto it = ids->groups.find(id);
  return it == ids->groups.end() ? nullptr : groups[it->second];
}

void Picture::Index() {
  by_name.clear();
  by_remote.clear();
  std::vector<Instances> lists;
  size_t machines = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const GroupView& group = *groups[i];
    lists.push_back(group.complete() ? *group.instances.value : nullptr);
    if (lists.back() == nullptr) continue;
    machines += lists.back()->size();
    by_name.emplace(group.info.id, static_cast<uint32_t>(i));
    by_remote.emplace(group.remote_id, static_cast<uint32_t>(i));
  }
  if (lists == ids->lists) return;
  auto index = std::make_shared<IdIndex>();
  index->lists = std::move(lists);
  index->groups.reserve(machines);
  for (size_t i = 0; i < index->lists.size(); ++i) {
    if (index->lists[i] == nullptr) continue;
    for (const cloud::Instance& instance : *index->lists[i]) {
      index->groups.try_emplace(instance.id, static_cast<uint32_t>(i));  // the first group keeps it
    }
  }
  ids = std::move(index);
}

size_t Picture::stale_groups() const {
  return static_cast<size_t>(
      std::ranges::count_if(groups, [](const GroupPtr& group) { return group->stale(); }));
}

}  // namespace coppice::node_groups::externalgrpc
