#!/usr/bin/env python3
"""A cloud for Coppice, to copy and change: List, Create, Delete, Flavors, Validate.

Its machines are made up: replace the bodies of the five methods by calls to your API.

    protoc --python_out=. -I ../../proto cloud.proto
    ./server.py --listen '[::]:8087' --cert tls.crt --key tls.key --ca ca.crt
"""
import argparse
import pathlib
import signal
import sys
import threading
import time
from concurrent import futures

import grpc

ZONES = ["north", "south"]
FLAVORS = {"small": (2, 4, 0.02), "medium": (4, 16, 0.06), "large": (16, 64, 0.24)}  # cpus, GiB, price per hour
BOOT_SECONDS = 0.2


class Refused(Exception):
    """Answered with a status code of gRPC. RESOURCE_EXHAUSTED: sold out, the next flavor is tried."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Cloud:
    def __init__(self, pb):
        self.pb, self.machines, self.made, self.lock = pb, {}, 0, threading.Lock()

    def List(self, request):  # all of them, or an error: what is missing here is taken for gone
        answer = self.pb.ListResponse()
        for machine in self.machines.values():
            if time.time() >= machine.created_at.seconds + machine.created_at.nanos / 1e9 + BOOT_SECONDS:
                machine.state = self.pb.MACHINE_STATE_RUNNING
            if all(machine.tags.get(key) == value for key, value in request.tags.items()):
                answer.machines.append(machine)
        return answer

    def Create(self, request):
        spec = request.spec
        self.check(spec)
        for machine in self.machines.values():  # an order is repeated under its name and bought once
            if machine.name == spec.name:
                return self.pb.CreateResponse(machine=machine)
        self.made += 1
        machine = self.pb.Machine(
            id=f"pretend://{self.made}", name=spec.name, flavor=spec.flavor, zone=spec.zone, tags=spec.tags,
            state=self.pb.MACHINE_STATE_CREATING, capacity_type=spec.capacity_type, image=spec.image)
        machine.created_at.GetCurrentTime()
        self.machines[machine.id] = machine
        return self.pb.CreateResponse(machine=machine)

    def Delete(self, request):
        if self.machines.pop(request.id, None) is None:
            raise Refused(grpc.StatusCode.NOT_FOUND, f"no machine {request.id}")
        return self.pb.DeleteResponse()

    def Flavors(self, request):
        answer = self.pb.FlavorsResponse(id_prefix="pretend://", gpu_label="pretend.example/gpu")
        for name, (cpus, gib, price) in FLAVORS.items():
            flavor = answer.flavors.add(name=name, cpu_millis=cpus * 1000, memory_bytes=gib << 30,
                                        disk_bytes=50 << 30, zones=ZONES, price_per_hour=price)
            for zone in ZONES:  # only because it sells spot: otherwise zones and a price are enough
                flavor.offerings.add(zone=zone, price_per_hour=price)
                flavor.offerings.add(zone=zone, capacity_type="spot", price_per_hour=price * 0.4)
        return answer

    def Validate(self, request):
        try:
            self.check(request.spec)
            return self.pb.ValidateResponse()
        except Refused as mistake:
            return self.pb.ValidateResponse(mistakes=[str(mistake)])

    def check(self, spec):
        for what, value, known in (("flavor", spec.flavor, FLAVORS), ("zone", spec.zone, ZONES)):
            if value not in known:
                raise Refused(grpc.StatusCode.INVALID_ARGUMENT, f"there is no {what} '{value}'")


def handler(cloud, name):
    def answer(request, context):
        try:
            with cloud.lock:
                return getattr(cloud, name)(request)
        except Refused as refusal:
            context.abort(refusal.code, str(refusal))

    return grpc.unary_unary_rpc_method_handler(
        answer, request_deserializer=getattr(cloud.pb, name + "Request").FromString,
        response_serializer=lambda message: message.SerializeToString())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1:8087")
    parser.add_argument("--messages", default=str(pathlib.Path(__file__).resolve().parent), help="where cloud_pb2 is")
    for name in ("cert", "key", "ca"):
        parser.add_argument("--" + name, help="PEM file; without the three: plaintext, for this machine only")
    flags = parser.parse_args()
    sys.path.insert(0, flags.messages)
    import cloud_pb2
    cloud = Cloud(cloud_pb2)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    methods = {name: handler(cloud, name) for name in ("List", "Create", "Delete", "Flavors", "Validate")}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("coppice.cloud.v1.Cloud", methods),))
    if flags.cert:
        read = lambda path: pathlib.Path(path).read_bytes()
        port = server.add_secure_port(flags.listen, grpc.ssl_server_credentials(
            [(read(flags.key), read(flags.cert))], read(flags.ca), require_client_auth=True))
    elif flags.listen.startswith(("127.", "localhost:", "[::1]:", "unix:")):
        port = server.add_insecure_port(flags.listen)
    else:
        sys.exit("plaintext is for this machine only: give --cert, --key and --ca")
    server.start()
    print("serving on port", port, flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    server.stop(1).wait()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
