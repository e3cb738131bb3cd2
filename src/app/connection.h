// Where the API server is and who we are there, from flags and files; and the same again while the
// process runs.

#pragma once

#include <string>

#include "autoscale/flags.h"
#include "base/log.h"
#include "kube/credentials.h"

namespace coppice::app {

// "" if it is not set.
std::string Environment(const char* name);

// --kubeconfig, or what a pod finds; --kubernetes wins over their address.
Result<kube::ConnectionConfig> Connection(const autoscale::FlagValues& flags);

// SIGHUP: reads all of it again. A file that cannot be used changes nothing, and the log says why;
// it also says what a running process cannot change. `running` is the server that is spoken to.
void ReloadConnection(const autoscale::FlagValues& flags, const std::string& running,
                      kube::Credentials& credentials, const Log& log);

}  // namespace coppice::app
