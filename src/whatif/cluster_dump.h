// The World as kubectl would print it: a v1 List of everything that decisions read, which `coppice
// simulate --cluster` takes.
//
// Made on the decision thread, where it only takes hold of the objects, and read on any one other
// thread, piece by piece: what changes meanwhile is not seen, for objects never change, and the
// text of a large cluster is never in memory at once.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/world.h"
#include "net/http_server.h"

namespace coppice::whatif {

class ClusterDump {
 public:
  explicit ClusterDump(const cluster::World& world);

  // Appends the next piece, about a hundred kilobytes; nothing after the last.
  void Next(std::string& text);

  // Objects of one kind.
  class Kind {
   public:
    virtual ~Kind() = default;
    virtual size_t size() const = 0;
    virtual void AddTo(std::string& text, size_t index) const = 0;
  };

 private:
  std::vector<std::unique_ptr<const Kind>> kinds_;
  size_t kind_ = 0;   // that comes next, of these
  size_t index_ = 0;  // and of this its object
  bool begun_ = false;
  bool over_ = false;
};

// Answers with dumps of a World, one at a time: each holds on to a whole cluster's objects until
// its reader has them all.
class ClusterDumps {
 public:
  // `decide` runs something on the decision thread, to which the world belongs.
  using Decide = std::function<void(std::function<void()>)>;
  ClusterDumps(const cluster::World& world, Decide decide)
      : world_(world), decide_(std::move(decide)) {}

  net::ServerResponse Answer();  // on the server's thread, where the text is made, too

 private:
  const cluster::World& world_;
  Decide decide_;
  std::weak_ptr<const void> under_way_;
};

}  // namespace coppice::whatif
