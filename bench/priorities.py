#!/usr/bin/env python3
"""Measures how long a request waits for its first token among others that nobody waits for: beside
--crowd answers of the priority "batch" that are always under way or queued, the same short request
comes again and again with each priority.

Prints a table, in milliseconds and in steps (the crowd's median time between two tokens), and
writes build/bench/priorities.json.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import threading

import prompts
import run
import servers

PRIORITIES = ("realtime", "interactive", "batch")
# The crowd is on one connection, and a probe of its own class is to come to its end.
FLAGS = ("--max-streams-per-connection", "1024", "--queue-timeout-ms", "3600000")


class Crowd:
    """Keeps that many answers under way until it is closed."""

    def __init__(self, binaries, server, args):
        self.process = subprocess.Popen(
            [binaries.seedance, "bench", "--json", "--quiet", "--url", server.url, "--connections",
             "1", "--concurrency", str(args.crowd), "--duration", f"{args.duration}s", "--warmup",
             "2s", "--prompt-tokens", "64", "--prompt-ids", "{}:{}".format(*prompts.IDS),
             "--max-tokens", str(args.tokens), "--extra",
             json.dumps({**prompts.GREEDY, "priority": "batch"})], stdout=subprocess.PIPE)

    def going(self):
        return self.process.poll() is None

    def result(self):
        return json.loads(self.process.communicate()[0])


def metric(server, name):
    lines = server.get("/metrics").decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def is_queue(server):
    """Whether more wait than a probe."""
    return metric(server, 'seedance_queue_depth{priority="batch"}') > 1


def probe(server, priority, args, draw):
    prompt = [draw.randint(*prompts.IDS) for _ in range(args.prompt)]
    return prompts.first_token_ms(server, prompt, {"priority": priority})


def measure(binaries, model, args):
    draw = random.Random(args.seed)
    times = {priority: [] for priority in PRIORITIES}
    with servers.seedance(binaries, run.model_file(model), args, FLAGS) as server:
        alone = [probe(server, "realtime", args, draw) for _ in range(9)][1:]
        crowd = Crowd(binaries, server, args)
        while not is_queue(server):
            if not crowd.going():
                raise RuntimeError("nobody had to wait: ask for a larger --crowd")

        def keep_probing(priority):
            while is_queue(server) and len(times[priority]) < args.probes:
                times[priority].append(probe(server, priority, args, own[priority]))

        own = {priority: random.Random(f"{args.seed} {priority}") for priority in PRIORITIES}
        probes = [threading.Thread(target=keep_probing, args=(p,)) for p in PRIORITIES]
        for thread in probes:
            thread.start()
        result = crowd.result()
        for thread in probes:
            thread.join()
        parked = metric(server, "seedance_sequences_parked_total")
    if result["errors"]:
        raise RuntimeError(f"{result['error_messages']}")
    if not result["itl_ms"]:
        raise RuntimeError("no answer of the crowd was measured: give it a longer --duration")
    return {"step_ms": result["itl_ms"]["p50"], "crowd_answers": result["requests"],
            "parked": parked, "ttft_ms": {"alone": alone, **times}}


def print_table(model, numbers, args):
    step = numbers["step_ms"]
    print(f"\n{model}: TTFT of {args.prompt} tokens beside {args.crowd} batch answers, "
          f"{args.parallel} at a time; a step is {step:.1f} ms; {numbers['parked']:.0f} parked\n")
    print("| | probes | median (ms) | p90 (ms) | longest (ms) | median (steps) | longest (steps) |")
    print("|:--|--:|--:|--:|--:|--:|--:|")
    for name, times in numbers["ttft_ms"].items():
        if not times:
            print(f"| {name} | 0 | | | | | |")
            continue
        times = sorted(times)
        middle = statistics.median(times)
        late = times[int(0.9 * (len(times) - 1))]
        print(f"| {name} | {len(times)} | {middle:.1f} | {late:.1f} | {times[-1]:.1f} | "
              f"{middle / step:.1f} | {times[-1] / step:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","), default=["15m"],
                        help="presets of make_model.py or .gguf files")
    parser.add_argument("--crowd", type=int, default=200, help="batch answers at the same time")
    parser.add_argument("--tokens", type=int, default=128, help="of each of these")
    parser.add_argument("--prompt", type=int, default=32, help="tokens of the probe's prompt")
    parser.add_argument("--probes", type=int, default=100, help="of each priority, at most")
    parser.add_argument("--duration", type=int, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=64, help="streams that the server batches")
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    servers.Binaries.add_flags(parser)
    args = parser.parse_args()
    args.load_before = os.getloadavg()[0]
    binaries = servers.Binaries(args)
    content = {}
    for model in args.models:
        content[model] = measure(binaries, model, args)
        print_table(model, content[model], args)
    run.write("priorities", args, content)


if __name__ == "__main__":
    sys.exit(main())
