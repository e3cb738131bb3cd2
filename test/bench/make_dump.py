#!/usr/bin/env python3
"""test/bench/make_dump.py [NODES [PODS]] > dump.json: a cluster as `kubectl get ... -A -o json` prints it, indented and with what a
real pod carries (mounts, owners, tolerations, conditions, statuses), for `coppice simulate --cluster`. 2,000 nodes and 40,000 pods
by default: 219 MB. Ten groups; one pod in forty waits; half of the nodes are
hardly used; each fifty pods are one ReplicaSet's and have a budget."""
import json
import sys

NODES, PODS = (int(n) for n in (sys.argv[1:] + ["2000", "40000"][len(sys.argv) - 1:])[:2])
GROUPS, PER_OWNER, MOMENT = 10, 50, "2026-03-01T10:%02d:%02dZ"


def moment(i):
    return MOMENT % (i // 60 % 60, i % 60)


def node(i):
    name, group = f"node-{i:05d}", i % GROUPS
    condition = lambda kind, status, why: {"lastHeartbeatTime": moment(i), "lastTransitionTime": moment(i), "message": f"kubelet: {why}", "reason": why, "status": status, "type": kind}
    amounts = {"cpu": "16", "ephemeral-storage": "103880232Ki", "hugepages-2Mi": "0", "memory": "65806276Ki", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
                         "creationTimestamp": moment(i),
                         "labels": {"beta.kubernetes.io/arch": "amd64", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                    "node.kubernetes.io/instance-type": f"large-{group}", "eks.amazonaws.com/nodegroup": f"group-{group}",
                                    "topology.kubernetes.io/region": "north", "topology.kubernetes.io/zone": f"north{group % 3}"},
                         "name": name, "resourceVersion": str(100000 + i), "uid": f"00000000-0000-4000-8000-{i:012d}"},
            "spec": {"podCIDR": f"10.{i // 256}.{i % 256}.0/24", "providerID": f"cloud:///north{group % 3}/i-{i:017x}"},
            "status": {"addresses": [{"address": f"10.0.{i // 256}.{i % 256}", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
                       "allocatable": {**amounts, "cpu": "15890m", "memory": "62806276Ki"}, "capacity": amounts,
                       "conditions": [condition("MemoryPressure", "False", "KubeletHasSufficientMemory"), condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                                      condition("PIDPressure", "False", "KubeletHasSufficientPID"), condition("Ready", "True", "KubeletReady")],
                       "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                       "images": [{"names": [f"registry.example/team/image-{k}@sha256:{k:064x}", f"registry.example/team/image-{k}:1.{k}"], "sizeBytes": 10000000 + k} for k in range(10)],
                       "nodeInfo": {"architecture": "amd64", "containerRuntimeVersion": "containerd://1.7.20", "kernelVersion": "6.1.0", "kubeletVersion": "v1.33.1",
                                    "operatingSystem": "linux", "osImage": "Linux"}}}


def pod(i):
    owner, waits = i // PER_OWNER, (i + i // NODES) % 40 == 39
    name, space = f"service-{owner:04d}-7d9c5b8f6d-{i:05d}", f"team-{owner % 40:02d}"
    mounts = [{"mountPath": "/etc/config", "name": "config"}, {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": True}]
    container = {"image": f"registry.example/team/image-{owner % 30}:1.{owner % 30}", "imagePullPolicy": "IfNotPresent", "name": "main",
                 "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],                  "resources": {"limits": {"memory": "2Gi"}, "requests": {"cpu": f"{300 + owner % 7 * 50}m", "memory": f"{800 + owner % 5 * 100}Mi"}},
                 "volumeMounts": mounts}
    spec = {"containers": [container], "dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority", "priority": 0,
            "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {}, "serviceAccount": "default", "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [{"effect": "NoExecute", "key": f"node.kubernetes.io/{what}", "operator": "Exists", "tolerationSeconds": 300} for what in ("not-ready", "unreachable")],
            "volumes": [{"configMap": {"defaultMode": 420, "name": f"service-{owner:04d}"}, "name": "config"},
                        {"name": "kube-api-access", "projected": {"defaultMode": 420}}]}
    if waits:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": f"north{owner % 3}"}
        status = {"conditions": [{"lastTransitionTime": moment(i), "message": f"0/{NODES} nodes are available: {NODES} Insufficient cpu.", "reason": "Unschedulable", "status": "False", "type": "PodScheduled"}],
                  "phase": "Pending", "qosClass": "Burstable"}
    else:
        # Half of the nodes have thirty pods each and the others ten, so that there is something to take away.
        at, full = i % NODES, NODES // 2
        spec["nodeName"] = f"node-{at % full if i // NODES % 2 else at:05d}"
        status = {"conditions": [{"lastProbeTime": None, "lastTransitionTime": moment(i), "status": "True", "type": kind} for kind in ("Ready", "PodScheduled")],
                  "containerStatuses": [{"containerID": f"containerd://{i:064x}", "image": container["image"], "imageID": f"registry.example/team/image@sha256:{owner:064x}", "lastState": {}, "name": "main",
                                         "ready": True, "restartCount": 0, "started": True, "state": {"running": {"startedAt": moment(i)}}}],
                  "hostIP": "10.0.0.1", "phase": "Running", "podIP": f"10.{i // 65536}.{i // 256 % 256}.{i % 256}", "qosClass": "Burstable", "startTime": moment(i)}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"creationTimestamp": moment(i), "generateName": f"service-{owner:04d}-7d9c5b8f6d-",
                         "labels": {"app": f"service-{owner:04d}", "pod-template-hash": "7d9c5b8f6d"}, "name": name, "namespace": space,
                         "ownerReferences": [{"apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True, "kind": "ReplicaSet", "name": f"service-{owner:04d}-7d9c5b8f6d", "uid": f"00000000-0000-4000-9000-{owner:012d}"}],
                         "resourceVersion": str(200000 + i), "uid": f"00000000-0000-4000-a000-{i:012d}"},
            "spec": spec, "status": status}


def owned(owner):
    meta = lambda name: {"creationTimestamp": moment(owner), "name": name, "namespace": f"team-{owner % 40:02d}", "uid": f"00000000-0000-4000-9000-{owner:012d}"}
    labels = {"matchLabels": {"app": f"service-{owner:04d}"}}
    yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(f"service-{owner:04d}-7d9c5b8f6d"), "spec": {"replicas": PER_OWNER, "selector": labels}, "status": {"replicas": PER_OWNER}}
    yield {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta(f"service-{owner:04d}"), "spec": {"maxUnavailable": 1, "selector": labels},
           "status": {"currentHealthy": PER_OWNER, "desiredHealthy": PER_OWNER - 1, "disruptionsAllowed": 1, "expectedPods": PER_OWNER, "observedGeneration": 1}}


def items():
    for i in range(NODES):
        yield node(i)
    for i in range(PODS):
        yield pod(i)
    for owner in range((PODS + PER_OWNER - 1) // PER_OWNER):
        yield from owned(owner)


out, first = sys.stdout, True
out.write('{\n    "apiVersion": "v1",\n    "items": [')
for item in items():
    out.write(("" if first else ",") + "\n        " + json.dumps(item, indent=4, sort_keys=True).replace("\n", "\n        "))
    first = False
out.write('\n    ],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n')
