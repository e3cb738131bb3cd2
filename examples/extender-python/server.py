#!/usr/bin/env python3
"""An extender in Python, standard library only: change the functions under RULES and keep the rest.

The scheduler posts JSON to /predicate, /prioritize, ... and goes by what comes back. Whatever is
not in RULES is answered with 404: do not configure its verb.
"""

import argparse
import json
import ssl
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def nodes_of(body):
    """With `extender.compact` most of the nodes that the opening has shown may be meant by naming the others."""
    if "allNodesBut" not in body:
        return body["nodes"] or []
    others = set(body["allNodesBut"])
    return [node for name, node in WORLD.kinds["Nodes"].items() if name not in others]


def best_effort_crowd(task, node, limit):
    """Best-effort pods do not go where there are more than `limit` pods already."""
    return task["BestEffort"] and len(node["Tasks"]) > limit


def predicate(body):
    # An empty status is a yes. Code 2: no, but evicting others might help; 3: nothing helps.
    if best_effort_crowd(body["task"], body["node"], 10):
        return {"status": "too many tasks on the node", "code": 2}
    return {"status": "", "code": 0}


def batch_predicate(body):
    """All nodes of a task in one call; a node that is not named passes."""
    refused = {}
    for node in nodes_of(body):
        answer = predicate({"task": body["task"], "node": node})
        if answer["status"]:
            refused[node["Name"]] = answer
    return {"nodeStatus": refused, "errorMessage": ""}


def prioritize(body):
    # Added to what the plug-ins say; who is not named gets nothing.
    crowded = lambda node: best_effort_crowd(body["task"], node, 5)
    scores = {node["Name"]: 0 if crowded(node) else 1 for node in nodes_of(body)}
    return {"nodeScore": scores, "errorMessage": ""}


def evictable(body):
    # The uid of a victim is enough for Coppice; Volcano wants the whole task back, so send that.
    keep = "example.com/keep"
    victims = [
        task
        for task in body["evictees"] or []
        if (task["Pod"]["metadata"].get("annotations") or {}).get(keep) != "true"
    ]
    return {"status": 1, "victims": victims}  # 0 would abstain


class World:
    """What openings have shown. With `extender.delta` all but the first show only what has changed."""

    def __init__(self):
        self.session = None
        self.kinds = {"Jobs": {}, "Nodes": {}, "Queues": {}, "NamespaceInfo": {}}

    def open(self, body):
        if body.get("Base") is None:
            self.kinds = {kind: {} for kind in self.kinds}
        elif body["Base"] != self.session:
            return {"resend": True}  # we have been away, and want all of it
        for kind, objects in self.kinds.items():
            for name in body.get("Gone", {}).get(kind, []):
                objects.pop(name, None)
            objects.update(body.get(kind) or {})
        self.session = body.get("Session")
        return {}


WORLD = World()
API_SERVER = None  # --api-server


def bind(body):
    """Puts the pod on the node that the scheduler has chosen. An error is a no; the pod is placed again later."""
    if not API_SERVER:
        return {"Error": "this server was given no --api-server to bind with"}
    path = "/api/v1/namespaces/%s/pods/%s/binding" % (body["PodNamespace"], body["PodName"])
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": body["PodName"], "uid": body["PodUID"], "annotations": body.get("Annotations", {})},
        "target": {"apiVersion": "v1", "kind": "Node", "name": body["Node"]},
    }
    request = urllib.request.Request(
        API_SERVER + path, json.dumps(binding).encode(), {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except (urllib.error.URLError, OSError) as error:
        return {"Error": str(error)}
    return {"Error": ""}


RULES = {
    "onSessionOpen": WORLD.open,  # all jobs, nodes and queues: a place to build an index
    "onSessionClose": lambda body: {},
    "predicate": predicate,
    "batchPredicate": batch_predicate,
    "prioritize": prioritize,
    "preemptable": evictable,
    "reclaimable": evictable,
    "queueOverused": lambda body: {"overused": False},
    "jobEnqueueable": lambda body: {"status": 0},  # 1 for it, -1 against it, 0 no opinion
    "jobEnqueued": lambda body: {},
    "jobReady": lambda body: {"status": True},
    "allocateFunc": lambda body: {"errorMessage": ""},  # a text undoes the placement
    "deallocateFunc": lambda body: {"errorMessage": ""},
    "bind": bind,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive: a session asks thousands of times
    disable_nagle_algorithm = True
    token = None

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        verb = self.path.rsplit("/", 1)[-1]
        if self.token and self.headers.get("Authorization") != "Bearer " + self.token:
            return self.reply(401, {"errorMessage": "wrong token"})
        if verb not in RULES:
            return self.reply(404, {"errorMessage": "no such verb: " + verb})
        try:
            answer = RULES[verb](json.loads(text))
        except (KeyError, TypeError, ValueError) as error:
            return self.reply(400, {"errorMessage": repr(error)})
        self.reply(200, answer)  # anything but 200 counts as a failure

    def reply(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *args):
        if self.server.verbose:
            sys.stderr.write(format % args + "\n")


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # sixteen predicates come at once, and the library's 5 would turn some away


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1:8713", help="HOST:PORT")
    parser.add_argument("--cert", help="PEM file; with --key: TLS")
    parser.add_argument("--key", help="PEM file")
    parser.add_argument("--client-ca", help="PEM file: only clients that it has signed")
    parser.add_argument("--token-file", help="only callers with this bearer token")
    parser.add_argument("--api-server", help="where `bind` binds, without credentials: http://127.0.0.1:8001 of kubectl proxy")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line per request")
    options = parser.parse_args()
    global API_SERVER
    API_SERVER = options.api_server
    host, port = options.listen.rsplit(":", 1)
    if options.token_file:
        with open(options.token_file, encoding="utf-8") as file:
            Handler.token = file.read().strip()
    server = Server((host, int(port)), Handler)
    server.verbose = options.verbose
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        if options.client_ca:
            context.load_verify_locations(options.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print("listening on %s:%d" % server.server_address[:2], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
