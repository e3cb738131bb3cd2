"""tools/compare extender: what asking an HTTP extender costs the real Volcano v1.10 and us, in one run on this machine.

One session, one gang of pods on empty nodes, every task asked about on every node. The server is `coppice extender` on loopback
for both, on one thread. Theirs is test/oracle/session (built if absent), which makes a call per task and node; ours is
extender_bench of the release build: compatible (the same calls), batch (a call per task), batch+compact (and bodies that
only name things). A decision is an answer about one task on one node. Time by the clock of the whole session."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROMISED = {"compatible": 5, "batch+compact": 100}


def output_of(command, **more):
    done = subprocess.run(command, text=True, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"tools/compare: {command[0]} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def find(program):
    for folder, _, files in os.walk(os.path.join(ROOT, "build", "release")):
        if program in files:
            return os.path.join(folder, program)
    subprocess.run([os.path.join(ROOT, "tools", "build"), "release", program], check=True, stdout=sys.stderr)
    return find(program)


def start_server(coppice):
    server = subprocess.Popen([coppice, "extender", "--listen=127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    port = re.search(r"port (\d+)", server.stdout.readline())
    return server, f"http://127.0.0.1:{port.group(1)}"


def stop_server(server):
    """How many requests it says it has answered."""
    server.terminate()
    out, _ = server.communicate(timeout=30)
    return int(re.search(r"answered (\d+)", out).group(1))


def theirs_of(oracle, coppice, nodes, tasks, procs):
    server, url = start_server(coppice)
    try:
        out = output_of([oracle, "-nodes", str(nodes), "-jobs", "1", "-replicas", str(tasks), "-procs", str(procs),
                         "-count", "1", "-extender", url])
    finally:
        calls = stop_server(server)
    bound = re.search(r"bound=(\d+)/(\d+)", out)
    if bound.group(1) != bound.group(2):
        sys.exit(f"tools/compare: the oracle has not placed everything: {bound.group(0)}")
    return float(re.search(r" session=([\d.]+)ms", out).group(1)) / 1000, calls


def ours_of(bench, coppice, nodes, tasks):
    server, url = start_server(coppice)
    try:
        out = output_of([bench, url, str(nodes), str(tasks)])
    finally:
        stop_server(server)
    return [dict(pair.split("=") for pair in line.split()) for line in out.splitlines()]


def compare(options):
    oracle = options.oracle or os.path.join(ROOT, "build", "oracle", "session")
    if not os.path.exists(oracle):
        subprocess.run([os.path.join(ROOT, "test", "oracle", "build"), "session"], check=True, stdout=sys.stderr)
    bench, coppice = options.bench or find("extender_bench"), find("coppice")
    seconds, calls = theirs_of(oracle, coppice, options.nodes, options.tasks, options.procs)
    rate = calls / seconds
    print(f"one session, {options.tasks} tasks x {options.nodes:,} nodes, `coppice extender` on loopback, time by the clock")
    print(f"{'':24}{'seconds':>10}{'calls':>10}{'calls/s':>12}{'decisions/s':>14}{'ratio':>9}{'bytes/decision':>16}")
    print(f"{'volcano v1.10':24}{seconds:10.2f}{calls:10}{rate:12.0f}{rate:14.0f}{'':>9}{'':>16}")
    kept = True
    for mode in ours_of(bench, coppice, options.nodes, options.tasks):
        ratio = float(mode["decisions/s"]) / rate
        kept = kept and ratio >= PROMISED.get(mode["mode"], 0)
        print(f"{'coppice ' + mode['mode']:24}{float(mode['seconds']):10.2f}{int(mode['calls']):10}{float(mode['calls/s']):12.0f}"
              f"{float(mode['decisions/s']):14.0f}{ratio:8.1f}x{float(mode['bytes/decision']):16.1f}")
    return 0 if kept else 1


def main(args):
    parser = argparse.ArgumentParser(prog="tools/compare extender", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="our benchmark program")
    parser.add_argument("--oracle", help="the peer's")
    parser.add_argument("--procs", type=int, default=2, help="processors of the peer")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=100)
    return compare(parser.parse_args(args))
