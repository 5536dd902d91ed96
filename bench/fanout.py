#!/usr/bin/env python3
"""Measures what it costs to send tokens to many connections, beside others that only send.

  fanout.py [cost]   CPU seconds of the server for a million frames: 1,000 connections, a chunk of
                     about 80 bytes each 50 ms, against a bare epoll loop, uWebSockets.js and ws
  fanout.py many     19,000 streams of 20 tokens/s: whether every token comes, and how late

Ours runs the scripted engine, core and journal and all; the others send a fixed frame. Prints
tables and writes build/bench/fanout-*.json. For the cost, server and client have a core each: else
a frame costs a third more or less by where the scheduler puts the two. Ratios are medians of those
of each repetition, in which a machine's slow times meet all. uWebSockets.js is built for a newer C
library than Debian 12's: tools/setup --bench gets one that only it uses.
"""

import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import common
import servers
from common import ROOT
from machine import resident_kb

CLIENT = ROOT / "build/release/bench/seedance_bench_fanout"
EPOLL = ROOT / "build/release/bench/seedance_bench_epoll"
NODE = ROOT / ".deps/bin/node"
NEWER_LIBC = ROOT / ".deps/newer-libc"
BYTES, PERIOD_MS = 80, 50
SCRIPT = "scripted:rate=20,step=50ms,prefill=0us,length=100000,context=200000,sequences=20000"
REQUEST = {"type": "INFER_REQ", "id": "a", "prompt": "x", "max_tokens": 4000, "ignore_eos": True}


def node(program):
    return [str(NODE.resolve()), str(ROOT / "bench/peers" / program)]


def newer_libc():
    """How to start a program on it."""
    return [str(NEWER_LIBC / "ld-linux-x86-64.so.2"), "--library-path", str(NEWER_LIBC)]


def sender(command):
    @contextlib.contextmanager
    def start(prefix=()):
        port = servers.free_port()
        process = subprocess.Popen([*prefix, *command, str(port), str(BYTES), str(PERIOD_MS)])
        try:
            wait_for_port(port, process)
            yield port, process.pid
        finally:
            process.kill()
            process.wait()
    return start


def seedance(*flags):
    @contextlib.contextmanager
    def start(prefix=()):
        port = servers.free_port()
        with tempfile.TemporaryDirectory(prefix="seedance-bench-") as data:
            command = [*prefix, str(ROOT / "build/release/seedance"), "serve", "--engine", SCRIPT,
                       "--port", str(port), "--no-supervisor", "--data-dir", data,
                       "--max-queued-streams", "20000", "--journal-max-bytes", str(1 << 40), *flags]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                wait_for_port(port, process)
                yield port, process.pid
            finally:
                for _ in range(2):  # The second does not wait for streams.
                    process.send_signal(signal.SIGTERM)
                    time.sleep(0.5)
                process.wait()
    return start


SUBJECTS = {
    "epoll": (sender([str(EPOLL)]), "bench"),
    "uWebSockets.js": (sender([*newer_libc(), *node("uws.mjs")]), "bench"),
    "ws": (sender(node("ws.mjs")), "bench"),
    "seedance": (seedance(), "seedance.v2+json"),
    "seedance, no journal": (seedance("--journal", "none"), "seedance.v2+json"),
}


def wait_for_port(port, process):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on {port}")


def on_core(index):
    """How to start a program so that it keeps to one core."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "--cpu-list", str(cores[index % len(cores)])]


def client(port, pid, protocol, connections, args, *flags, prefix=()):
    command = [*prefix, str(CLIENT), "--port", str(port), "--pid", str(pid), "--protocol", protocol,
               "--connections", str(connections), "--warmup", str(args.warmup), "--seconds",
               str(args.seconds), "--message", json.dumps(REQUEST), *flags]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def median_ratio(values, others):
    return statistics.median(one / other for one, other in zip(values, others, strict=True))


def cost(args):
    runs = {name: [] for name in args.subjects}
    for _ in range(args.repeat):
        for name in args.subjects:
            start, protocol = SUBJECTS[name]
            with start(on_core(0)) as (port, pid):
                result = client(port, pid, protocol, 1000, args, prefix=on_core(1))
            runs[name].append(result)
            print(f"  {name:22}{result['cpu_s_per_million_frames']:8.2f} CPU s per million frames",
                  flush=True)
    costs = {name: [run["cpu_s_per_million_frames"] for run in rows] for name, rows in runs.items()}
    medians = {name: statistics.median(values) for name, values in costs.items()}
    peers = [name for name in ("epoll", "uWebSockets.js") if name in costs]
    print(f"\n| server | CPU s per million frames |{''.join(f' of {peer} |' for peer in peers)}")
    print(f"|:--|--:|{'--:|' * len(peers)}")
    for name, values in costs.items():
        ratios = [median_ratio(values, costs[peer]) for peer in peers]
        print(f"| {name} | {medians[name]:.2f} |{''.join(f' {ratio:.2f} |' for ratio in ratios)}")
    common.write("fanout-cost", args, {"medians": medians, "runs": runs})


@contextlib.contextmanager
def watched_memory(pid):
    """A list that gets what of a process is resident, each second."""
    samples, over = [resident_kb(pid)], threading.Event()

    def watch():
        while not over.wait(1):
            samples.append(resident_kb(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield samples
    finally:
        over.set()
        watcher.join()


def many(args):
    with seedance(*args.flags)() as (port, pid):
        with watched_memory(pid) as samples:
            result = client(port, pid, "seedance.v2+json", args.connections, args,
                            "--period-ms", str(PERIOD_MS))
        grown = samples[-1] - samples[-1 - int(args.seconds)]
        result["resident_kb"] = samples[-1]
        result["grown_bytes_per_token"] = round(1024 * grown / result["tokens"], 1)
    print(json.dumps(result, indent=1))
    print(f"{result['tokens'] / result['tokens_due']:.4f} of the tokens that were due came, "
          f"{result['tokens'] / max(1, result['frames']):.1f} a frame; 99 % were late by at most "
          f"{result['late_ms']['p99']} ms")
    common.write("fanout-many", args, result)


def main():
    parser = common.parser(__doc__)
    parser.add_argument("command", nargs="?", default="cost", choices=["cost", "many"])
    parser.add_argument("--subjects", type=lambda text: text.split(";"), default=list(SUBJECTS),
                        help="with semicolons: of " + "; ".join(SUBJECTS))
    parser.add_argument("--connections", type=int, default=19000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warmup", type=float, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--flags", type=lambda text: text.split(), default=[],
                        help="more flags of `seedance serve`, for many")
    args = common.parse(parser)
    {"cost": cost, "many": many}[args.command](args)


if __name__ == "__main__":
    sys.exit(main())
