#!/usr/bin/env python3
"""How long one waits after a change: four files of four modules, each touched and brought to a linked test with `tools/build edit`, and
what each module takes to compile by itself, from the log that ninja keeps of the same tree (per object its last compilation).

bench_build.py: both. bench_build.py --log FILE: only the second, of that log.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import time

TREE = pathlib.Path("build/edit")
# A file that is worked on, neither the largest of its module nor the smallest, and the test that one would run.
CHANGES = [("src/autoscale/scale_up_options.cc", "autoscale_test"), ("src/provision/solve_place.cc", "provision_test"),
           ("src/batch/session.cc", "batch_test"), ("src/web/site.cc", "web_test")]


def seconds_to_link(file, target):
    """One changed .cc to a linked test."""
    subprocess.run(["tools/build", "edit", target], check=True, stdout=subprocess.DEVNULL)  # all but the change
    os.utime(file)
    # The text is the same, so the cache would have it; a real change it would not.
    began = time.monotonic()
    subprocess.run(["tools/build", "edit", target], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "CCACHE_RECACHE": "1"})
    return time.monotonic() - began


def compile_seconds(log):
    """By module or program: seconds of one processor, and objects. The last line about an object counts."""
    objects = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) != 5 or not fields[3].endswith(".o"):
            continue
        objects[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    found = collections.defaultdict(list)
    for name, seconds in objects.items():
        if of := re.search(r"CMakeFiles/(?:coppice_)?([^/]+)\.dir/", name):
            found[of[1]].append(seconds)
    return {module: (sum(times), len(times)) for module, times in found.items()}


def print_modules(log):
    for module, (seconds, objects) in sorted(compile_seconds(log).items(), key=lambda entry: -entry[1][0]):
        print(f"compile {module:40} {seconds:9.1f} s  {objects:4} objects")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--log"]:
        print_modules(pathlib.Path(sys.argv[2]).read_text())
        sys.exit()
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    for changed, test in CHANGES:
        print(f"change  {changed + ' -> ' + test:60} {seconds_to_link(changed, test):6.1f} s", flush=True)
    print_modules((TREE / ".ninja_log").read_text())
