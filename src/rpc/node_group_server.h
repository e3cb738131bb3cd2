// Cluster Autoscaler's externalgrpc service over any NodeGroups: the fifteen methods, bytes in and
// bytes out, for every autoscaler from 1.25 on.
//
// Reads are look-ups and answer on the wire's own thread; what changes only when the provider's
// picture changes is serialised once. Refresh, Cleanup and the mutations wait for the cloud and run
// on workers.

#pragma once

#include "cloud/node_groups.h"
#include "grpc/handler.h"

namespace coppice::rpc {

inline constexpr char kCloudProviderService[] =
    "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider";

// `groups` outlives the service. Mutations run inside a cloud::CallerScope with the caller's
// certificate names, so that whoever keeps the audit knows who asked.
grpc::Service NodeGroupService(cloud::NodeGroups& groups);

}  // namespace coppice::rpc
