#!/usr/bin/python3
"""check_rendered.py CHART FILE: holds the rendered objects of a chart against what an operator relies on."""
import json
import sys

import yaml

chart, path = sys.argv[1], sys.argv[2]
objects = [o for o in yaml.safe_load_all(open(path)) if o]
by_kind = {}
for o in objects:
    by_kind.setdefault(o["kind"], []).append(o)
problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


def container():
    return by_kind["Deployment"][0]["spec"]["template"]["spec"]["containers"][0]


def provider():
    for kind in ("Deployment", "Service", "ServiceAccount", "ConfigMap", "Issuer", "Certificate", "NetworkPolicy",
                 "PodDisruptionBudget", "ServiceMonitor", "Secret"):
        expect(kind in by_kind, f"no {kind}")
    deployment = by_kind["Deployment"][0]["spec"]
    expect(deployment["replicas"] == 1, "not exactly one replica")
    expect(deployment["strategy"]["type"] == "Recreate", "two pods could order machines during an update")
    security = container()["securityContext"]
    expect(security["runAsNonRoot"] and security["readOnlyRootFilesystem"], "container may be root or write")
    expect(security["capabilities"]["drop"] == ["ALL"], "capabilities are kept")
    expect(container()["args"][0] == "provider", "does not start the provider")
    expect(container()["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "cloudscale", "token not from the given Secret")
    maps = {m["metadata"]["name"]: m["data"] for m in by_kind["ConfigMap"]}
    cloud_config = yaml.safe_load(next(d["cloud-config"] for n, d in maps.items() if n.endswith("-cloud-config")))
    expect(set(cloud_config) == {"address", "grpc_timeout", "cert", "key", "cacert"}, "cloud-config keys")
    expect(cloud_config["grpc_timeout"] == "30s", "grpc_timeout")
    config = yaml.safe_load(next(d["config.yaml"] for d in maps.values() if "config.yaml" in d))
    expect(config["nodeGroups"][0]["name"] == "workers", "groups are not in config.yaml")
    expect(config["tls"]["allowedClientNames"] == ["cluster-autoscaler"], "allowed client names are lost")
    rendered_token = any("token" in s.get("stringData", {}) for s in by_kind["Secret"])
    expect(not rendered_token, "a token Secret is made although an existing one was named")


def dashboard():
    command = container()["command"]
    for argument in ("--web-address=0.0.0.0:9000", "--web-token-file=/etc/coppice-dashboard/token/word",
                     "--web-tls-cert-file=/etc/coppice-dashboard/tls/tls.crt", "--web-client-ca-file=/etc/coppice-dashboard/tls/ca.crt",
                     "--web-host=a.example,b.example"):
        expect(argument in command, f"{argument} is not passed")
    expect({"name": "dashboard", "containerPort": 9000} in container()["ports"], "the dashboard's port is no port of the container")
    mounts = {m["name"]: m["mountPath"] for m in container()["volumeMounts"]}
    volumes = {v["name"]: v["secret"]["secretName"] for v in by_kind["Deployment"][0]["spec"]["template"]["spec"]["volumes"]}
    expect(volumes.get("dashboard-token") == "board" and mounts.get("dashboard-token") == "/etc/coppice-dashboard/token", "the token is not mounted")
    expect(volumes.get("dashboard-tls") == "board-tls" and "dashboard-tls" in mounts, "the certificate is not mounted")
    expect([p["name"] for p in by_kind["Service"][0]["spec"]["ports"]] == ["http", "dashboard"], "the Service has no port for the dashboard")
    expect([i["ports"][0]["port"] for i in by_kind["NetworkPolicy"][0]["spec"]["ingress"]] == ["http", "dashboard"], "the NetworkPolicy lets nobody in")


def autoscaler():
    for kind in ("Deployment", "Service", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
                 "PodDisruptionBudget", "ServiceMonitor", "ConfigMap", "NetworkPolicy"):
        expect(kind in by_kind, f"no {kind}")
    alerts = [rule["alert"] for group in by_kind["PrometheusRule"][0]["spec"]["groups"] for rule in group["rules"]]
    expect("CoppicePodsWait" in alerts, f"alerts are {alerts}")
    boards = [json.loads(m["data"]["coppice.json"]) for m in by_kind["ConfigMap"] if "coppice.json" in m["data"]]
    expect(len(boards) == 1 and boards[0]["panels"], "no dashboard for Grafana")
    policy = by_kind["NetworkPolicy"][0]["spec"]
    labels = by_kind["Deployment"][0]["spec"]["selector"]["matchLabels"]
    expect(policy["podSelector"]["matchLabels"] == labels, "the NetworkPolicy is for other pods")
    expect(policy["policyTypes"] == ["Ingress", "Egress"], "NetworkPolicy: directions")
    expect([i["ports"][0]["port"] for i in policy["ingress"]] == ["http"], "NetworkPolicy: other ports are open")
    expect("namespaceSelector" in policy["ingress"][0]["from"][0], "NetworkPolicy: who may scrape is lost")
    expect(len(policy["egress"]) == 2, "NetworkPolicy: egress is lost")
    security = container()["securityContext"]
    expect(security["readOnlyRootFilesystem"] and security["capabilities"]["drop"] == ["ALL"], "container may write")
    command = container()["command"]
    expect(command[0] == "./cluster-autoscaler", "not started under upstream's name")
    for argument in ("--cloud-provider=externalgrpc", "--namespace=autoscaling", "--nodes=1:7:pool",
                     "--cloud-config=/etc/coppice/cloud-config", "--expander=priority", "--startup-taint=a",
                     "--startup-taint=b", "--skip-nodes-with-local-storage=false"):
        expect(argument in command, f"{argument} is not passed")
    expect(container()["livenessProbe"]["httpGet"]["path"] == "/health-check", "probe")
    expect(container()["readinessProbe"]["httpGet"]["path"] == "/readyz", "probe of readiness")
    expect("karpenter.kwok.sh" not in str(by_kind["ClusterRole"]), "rights on classes that nobody asked for")
    expect("--node-pools" not in command and "CustomResourceDefinition" not in by_kind, "node pools that nobody asked for")
    expect(len(by_kind["ClusterRole"]) == 1, "rights that only node pools need")
    rules = by_kind["ClusterRole"][0]["rules"] + by_kind["Role"][0]["rules"]
    for rule in rules:
        expect("*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], f"a wildcard in {rule}")
        expect("secrets" not in rule["resources"], "Secrets can be read")
        if {"delete", "update"} & set(rule["verbs"]) and rule["resources"] != ["nodes"]:
            expect("resourceNames" in rule, f"may change any of {rule['resources']}")
    nodes = next(r for r in rules if r["resources"] == ["nodes"])
    expect(sorted(nodes["verbs"]) == ["get", "list", "update", "watch"], "other rights on nodes")


def pools():
    command = container()["command"]
    expect("--node-pools" in command, "--node-pools is not passed")
    environment = {e["name"]: e.get("value") for e in container()["env"]}
    expect(environment.get("BATCH_MAX_DURATION") == "5s", "Karpenter's settings are lost")
    kept = [d for d in by_kind.get("CustomResourceDefinition", [])
            if d["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"]
    names = sorted(d["metadata"]["name"] for d in kept)
    expect(names == ["nodeclaims.karpenter.sh", "nodeclasses.coppice.dev", "nodepools.karpenter.sh"],
           f"definitions that stay when the chart goes: {names}")
    role = next(r for r in by_kind["ClusterRole"] if r["metadata"]["name"].endswith("-node-pools"))
    kwok = [r["verbs"] for r in role["rules"] if r["apiGroups"] == ["karpenter.kwok.sh"] and r["resources"] == ["kwoknodeclasses"]]
    expect(kwok == [["get", "list", "watch"]], f"rights on KWOKNodeClasses: {kwok}")
    for rule in role["rules"]:
        expect("*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], f"a wildcard in {rule}")
        expect("secrets" not in rule["resources"], "every Secret can be read")
        if {"create", "delete"} & set(rule["verbs"]):
            expect(set(rule["resources"]) <= {"nodeclaims", "nodes", "pods"}, f"may make or end {rule['resources']}")
    secrets = [r for role in by_kind["Role"] for r in role["rules"] if r["resources"] == ["secrets"]]
    expect([(r["resourceNames"], r["verbs"]) for r in secrets] == [(["boot"], ["get"])], "rights on user data")
    bound = {(b["metadata"].get("namespace"), b["roleRef"]["name"]) for b in by_kind["RoleBinding"]}
    expect(any(n == "infra" and r.endswith("-user-data-boot") for n, r in bound), "the user data's Role is not bound")


def batch():
    expect("--batch" in container()["command"], "--batch is not passed")
    may = {}
    for rule in (r for role in by_kind["ClusterRole"] for r in role["rules"]):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                may.setdefault((group, resource), set()).update(rule["verbs"])
    # Machines are bought for gangs, whose pods Volcano's controllers make late.
    expect(may.get(("batch.volcano.sh", "jobs")) == {"get", "list", "watch"}, "templates of Volcano Jobs cannot be read, or more")
    expect("create" in may.get(("", "pods/binding"), ()), "nothing can be bound")
    expect("create" not in may.get(("", "pods"), ()), "pods can be made without our controllers")


{
    "coppice-provider": provider,
    "coppice": autoscaler,
    "coppice-pools": pools,
    "coppice-dashboard": dashboard,
    "coppice-batch": batch,
}[chart]()
for problem in problems:
    print(f"{chart}: {problem}", file=sys.stderr)
print(f"{chart}: {len(objects)} objects rendered, {len(problems)} problems")
sys.exit(bool(problems))
