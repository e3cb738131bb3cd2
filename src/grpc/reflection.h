// gRPC's server reflection (v1 and v1alpha): which services there are and what their messages look
// like, from the descriptors that are compiled in. Internal to this module.

#pragma once

#include <string>
#include <vector>

#include "grpc/routes.h"

namespace coppice::grpc {

void AddReflection(Routes& routes, std::vector<std::string> services);

}  // namespace coppice::grpc
