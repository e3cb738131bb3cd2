// ViewAge: how old what is known of the cluster is, and when that is too old to decide on.

#pragma once

#include <functional>
#include <string>

#include "autoscale/options.h"
#include "cluster/view_age.h"

namespace coppice::autoscale {

class ViewAge {
 public:
  // `age` null: always fresh. `oldest_kind`: what it is so old of, "Pod".
  ViewAge(const Deviations& deviations, std::function<Duration()> age,
          std::function<std::string()> oldest_kind)
      : limits_(deviations), age_(std::move(age)), oldest_kind_(std::move(oldest_kind)) {}

  bool TooOld() const { return age_ && age_() > limits_.fuse_max_view_age; }
  // "" or why nothing may be decided.
  std::string Stale() const {
    if (!limits_.fuses) return "";
    return cluster::ViewAge{limits_.fuse_max_view_age, "--fuse-max-view-age", age_, oldest_kind_}
        .Stale("nothing is bought or removed");
  }

 private:
  const Deviations& limits_;
  std::function<Duration()> age_;
  std::function<std::string()> oldest_kind_;
};

}  // namespace coppice::autoscale
