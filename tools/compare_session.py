"""tools/compare session: a whole scheduling session of the real Volcano v1.10 and ours, in one run on this machine.

Theirs is test/oracle/session (built if absent): cache, snapshot, plug-ins and statements are the scheduler's own, a counting
binder stands in for the API server. Ours is session_bench of the release build. The same work: equal nodes of 32 cores, gangs
of pods of one core that must all start, one queue, plug-ins priority, gang, conformance, overcommit, drf, predicates,
proportion, nodeorder, binpack. Theirs looks at a sample of the nodes (its default), on as many processors as --procs says; ours at every
node, on one thread. Processor time, time by the clock and the most memory of both; then how ours grows with nodes and with pods that run
already, and two promises that the peer has no figures for: placements a second on a large cluster, and a session in which nothing has changed.
The exit code is 1 unless all that is promised holds."""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROMISED_RATIO = 250
PROMISED_MEGABYTES = 100
# Nodes and pods that run already, under ten gangs of 100 that come.
GROWTH = [(1000, 0), (5000, 0), (10000, 0), (5000, 50000), (5000, 150000)]
# What it is called, our benchmark, how many pods it places, and what is promised: so many a second, or so many milliseconds.
LARGE = ("10,000 nodes x 100,000 pods", "BM_Session/nodes:10000/gangs:1000/pods:100", 100_000, 50_000)
QUIET = ("nothing changed, 150,000 pods run", "BM_QuietSession/running:150000/changed:0", 10)
SIZES = {"small": [(100, 10, 100)], "full": [(100, 10, 100), (1000, 100, 100), (5000, 200, 50)]}


def output_of(command, **more):
    done = subprocess.run(command, text=True, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"tools/compare: {command[0]} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def find_bench():
    for folder, _, files in os.walk(os.path.join(ROOT, "build", "release")):
        if "session_bench" in files:
            return os.path.join(folder, "session_bench")
    return None


def theirs_of(oracle, size, procs, count):
    """Best wall and processor time in milliseconds, and the peak of memory."""
    nodes, gangs, pods = size
    out = output_of([oracle, "-nodes", str(nodes), "-jobs", str(gangs), "-replicas", str(pods), "-procs", str(procs),
                     "-count", str(count)])
    bound = re.findall(r"bound=(\d+)/(\d+)", out)
    if not bound or any(got != wanted for got, wanted in bound):
        sys.exit(f"tools/compare: the oracle has not placed everything: {bound}")
    last = re.search(r"best=([\d.]+)ms .*best-cpu=([\d.]+)ms", out)
    memory = re.findall(r"peakRSS=(\S+)", out)[-1]
    return float(last.group(1)), float(last.group(2)), memory


def ours_of(bench, name):
    """Best processor time and best time by the clock in milliseconds, and the peak of memory in megabytes: of the whole program, its cluster
    included."""
    process = subprocess.Popen([bench, f"--benchmark_filter=^{name}(/|$)", "--benchmark_format=json",
                                "--benchmark_repetitions=3"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"tools/compare: {bench} failed with {process.returncode}")
    units = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    runs = [entry for entry in json.loads(out)["benchmarks"] if entry.get("run_type") == "iteration"]
    if not runs:
        sys.exit(f"tools/compare: {bench} has no {name}")
    cpu, wall = (min(entry[time] * units[entry["time_unit"]] for entry in runs) for time in ("cpu_time", "real_time"))
    return cpu, wall, usage.ru_maxrss / 1024


def print_growth(bench):
    print("\nten gangs of 100 come into a cluster that is in use; coppice, one session")
    print(f"{'nodes':>8}{'pods that run':>16}{'time':>12}{'memory':>10}")
    for nodes, running in GROWTH:
        took, _, megabytes = ours_of(bench, f"BM_BusySession/nodes:{nodes}/running:{running}")
        print(f"{nodes:8,}{running:16,}{took:9.1f} ms{megabytes:7.0f} MB", flush=True)


def keeps_alone(bench):
    """Prints what is promised without a peer; whether it holds."""
    print("\npromised without a peer; coppice, one session, by the clock")
    words, name, pods, promised = LARGE
    _, wall, megabytes = ours_of(bench, name)
    rate = pods / wall * 1000
    print(f"{words:36}{rate:12,.0f} placements/s (at least {promised:,}){megabytes:7.0f} MB", flush=True)
    words, name, most = QUIET
    _, quiet, megabytes = ours_of(bench, name)
    print(f"{words:36}{quiet:12.2f} ms (at most {most}){megabytes:23.0f} MB", flush=True)
    return rate >= promised and quiet <= most


def compare(options):
    oracle = options.oracle or os.path.join(ROOT, "build", "oracle", "session")
    if not os.path.exists(oracle):
        subprocess.run([os.path.join(ROOT, "test", "oracle", "build"), "session"], check=True, stdout=sys.stderr)
    bench = options.bench or find_bench()
    if bench is None:
        subprocess.run([os.path.join(ROOT, "tools", "build"), "release", "session_bench"], check=True, stdout=sys.stderr)
        bench = find_bench()
    print("one session, processor time and time by the clock, best of each; Volcano samples nodes, coppice asks all of them on one thread")
    print(f"{'nodes, gangs x pods':24}{'volcano v1.10':>16}{'by the clock':>14}{'its memory':>12}{'coppice':>12}{'by the clock':>14}{'its memory':>12}"
          f"{'ratio':>9}{'by the clock':>14}")
    kept = True
    for size in SIZES["small" if options.small else "full"]:
        wall, cpu, memory = theirs_of(oracle, size, options.procs, options.count)
        nodes, gangs, pods = size
        ours, ours_wall, megabytes = ours_of(bench, f"BM_Session/nodes:{nodes}/gangs:{gangs}/pods:{pods}")
        ratio = cpu / ours
        kept = kept and (ratio >= PROMISED_RATIO or size[0] < 1000) and megabytes <= PROMISED_MEGABYTES
        words = f"{size[0]:,}, {size[1]} x {size[2]}"
        print(f"{words:24}{cpu:13.0f} ms{wall:11.0f} ms{memory:>12}{ours:9.1f} ms{ours_wall:11.1f} ms{megabytes:9.0f} MB{ratio:8.0f}x"
              f"{wall / ours_wall:13.0f}x", flush=True)
    print_growth(bench)
    return 0 if keeps_alone(bench) and kept else 1


def main(args):
    parser = argparse.ArgumentParser(prog="tools/compare session", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="our benchmark program")
    parser.add_argument("--oracle", help="the peer's")
    parser.add_argument("--procs", type=int, default=2, help="processors of the peer")
    parser.add_argument("--count", type=int, default=1, help="runs of the peer")
    parser.add_argument("--small", action="store_true", help="without the two that take the peer minutes")
    return compare(parser.parse_args(args))
