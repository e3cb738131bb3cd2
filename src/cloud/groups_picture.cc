#include "cloud/groups_picture.h"

#include <algorithm>

namespace coppice::cloud {

namespace {
// Below this the small map is cheaper to copy than anything else that a mutation does.
constexpr size_t kMinFold = 256;
}  // namespace

IdIndex::IdIndex() : base_(std::make_shared<Map>()), recent_(std::make_shared<Map>()) {}

IdIndex::IdIndex(const std::vector<Change>& all) : IdIndex() {
  auto base = std::make_shared<Map>();
  base->reserve(all.size());
  for (const auto& [id, group] : all) {
    if (group != kNone) base->insert_or_assign(id, group);
  }
  base_ = std::move(base);
}

uint32_t IdIndex::Find(std::string_view id) const {
  if (!recent_->empty()) {
    const auto it = recent_->find(id);
    if (it != recent_->end()) return it->second;
  }
  const auto it = base_->find(id);
  return it == base_->end() ? kNone : it->second;
}

IdIndex IdIndex::With(const std::vector<Change>& changes) const {
  if (changes.empty()) return *this;
  // What goes before what comes: an id that moves from one group to another is in the list twice.
  const auto in_order = [&changes](const auto& apply) {
    for (const auto& [id, group] : changes) {
      if (group == kNone) apply(id, group);
    }
    for (const auto& [id, group] : changes) {
      if (group != kNone) apply(id, group);
    }
  };
  IdIndex next = *this;
  if (recent_->size() + changes.size() <= std::max(kMinFold, base_->size() / 32)) {
    auto recent = std::make_shared<Map>(*recent_);
    in_order([&](const std::string& id, uint32_t group) { recent->insert_or_assign(id, group); });
    next.recent_ = std::move(recent);
    return next;
  }
  auto base = std::make_shared<Map>(*base_);
  const auto apply = [&base](const std::string& id, uint32_t group) {
    if (group == kNone) {
      base->erase(id);
    } else {
      base->insert_or_assign(id, group);
    }
  };
  for (const auto& [id, group] : *recent_) apply(id, group);
  in_order(apply);
  next.base_ = std::move(base);
  next.recent_ = std::make_shared<Map>();
  return next;
}

const GroupView* GroupsPicture::Find(std::string_view group) const {
  const auto it = by_name->find(group);
  return it == by_name->end() ? nullptr : groups[it->second].get();
}

const GroupView* GroupsPicture::FindByMachine(std::string_view id) const {
  const uint32_t group = ids.Find(id);
  return group == IdIndex::kNone ? nullptr : groups[group].get();
}

}  // namespace coppice::cloud
