#!/usr/bin/env python3
"""Runs one google-benchmark program and prints a line per benchmark: name, median, unit, peak RSS."""
import json
import re
import resource
import subprocess
import sys

program, wanted, repetitions = sys.argv[1], sys.argv[2], sys.argv[3]
listed = subprocess.run([program, "--benchmark_list_tests=true"], capture_output=True, text=True, check=False)
names = [name for name in listed.stdout.split("\n") if name and wanted in name]
if names:
    only = "^(" + "|".join(re.escape(name) for name in names) + ")$"
    done = subprocess.run(
        [program, f"--benchmark_filter={only}", "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
         "--benchmark_report_aggregates_only=false"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        last = (done.stderr.strip().split("\n") or [""])[-1]
        print(f"{program}: measured nothing (exit {done.returncode}): {last}", file=sys.stderr)
        sys.exit(0)
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    values = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row.get("run_type") == "iteration":
            values.setdefault(row["run_name"], ([], row["time_unit"]))[0].append(row["real_time"])
    for name, (times, unit) in values.items():
        print(f"{name:70} {sorted(times)[len(times) // 2]:14.3f} {unit:3} {peak_mib:6} MiB")
