// A resource list as Go prints it by its fields, which is what upstream's event says:
// map[cpu:{{1500 -3} {<nil>} 1500m DecimalSI}].

#pragma once

#include <string>

#include "model/pod.h"

namespace coppice::batch::resourcequota {

std::string GoText(const model::ResourceList& list);

}  // namespace coppice::batch::resourcequota
