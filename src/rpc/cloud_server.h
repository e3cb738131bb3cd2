// Our own cloud service (proto/cloud.proto) over any cloud::Cloud: the four verbs and the start-up
// check, bytes in and bytes out. Every method waits for the cloud and runs on workers.
//
// Whoever may call it may create and delete machines: it is served with mutual TLS, or on a Unix
// socket, as everything here.

#pragma once

#include "base/log.h"
#include "cloud/cloud.h"
#include "grpc/handler.h"

namespace coppice::rpc {

// `cloud` and `log` outlive the service. Creates and deletes are logged with who asked.
grpc::Service CloudService(cloud::Cloud& cloud, const Log& log);

}  // namespace coppice::rpc
