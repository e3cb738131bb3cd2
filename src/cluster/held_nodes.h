// HeldNodes: which engine is taking a node down, so that the others keep off.
//
// A fact that all engines share in time: whoever is about to taint, drain or delete a node holds it
// first, and whoever counts on a node (or wants to take it down, too) asks who holds it. A node is
// known by name and uid, so that one that comes back under an old name is nobody's. Not part of a
// World's hold and of no snapshot: what another engine does to a node counts at once, also in the
// middle of a plan.
//
// One thread only.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace coppice::cluster {

class HeldNodes {
 public:
  struct Held {
    std::string node;
    std::string uid;
    std::string engine;
    friend bool operator==(const Held&, const Held&) = default;
  };

  // Ok also if the engine holds it already. kAlreadyExists names the engine that does.
  Status Hold(std::string_view node, std::string_view uid, std::string_view engine);
  // Lets go of it; nothing happens unless this engine holds a node of that name.
  void Release(std::string_view node, std::string_view engine);
  // The node has been deleted. Another uid: it was another one.
  void NodeGone(std::string_view node, std::string_view uid);

  // "" if nobody holds it.
  std::string_view HolderOf(std::string_view node, std::string_view uid) const;
  // Whether somebody else does: then keep off.
  bool HeldByAnother(std::string_view node, std::string_view uid, std::string_view engine) const {
    const std::string_view holder = HolderOf(node, uid);
    return !holder.empty() && holder != engine;
  }
  std::vector<Held> List() const;  // by name
  size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::string uid;
    std::string engine;
  };
  std::map<std::string, Entry, std::less<>> by_name_;
};

}  // namespace coppice::cluster
