// ViewAge: how old what is known of the cluster is, and when that is too old to decide on.

#pragma once

#include <functional>
#include <string>

#include "autoscale/options.h"
#include "base/go_duration.h"

namespace coppice::autoscale {

class ViewAge {
 public:
  // `age` null: always fresh. `oldest_kind`: what it is so old of, "Pod".
  ViewAge(const Options& options, std::function<Duration()> age,
          std::function<std::string()> oldest_kind)
      : limits_(options.deviations), age_(std::move(age)), oldest_kind_(std::move(oldest_kind)) {}

  bool TooOld() const { return age_ && age_() > limits_.fuse_max_view_age; }
  // "" or why nothing may be decided.
  std::string Stale() const {
    if (!limits_.fuses || !age_) return "";
    const Duration age = age_();
    if (age <= limits_.fuse_max_view_age) return "";
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age);
    return "the view of the cluster is stale: " +
           (oldest_kind_ ? oldest_kind_() : std::string("it")) + " has not been read for " +
           FormatGoDuration(seconds) + " (--fuse-max-view-age is " +
           FormatGoDuration(limits_.fuse_max_view_age) + "); nothing is bought or removed";
  }

 private:
  const Deviations& limits_;
  std::function<Duration()> age_;
  std::function<std::string()> oldest_kind_;
};

}  // namespace coppice::autoscale
