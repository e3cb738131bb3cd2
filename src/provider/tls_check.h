// The files that tls names, looked at as a start would, but without one: `coppice validate` says of
// them what `coppice provider` would refuse.

#pragma once

#include "base/clock.h"
#include "base/yaml.h"
#include "provider/provider_config.h"

namespace coppice::provider {

// A key that does not fit, a text that is no certificate or one that has ended is an error at the
// line that names the file. A file that is not here is a warning: files are often checked where
// nothing runs. Nothing is said of a configuration without tls.
void CheckTlsFiles(const ProviderConfig& config, TimePoint now, yaml::Problems& problems);

}  // namespace coppice::provider
