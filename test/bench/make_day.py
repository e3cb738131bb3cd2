#!/usr/bin/env python3
"""test/bench/make_day.py LOG [--nodes 5000] [--pods 150000] [--seed 1]: a made-up day as a log for `coppice rehearse`, at the size that Kubernetes supports.

About two thirds of the pods belong to Deployments that follow the day (at night three fifths of what runs at noon), a third to Jobs of 2 to
40 minutes that come when they come. At noon the cluster needs about --nodes machines of 16 cpus in six groups; what runs at midnight stands on nodes.
"""
import argparse
import json
import math
import os
import random
import struct
import sys
import zlib

START_MS = 1_767_571_200_000  # some Monday, 00:00 UTC
DAY_MS = 86_400_000
CPU_MILLI, MEMORY_MIB, MAX_PODS = 16_000, 64_000, 110
ZONES = ("a", "b", "c")


def frames(lines, size=20_000):
    for at in range(0, len(lines), size):
        text = "".join(line + "\n" for line in lines[at:at + size]).encode()
        packed = zlib.compress(text, 6)
        yield struct.pack("<III", len(packed), len(text), zlib.crc32(packed)) + packed


def packed_json(value):
    return json.dumps(value, separators=(",", ":"))


def groups(nodes):
    for kind, price in (("std", 0.8), ("alt", 0.82)):
        for zone in ZONES:
            name = f"{kind}-{zone}"
            sizes = {"cpu": f"{CPU_MILLI}m", "memory": f"{MEMORY_MIB}Mi", "pods": str(MAX_PODS)}
            labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": zone,
                      "node.kubernetes.io/instance-type": kind}
            yield {"group": name, "min": 0, "max": nodes // 3, "target": 0, "price": price,
                   "template": {"metadata": {"name": "template-" + name, "labels": labels},
                                "status": {"capacity": sizes, "allocatable": sizes}}}


def shape(kind, name, cpu, memory):
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    return {"metadata": {"namespace": "day", "labels": {"app": name},
                         "ownerReferences": [{"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind, "name": name,
                                              "uid": name, "controller": True}]},
            "spec": {"restartPolicy": "Never" if kind == "Job" else "Always", "schedulerName": "default-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    service_pods = args.pods * 2 // 3
    job_pods = args.pods - service_pods
    # At noon: the services, and what Jobs there are at a time (21 minutes each, spread over the day).
    at_noon = service_pods * 0.97 + job_pods * 21 / 1440
    mean_cpu = args.nodes * CPU_MILLI * 0.95 / at_noon
    shapes, events, standing = [], [], []
    count = 0

    def pod(number, begin, end, job):
        name = f"day/p-{count}"
        begin, end = int(begin), None if end is None else int(end)
        if begin == 0 and not job:
            standing.append((name, number))
        else:
            events.append((begin, packed_json({"add": name, "shape": number, "created": START_MS + begin})))
            events.append((begin, packed_json({"bind": name, "node": ""})))
        if end is not None and end < DAY_MS:
            events.append((end, packed_json({"done": name})))

    services = max(1, service_pods // 300)
    sizes = []
    for number in range(services):
        cpu = max(50, int(mean_cpu * rng.choice((0.25, 0.5, 0.75, 1, 1.5, 2)) / 50) * 50)
        sizes.append((cpu, int(cpu * rng.choice((1.5, 2.5, 3.5)))))
        shapes.append(shape("ReplicaSet", f"service-{number}", *sizes[-1]))
        replicas = service_pods // services
        noon = 12 * 3_600_000 + rng.gauss(0, 3_600_000)
        for replica in range(replicas):
            # The cosine of the day: replica r runs while the service wants more than r.
            wish = (replica + 0.5) / replicas
            if wish <= 0.6:
                pod(number, 0, None, False)
            else:
                half = math.acos(max(-1, min(1, (wish - 0.8) / 0.2))) / math.pi * DAY_MS / 2
                pod(number, max(1, noon - half + rng.uniform(0, 60_000)), noon + half + rng.uniform(0, 60_000), False)
            count += 1
    job_shapes = 40
    for number in range(job_shapes):
        cpu = max(50, int(mean_cpu * rng.choice((0.5, 1, 2)) / 50) * 50)
        sizes.append((cpu, cpu * 2))
        shapes.append(shape("Job", f"batch-{number}", *sizes[-1]))
    while count < args.pods:
        begin = rng.uniform(1, DAY_MS - 3_600_000)
        number = services + rng.randrange(job_shapes)
        for _ in range(min(rng.choice((1, 1, 5, 20, 100)), args.pods - count)):
            pod(number, begin, begin + rng.uniform(2, 40) * 60_000, True)
            count += 1
    # What runs at midnight, on nodes.
    names = [line["group"] for line in groups(args.nodes)]
    room, nodes, adds = [], [], []
    for name, number in standing:
        cpu, memory = sizes[number]
        while room and (room[-1][0] < cpu or room[-1][1] < memory or room[-1][2] == 0):
            room.pop()
        if not room:
            nodes.append({"node": f"node-{len(nodes)}", "group": names[len(nodes) % len(names)]})
            room.append([CPU_MILLI, MEMORY_MIB, MAX_PODS])
        room[-1][0] -= cpu
        room[-1][1] -= memory
        room[-1][2] -= 1
        adds.append({"add": name, "shape": number, "node": nodes[-1]["node"]})
    lines = [packed_json(line) for line in
             [{"coppice-log": 1}, {"at": START_MS}, *groups(args.nodes), *nodes,
              *({"shape": i, "pod": one} for i, one in enumerate(shapes)), *adds, {"all": True}]]
    now = 0
    for at, line in sorted(events, key=lambda event: event[0]):
        if at // 5000 != now // 5000:  # as the recorder looks
            now = at
            lines.append(packed_json({"at": START_MS + now}))
        lines.append(line)
    lines.append(packed_json({"at": START_MS + DAY_MS}))
    with open(args.log, "wb") as out:
        out.write(b"coplog1\n")
        for frame in frames(lines):
            out.write(frame)
    print(f"{args.log}: {count} pods of {len(shapes)} shapes, {len(standing)} of them and {len(nodes)} nodes at the start, "
          f"{os.path.getsize(args.log) >> 10} KiB")


if __name__ == "__main__":
    sys.exit(main())
