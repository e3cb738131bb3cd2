#!/usr/bin/env python3
"""A provider of node groups for Cluster Autoscaler and Coppice, to copy and change.

Its machines are made up: replace the class Cloud by calls to yours and keep the rest.

    protoc --python_out=. -I ../../proto -I . externalgrpc.proto node.proto
    ./server.py --listen '[::]:8086' --groups groups.json --cert tls.crt --key tls.key --ca ca.crt
"""
import argparse
import json
import logging
import pathlib
import signal
import sys
import threading
from concurrent import futures

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
log = logging.getLogger("provider")

SERVICE = "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"
RUNNING, CREATING = 1, 2


class Refused(Exception):
    """A request that is answered with a status code of gRPC."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Cloud:
    """Machines by id. What a cloud's API would tell; here it is a dictionary."""

    def __init__(self):
        self.machines = {}  # provider id: [group, state]
        self.made = 0

    def create(self, group):
        self.made += 1
        self.machines[f"pretend://{group}/{self.made}"] = [group, CREATING]

    def delete(self, provider_id):
        del self.machines[provider_id]

    def boot(self):
        for machine in self.machines.values():
            machine[1] = RUNNING


class Provider:
    """The fifteen methods. Reads are answered from memory: the autoscaler asks many at a time."""

    def __init__(self, groups, cloud, messages, node_messages, eras):
        self.groups = {group["id"]: group for group in groups}
        self.cloud = cloud
        self.pb = messages
        self.node_pb = node_messages
        self.eras = eras
        self.lock = threading.Lock()

    def group(self, group_id):
        if group_id not in self.groups:
            raise Refused(grpc.StatusCode.NOT_FOUND, f"no node group '{group_id}'")
        return self.groups[group_id]

    def members(self, group_id):
        return {i: state for i, (group, state) in self.cloud.machines.items() if group == group_id}

    def to_message(self, group):
        return self.pb.NodeGroup(id=group["id"], minSize=group["min"], maxSize=group["max"], debug=group["flavor"])

    # What exists.

    def Refresh(self, request):
        self.cloud.boot()
        return self.pb.RefreshResponse()

    def NodeGroups(self, request):
        return self.pb.NodeGroupsResponse(nodeGroups=[self.to_message(g) for g in self.groups.values()])

    def NodeGroupForNode(self, request):
        # From the provider id alone: stand-ins for machines that have not joined yet carry nothing else.
        machine = self.cloud.machines.get(request.node.providerID)
        group = self.to_message(self.groups[machine[0]]) if machine else self.pb.NodeGroup()
        return self.pb.NodeGroupForNodeResponse(nodeGroup=group)

    def NodeGroupTargetSize(self, request):
        self.group(request.id)
        return self.pb.NodeGroupTargetSizeResponse(targetSize=len(self.members(request.id)))

    def NodeGroupNodes(self, request):
        self.group(request.id)
        answer = self.pb.NodeGroupNodesResponse()
        for provider_id, state in self.members(request.id).items():
            answer.instances.add(id=provider_id).status.instanceState = state
        return answer

    # Changes. Each is judged whole before any of it is done.

    def NodeGroupIncreaseSize(self, request):
        group = self.group(request.id)
        if request.delta <= 0:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "delta must be positive")
        if len(self.members(request.id)) + request.delta > group["max"]:
            raise Refused(grpc.StatusCode.FAILED_PRECONDITION, f"'{request.id}' cannot grow above {group['max']}")
        for _ in range(request.delta):
            self.cloud.create(request.id)  # RESOURCE_EXHAUSTED if your cloud says: no quota, no stock
        return self.pb.NodeGroupIncreaseSizeResponse()

    def NodeGroupDeleteNodes(self, request):
        self.group(request.id)
        members = self.members(request.id)
        for node in request.nodes:
            if node.providerID not in members:
                raise Refused(grpc.StatusCode.FAILED_PRECONDITION, f"'{node.providerID}' is not in '{request.id}'")
        for node in request.nodes:
            self.cloud.delete(node.providerID)
        return self.pb.NodeGroupDeleteNodesResponse()

    def NodeGroupDecreaseTargetSize(self, request):
        self.group(request.id)
        if request.delta >= 0:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "delta must be negative")
        # Every order is a machine at once here, so there is nothing that could be cancelled.
        raise Refused(grpc.StatusCode.FAILED_PRECONDITION, "only machines that do not exist yet can be cancelled")

    # What a machine will be. Every autoscaler from 1.25 on finds its own field filled.

    def NodeGroupTemplateNodeInfo(self, request):
        group = self.group(request.id)
        node = self.node_pb.Node()
        node.metadata.name = f"template-{request.id}"
        node.metadata.labels.update({
            "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": group["flavor"], "topology.kubernetes.io/zone": group["zone"]})
        for resource in ("cpu", "memory", "pods"):
            node.status.capacity[resource].string = str(group[resource])
            node.status.allocatable[resource].string = str(group[resource])
        answer = self.pb.NodeGroupTemplateNodeInfoResponse()
        if "old" in self.eras:
            answer.nodeInfo = node.SerializeToString()
        if "new" in self.eras:
            answer.nodeBytes = node.SerializeToString()
        return answer

    def NodeGroupGetOptions(self, request):
        group = self.group(request.id)
        answer = self.pb.NodeGroupAutoscalingOptionsResponse()
        if "unneeded_seconds" not in group:
            return answer  # nothing: the autoscaler's own flags hold
        options = answer.nodeGroupAutoscalingOptions
        options.CopyFrom(request.defaults)  # complete, or what is missing counts as zero
        options.scaleDownUnneededDuration.seconds = group["unneeded_seconds"]
        options.scaleDownUnneededTime.duration = group["unneeded_seconds"] * 10**9
        if "new" not in self.eras:
            for name in ("scaleDownUnneededDuration", "scaleDownUnreadyDuration", "MaxNodeProvisionDuration"):
                options.ClearField(name)
        return answer

    # The rest.

    def GPULabel(self, request):
        return self.pb.GPULabelResponse(label="example.com/gpu")

    def GetAvailableGPUTypes(self, request):
        return self.pb.GetAvailableGPUTypesResponse()

    def Cleanup(self, request):
        return self.pb.CleanupResponse()

    def PricingNodePrice(self, request):
        raise Refused(grpc.StatusCode.UNIMPLEMENTED, "no prices here")

    PricingPodPrice = PricingNodePrice


