// How a scale-up ends: what becomes of each kind of pods when the plan is given up, carried out or
// failed.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/scale_up.h"

namespace coppice::autoscale {

// By group: why it was passed over.
using SkipReasons = std::map<std::string, std::vector<std::string>>;

// All kinds that some group could have helped become unhelped, for `reason`.
void GiveUpAll(std::vector<ScaleUpPlan::Kind>& kinds, std::string_view reason);
// The pods that some group could have helped.
std::vector<report::Unhelped> UnservedOf(const ScaleUpPlan& plan);
// Nothing is bought.
void EndWithout(ScaleUpPlan& plan, report::ScaleUpResult result);
void EndWithError(ScaleUpPlan& plan, std::string error, std::string type);

}  // namespace coppice::autoscale
