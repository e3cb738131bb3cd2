// What CloudNodeGroups answers reads from: an immutable picture of all groups, replaced as a whole.
//
// A mutation replaces only the groups it touched; the others are shared with the picture before, so
// that `GroupView::version` tells whether an answer that was serialised for a group is still the
// right one. Plain values; any thread may read a picture that it has loaded.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/group_config.h"
#include "cloud/node_groups.h"
#include "cloud/types.h"
#include "model/node.h"

namespace coppice::cloud {

struct GroupView {
  GroupInfo info;
  std::shared_ptr<const GroupConfig> config;
  int target_size = 0;              // what exists and is not going, and what has been ordered
  int current_size = 0;             // what exists and is not going
  std::vector<Instance> instances;  // machines by id, then orders by placeholder id
  std::vector<ProviderId> going;    // those of them that are being deleted; not in the sizes
  std::shared_ptr<const model::Node> node_template;  // null: see template_status
  Status template_status;
  std::optional<double> price_per_hour;
  uint64_t version = 0;  // of the picture in which this view first stood
};

// Provider id to the index of its group. Two layers, because a map of 15,000 ids is copied in
// milliseconds and the autoscaler deletes nodes one call at a time: changes go into a small map
// that is copied instead, and is folded into the large one when it has grown.
class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Change = std::pair<std::string, uint32_t>;  // kNone: the id is gone

  IdIndex();
  explicit IdIndex(const std::vector<Change>& all);
  uint32_t Find(std::string_view id) const;
  IdIndex With(const std::vector<Change>& changes) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Map = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;

  std::shared_ptr<const Map> base_;
  std::shared_ptr<const Map> recent_;
};

struct GroupsPicture {
  uint64_t version = 0;
  bool refreshed = false;                                // the cloud has been listed at least once
  TimePoint refreshed_at;                                // when the newest list was asked for
  std::vector<std::shared_ptr<const GroupView>> groups;  // as configured
  using GroupNames = std::map<std::string, uint32_t, std::less<>>;
  std::shared_ptr<const GroupNames> by_name;  // never null
  IdIndex ids;                                // machines and placeholders
  // Machines that carry our cluster's tag and a group that is not configured: they bill and nobody
  // scales them down. By id.
  std::shared_ptr<const std::vector<Machine>> orphans;
  std::shared_ptr<const std::map<std::string, Flavor>>
      flavors;  // by name; null before they are known

  const GroupView* Find(std::string_view group) const;        // null: not configured
  const GroupView* FindByMachine(std::string_view id) const;  // null: not ours
};

}  // namespace coppice::cloud
