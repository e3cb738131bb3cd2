// What an expander's answer leaves of the options that it was offered.

#pragma once

#include <string>
#include <vector>

#include "expand/option.h"

namespace coppice::expanders::grpc {

struct Kept {
  expand::Options options;           // in the answer's order, repeated where it repeats
  std::vector<std::string> unknown;  // ids in the answer that were not offered
};

// By group id alone: counts, pods and texts of the answer do not matter, so that nobody outside can
// make up an option. Of two offered options with one id the later counts, as upstream has it.
Kept Match(const expand::Options& offered, const std::vector<std::string>& answered);

}  // namespace coppice::expanders::grpc
