#include "fit/default_spread_config.h"

#include <utility>

#include "base/yaml.h"
#include "fit/scheduler_config_args.h"

namespace coppice::fit {

Result<std::vector<model::TopologySpreadConstraint>> ParseDefaultSpread(std::string_view text,
                                                                        std::string file_name) {
  std::vector<model::TopologySpreadConstraint> constraints;
  if (text.empty()) return constraints;
  const yaml::Node root = TRY(yaml::Parse(text, std::move(file_name)));
  yaml::Problems problems;
  yaml::MapReader document(root, problems);
  yaml::MapReader spread(document.Get("podTopologySpread"), problems);
  constraints = ReadDefaultConstraints(spread, problems);
  for (const auto& constraint : constraints) {
    if (!constraint.match_label_keys.empty())
      spread.Complain("defaultConstraints", "matchLabelKeys has no effect on default constraints");
  }
  spread.Finish();
  document.Finish();
  TRY(problems.ToStatus(/*strict=*/true));
  return constraints;
}

}  // namespace coppice::fit
