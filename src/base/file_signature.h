// Whether files have changed, without reading them: for certificates and configuration that are
// re-read.

#pragma once

#include <string>
#include <vector>

namespace coppice {

// Differs from an earlier answer when one of the files was written or replaced since, or is there
// or not there now. Follows symbolic links, so that Kubernetes' swap of `..data` shows.
std::string FileSignature(const std::vector<std::string>& paths);

}  // namespace coppice
