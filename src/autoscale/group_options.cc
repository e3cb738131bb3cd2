#include "autoscale/group_options.h"

namespace coppice::autoscale {

cloud::ScalingOptions GroupOptions::operator()(std::string_view group) const {
  const auto options = groups_->Options(group, *defaults_);
  const cloud::ScalingOptions standard =
      options.ok() && options->has_value() ? **options : *defaults_;
  return slots_->node_group_config ? slots_->node_group_config->OptionsOf(group, standard)
                                   : standard;
}

}  // namespace coppice::autoscale
