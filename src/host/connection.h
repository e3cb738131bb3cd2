// Where the API server is and who we are there, from flags and files; and the same again while the
// process runs.

#pragma once

#include <string>

#include "base/log.h"
#include "kube/credentials.h"

namespace coppice::host {

// What the command line says of it.
struct ConnectionFlags {
  std::string kubeconfig;  // "": what a pod finds
  std::string kubernetes;  // the server's address; "": as the kubeconfig or the pod has it
};

// "" if it is not set.
std::string Environment(const char* name);

Result<kube::ConnectionConfig> Connection(const ConnectionFlags& flags);

// SIGHUP: reads all of it again. A file that cannot be used changes nothing, and the log says why;
// it also says what a running process cannot change. `running` is the server that is spoken to.
void ReloadConnection(const ConnectionFlags& flags, const std::string& running,
                      kube::Credentials& credentials, const Log& log);

}  // namespace coppice::host
