#!/usr/bin/python3
"""Runs the fifteen RPCs against a provider, with Python's gRPC and messages generated from our .proto.

usage: fifteen_rpcs.py ADDRESS CA CERT KEY GENERATED_FOLDER
The provider serves a simulated cloud with the groups "web" (0 to 5 machines) and "gpu". Prints OK at the end.
"""
import sys

import grpc

address, ca, cert, key, generated = sys.argv[1:6]
sys.path.insert(0, generated)
import externalgrpc_pb2 as pb  # noqa: E402

SERVICE = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"


def read(path):
    with open(path, "rb") as file:
        return file.read()


credentials = grpc.ssl_channel_credentials(read(ca), read(key), read(cert))
channel = grpc.secure_channel(address, credentials, [("grpc.ssl_target_name_override", "localhost")])


def call(method, request, response_type):
    stub = channel.unary_unary(
        SERVICE + method, request_serializer=type(request).SerializeToString, response_deserializer=response_type.FromString)
    return stub(request, timeout=10)


def refused(method, request, response_type, code):
    try:
        call(method, request, response_type)
    except grpc.RpcError as error:
        assert error.code() == code, (method, error.code(), error.details())
        return error.details()
    raise AssertionError(f"{method} was not refused")


call("Refresh", pb.RefreshRequest(), pb.RefreshResponse)
groups = call("NodeGroups", pb.NodeGroupsRequest(), pb.NodeGroupsResponse).nodeGroups
assert [g.id for g in groups] == ["web", "gpu"], groups
assert groups[0].maxSize == 5 and groups[0].debug

call("NodeGroupIncreaseSize", pb.NodeGroupIncreaseSizeRequest(id="web", delta=3), pb.NodeGroupIncreaseSizeResponse)
target = call("NodeGroupTargetSize", pb.NodeGroupTargetSizeRequest(id="web"), pb.NodeGroupTargetSizeResponse)
assert target.targetSize == 3, target
text = refused("NodeGroupIncreaseSize", pb.NodeGroupIncreaseSizeRequest(id="web", delta=3),
               pb.NodeGroupIncreaseSizeResponse, grpc.StatusCode.FAILED_PRECONDITION)
assert "web" in text and "5" in text, text
refused("NodeGroupIncreaseSize", pb.NodeGroupIncreaseSizeRequest(id="web", delta=0),
        pb.NodeGroupIncreaseSizeResponse, grpc.StatusCode.INVALID_ARGUMENT)
refused("NodeGroupTargetSize", pb.NodeGroupTargetSizeRequest(id="absent"), pb.NodeGroupTargetSizeResponse,
        grpc.StatusCode.NOT_FOUND)

call("Refresh", pb.RefreshRequest(), pb.RefreshResponse)
nodes = call("NodeGroupNodes", pb.NodeGroupNodesRequest(id="web"), pb.NodeGroupNodesResponse).instances
assert len(nodes) == 3, nodes
for node in nodes:
    assert node.status.instanceState in (pb.InstanceStatus.instanceRunning, pb.InstanceStatus.instanceCreating)
    of = call("NodeGroupForNode", pb.NodeGroupForNodeRequest(node=pb.ExternalGrpcNode(providerID=node.id, name="n")),
              pb.NodeGroupForNodeResponse)
    assert of.nodeGroup.id == "web", of
stranger = call("NodeGroupForNode", pb.NodeGroupForNodeRequest(node=pb.ExternalGrpcNode(name="control-plane")),
                pb.NodeGroupForNodeResponse)
assert stranger.nodeGroup.id == ""

template = call("NodeGroupTemplateNodeInfo", pb.NodeGroupTemplateNodeInfoRequest(id="web"),
                pb.NodeGroupTemplateNodeInfoResponse)
assert template.nodeBytes and template.nodeBytes == template.nodeInfo
assert b"kubernetes.io/os" in template.nodeBytes and b"topology.kubernetes.io/zone" in template.nodeBytes

request = pb.NodeGroupAutoscalingOptionsRequest(id="web")
request.defaults.scaleDownUtilizationThreshold = 0.5
request.defaults.scaleDownUnneededDuration.seconds = 600
options = call("NodeGroupGetOptions", request, pb.NodeGroupAutoscalingOptionsResponse)
assert not options.HasField("nodeGroupAutoscalingOptions"), options
request.id = "gpu"  # overrides its unneeded time
options = call("NodeGroupGetOptions", request, pb.NodeGroupAutoscalingOptionsResponse).nodeGroupAutoscalingOptions
assert options.scaleDownUtilizationThreshold == 0.5
assert options.scaleDownUnneededDuration.seconds == 1800
assert options.scaleDownUnneededTime.duration == 1800 * 10**9

assert call("GPULabel", pb.GPULabelRequest(), pb.GPULabelResponse).label
assert len(call("GetAvailableGPUTypes", pb.GetAvailableGPUTypesRequest(), pb.GetAvailableGPUTypesResponse).gpuTypes) == 1

price = pb.PricingNodePriceRequest(node=pb.ExternalGrpcNode(providerID=nodes[0].id))
price.startTimestamp.seconds, price.endTimestamp.seconds = 0, 3600
assert call("PricingNodePrice", price, pb.PricingNodePriceResponse).price > 0
pod = pb.PricingPodPriceRequest(pod_bytes=b"\x0a\x05\x0a\x03pod")  # metadata.name = "pod"
pod.startTimestamp.seconds, pod.endTimestamp.seconds = 0, 3600
assert call("PricingPodPrice", pod, pb.PricingPodPriceResponse).price >= 0

refused("NodeGroupDecreaseTargetSize", pb.NodeGroupDecreaseTargetSizeRequest(id="web", delta=-1),
        pb.NodeGroupDecreaseTargetSizeResponse, grpc.StatusCode.FAILED_PRECONDITION)
bad = pb.NodeGroupDeleteNodesRequest(id="web")
bad.nodes.add(providerID=nodes[0].id)
bad.nodes.add(providerID="simulated://not-a-machine")
try:
    call("NodeGroupDeleteNodes", bad, pb.NodeGroupDeleteNodesResponse)
    raise AssertionError("one bad id among good ones was not refused")
except grpc.RpcError as error:
    assert "not-a-machine" in error.details(), error.details()
good = pb.NodeGroupDeleteNodesRequest(id="web")
good.nodes.add(providerID=nodes[0].id)
call("NodeGroupDeleteNodes", good, pb.NodeGroupDeleteNodesResponse)
target = call("NodeGroupTargetSize", pb.NodeGroupTargetSizeRequest(id="web"), pb.NodeGroupTargetSizeResponse)
assert target.targetSize == 2, target
call("Cleanup", pb.CleanupRequest(), pb.CleanupResponse)
print("OK")
