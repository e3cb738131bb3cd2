#include "cluster/held_nodes.h"

namespace coppice::cluster {

Status HeldNodes::Hold(std::string_view node, std::string_view uid, std::string_view engine) {
  const auto it = by_name_.find(node);
  if (it == by_name_.end()) {
    by_name_.emplace(node, Entry{std::string(uid), std::string(engine)});
    return Status::Ok();
  }
  Entry& entry = it->second;
  if (entry.uid == uid && entry.engine != engine) {
    return AlreadyExists("node '" + std::string(node) + "' is held by " + entry.engine);
  }
  entry = {std::string(uid), std::string(engine)};  // of another uid: that node is gone
  return Status::Ok();
}

void HeldNodes::Release(std::string_view node, std::string_view engine) {
  const auto it = by_name_.find(node);
  if (it != by_name_.end() && it->second.engine == engine) by_name_.erase(it);
}

void HeldNodes::NodeGone(std::string_view node, std::string_view uid) {
  const auto it = by_name_.find(node);
  if (it != by_name_.end() && it->second.uid == uid) by_name_.erase(it);
}

std::string_view HeldNodes::HolderOf(std::string_view node, std::string_view uid) const {
  const auto it = by_name_.find(node);
  return it != by_name_.end() && it->second.uid == uid ? std::string_view(it->second.engine)
                                                       : std::string_view();
}

std::vector<HeldNodes::Held> HeldNodes::List() const {
  std::vector<Held> all;
  all.reserve(by_name_.size());
  for (const auto& [name, entry] : by_name_) all.push_back({name, entry.uid, entry.engine});
  return all;
}

}  // namespace coppice::cluster