# Method: its request, where that is not the method's name and "Request".
REQUESTS = {"NodeGroupGetOptions": "NodeGroupAutoscalingOptionsRequest"}
METHODS = [name for name in vars(Provider) if name[0].isupper()]


def handlers(provider):
    def handler(name):
        method = getattr(provider, name)

        def answer(request, context):
            try:
                with provider.lock:
                    return method(request)
            except Refused as refusal:
                if refusal.code != grpc.StatusCode.UNIMPLEMENTED:
                    log.warning("%s refused: %s", name, refusal)
                context.abort(refusal.code, str(refusal))

        request = getattr(provider.pb, REQUESTS.get(name, name + "Request"))
        return grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=request.FromString,
            response_serializer=lambda message: message.SerializeToString())

    return grpc.method_handlers_generic_handler(SERVICE, {name: handler(name) for name in METHODS})


def read(path):
    return pathlib.Path(path).read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="[::]:8086", help="host:port; port 0 takes a free one")
    parser.add_argument("--groups", required=True, help="JSON file: a list of node groups")
    parser.add_argument("--cert", required=True, help="certificate, PEM")
    parser.add_argument("--key", required=True, help="its key, PEM")
    parser.add_argument("--ca", required=True, help="who signed the autoscaler's certificate, PEM")
    parser.add_argument("--messages", help="folder with externalgrpc_pb2.py and node_pb2.py, if not this one")
    parser.add_argument("--eras", default="old,new", help="which fields to fill: old (to 1.34), new (from 1.34.2)")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if arguments.messages:
        sys.path.insert(0, arguments.messages)
    import externalgrpc_pb2
    import node_pb2

    provider = Provider(json.loads(read(arguments.groups)), Cloud(), externalgrpc_pb2, node_pb2,
                        arguments.eras.split(","))
    # A delete of many annotated nodes is larger than the library's 4 MiB.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32),
                         options=[("grpc.max_receive_message_length", 64 << 20)])
    server.add_generic_rpc_handlers((handlers(provider),))
    credentials = grpc.ssl_server_credentials([(read(arguments.key), read(arguments.cert))], read(arguments.ca),
                                              require_client_auth=True)
    port = server.add_secure_port(arguments.listen, credentials)
    server.start()
    log.info("serving on port %d", port)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop(grace=5))
    server.wait_for_termination()


if __name__ == "__main__":
    main()
