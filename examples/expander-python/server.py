#!/usr/bin/env python3
"""An expander for Cluster Autoscaler and Coppice, to copy and change.

Its rule, best_options(): spot machines before all others; among equals the fewest new nodes; and never a
group that would cost more than a budget of nodes. Everything below that function is the same for any rule.

    protoc --python_out=. expander.proto
    ./server.py --listen '[::]:7000' --cert tls.crt --key tls.key
"""
import argparse
import logging
import pathlib
import signal
import sys
import threading
from concurrent import futures

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
log = logging.getLogger("expander")

# The label, and its values, that say "this machine may be taken away at any time".
SPOT_LABELS = {
    "example.com/capacity": "spot",
    "karpenter.sh/capacity-type": "spot",
    "eks.amazonaws.com/capacityType": "SPOT",
    "cloud.google.com/gke-spot": "true",
}


def is_spot(node):
    return any(node.metadata.labels.get(label) == value for label, value in SPOT_LABELS.items())


def best_options(options, nodes, pods, max_nodes):
    """The options to keep, out of `options` (messages with nodeGroupId, nodeCount, debug).

    nodes: node group id to a Node as a fresh one of the group would be; a group may be missing.
    pods: node group id to the Pods that the option would help.
    """
    affordable = [o for o in options if o.nodeCount <= max_nodes]
    if not affordable:
        return []  # nothing is bought; return `options` instead to let the next expander decide
    spot = [o for o in affordable if o.nodeGroupId in nodes and is_spot(nodes[o.nodeGroupId])]
    candidates = spot or affordable
    fewest = min(o.nodeCount for o in candidates)
    return [o for o in candidates if o.nodeCount == fewest]


class Expander:
    def __init__(self, messages, max_nodes):
        self.messages = messages
        self.max_nodes = max_nodes

    def best_options(self, request, context):
        nodes = {group: self.messages.Node.FromString(node)
                 for group, node in (request.nodeBytesMap or request.nodeMap).items()}
        pods = {o.nodeGroupId: [self.messages.Pod.FromString(pod) for pod in (o.podBytes or o.pod)]
                for o in request.options}
        kept = best_options(request.options, nodes, pods, self.max_nodes)
        log.info("%d options: kept %s", len(request.options), [o.nodeGroupId for o in kept])
        answer = self.messages.BestOptionsResponse()
        for option in kept:
            answer.options.add(nodeGroupId=option.nodeGroupId, nodeCount=option.nodeCount)
        return answer


def serve(args, messages):
    expander = Expander(messages, args.max_nodes)
    # A question carries every pod of every option: the library's 4 MiB would be a few thousand pods.
    limit = 128 << 20
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4),
        options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)])
    handler = grpc.unary_unary_rpc_method_handler(
        expander.best_options,
        request_deserializer=messages.BestOptionsRequest.FromString,
        response_serializer=messages.BestOptionsResponse.SerializeToString)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("grpcplugin.Expander", {"BestOptions": handler}),))
    key = pathlib.Path(args.key).read_bytes()
    cert = pathlib.Path(args.cert).read_bytes()
    port = server.add_secure_port(args.listen, grpc.ssl_server_credentials([(key, cert)]))
    if port == 0:
        sys.exit(f"cannot listen on {args.listen}")
    server.start()
    log.info("serving on port %d", port)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    server.stop(grace=10).wait()  # calls in progress may end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="[::]:7000")
    parser.add_argument("--cert", required=True, help="PEM certificate; its names must hold the host in --grpc-expander-url")
    parser.add_argument("--key", required=True, help="PEM key")
    parser.add_argument("--max-nodes", type=int, default=100, help="larger options are not taken")
    parser.add_argument("--messages", default=".", help="folder with the generated expander_pb2.py")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    sys.path.insert(0, args.messages)
    try:
        import expander_pb2
    except ModuleNotFoundError as error:
        if error.name != "expander_pb2":
            raise
        sys.exit("expander_pb2.py is not there; make it with: protoc --python_out=. expander.proto")
    serve(args, expander_pb2)


if __name__ == "__main__":
    main()
