// The controllers that drain rules ask about, looked up in the world as it is.

#pragma once

#include "cluster/world.h"
#include "drain/rules.h"

namespace coppice::drain {

class WorldControllers final : public Controllers {
 public:
  explicit WorldControllers(const cluster::World& world) : world_(world) {}
  std::optional<Found> Find(std::string_view kind, std::string_view namespace_,
                            std::string_view name) const override;

 private:
  const cluster::World& world_;
};

}  // namespace coppice::drain
