#!/usr/bin/env python3
"""check_metrics.py: every metric that the alerts, their tests and the Grafana dashboard name is one that the code makes.

A name in the code is one literal, MetricName("...") or SetAll("...") of the autoscaler, or two or three literals put together of which the first ends with an
underscore."""
import json
import pathlib
import re
import sys

import yaml

root = pathlib.Path(__file__).resolve().parents[2]
files = root / "deploy/helm/coppice/files"
OURS = re.compile(r"\b(?:cluster_autoscaler|karpenter|volcano|coppice)_[a-z0-9_]+")

literals = set()
named = set()
for folder in ("src", "plugins"):
    for path in (root / folder).rglob("*"):
        if path.suffix not in (".cc", ".h") or path.name.endswith(("_test.cc", "_fuzz.cc", "_bench.cc")):
            continue
        text = path.read_text()
        literals.update(re.findall(r'"([a-z0-9_]+)"', text))
        named.update("cluster_autoscaler_" + name for name in re.findall(r'(?:MetricName|SetAll)\(\s*"([a-z0-9_]+)"', text))
known = named | {literal for literal in literals if OURS.fullmatch(literal)}
starts = [literal for literal in known if literal.endswith("_")]


def exists(name):
    for suffix in ("", "_bucket", "_sum", "_count"):
        if not name.endswith(suffix):
            continue
        bare = name[: len(name) - len(suffix)] if suffix else name
        if bare in known and not bare.endswith("_"):
            return True
        for start in starts:
            if not bare.startswith(start):
                continue
            rest = bare[len(start):]
            if rest in literals:
                return True
            if any(rest[:i] in literals and rest[i:] in literals for i in range(1, len(rest))):
                return True
    return False


def expressions():
    for group in yaml.safe_load((files / "rules.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]
    for panel in json.loads((files / "grafana.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield f"panel '{panel['title']}'", target["expr"]
    for test in yaml.safe_load((root / "test/deploy/rules_test.yaml").read_text())["tests"]:
        for series in test["input_series"]:
            yield f"test '{test['name']}'", series["series"]


named_somewhere = [(where, name) for where, text in expressions() for name in OURS.findall(text)]
problems = sorted({f"{where}: no code makes {name}" for where, name in named_somewhere if not exists(name)})
tested = {case["alertname"]: False for test in yaml.safe_load((root / "test/deploy/rules_test.yaml").read_text())["tests"]
          for case in test["alert_rule_test"]}
for test in yaml.safe_load((root / "test/deploy/rules_test.yaml").read_text())["tests"]:
    for case in test["alert_rule_test"]:
        tested[case["alertname"]] |= bool(case["exp_alerts"])
for group in yaml.safe_load((files / "rules.yaml").read_text())["groups"]:
    problems += [f"alert {rule['alert']}: no test in which it fires" for rule in group["rules"] if not tested.get(rule["alert"])]
for problem in problems:
    print("metrics:", problem, file=sys.stderr)
print(f"metrics: {len({name for _, name in named_somewhere})} names in alerts and dashboard, {len(problems)} problems")
sys.exit(1 if problems else 0)
