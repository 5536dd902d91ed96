#!/usr/bin/env python3
"""Measures how the model is scheduled, beside llama.cpp's own server on the same model in the same
run, and prints all of it as one table: throughput at each number of streams with short and long
prompts, greedy and sampled; shared prefixes; a conversation's second turn; a long prompt among
running answers; memory after many requests. What is wanted of each row stands beside it.

  engine.py --models 15m --repeat 5
  engine.py --parts short,crowd --streams 1,8,64

Writes build/bench/engine.json.
"""

import argparse
import dataclasses
import os
import pathlib
import statistics
import subprocess
import json
import sys

import prompts
import run
import servers

SAMPLED = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}
# Prompt tokens, what is sampled, and which share of batched-bench is wanted.
LOADS = {"short": (32, {}, 0.92), "sampled": (32, SAMPLED, 0.88), "long": (512, {}, None)}
PARTS = [*LOADS, *prompts.COMMANDS, "memory"]
PEERS = ("llama-server", "llama-server/backend-sampling")
MEMORY_MAX = 100e6  # Beside weights and what is kept of tokens.


@dataclasses.dataclass
class Row:
    model: str
    what: str
    ours: list
    peers: dict  # Name to list; none where the figure stands for itself.
    wanted: str = ""  # '>= 1.1', of the ratio, or of the figure itself.

    def middle(self):
        return statistics.median(self.ours)

    def peer(self):
        """The best one: the highest where much is wanted, else the lowest."""
        best = max if self.wanted.startswith(">") or "tokens/s" in self.what else min
        return best((statistics.median(each) for each in self.peers.values()), default=None)

    def ratio(self):
        return self.middle() / self.peer() if self.peers else None

    def met(self):
        if not self.wanted:
            return ""
        sign, bound = self.wanted.split()
        value = self.ratio() if self.peers else self.middle()
        return "yes" if (value >= float(bound) if sign == ">=" else value <= float(bound)) else "NO"

    def cells(self):
        peer, ratio = self.peer(), self.ratio()
        return [self.model, self.what, f"{self.middle():.4g}",
                "" if peer is None else f"{peer:.4g}",
                "" if ratio is None else f"{ratio:.2f}", self.wanted, self.met()]


def rate_wanted(model, load, streams):
    if streams == 1:
        return ">= 0.97"
    if load == "short" and model == "15m":
        return ">= 1.4"
    if load == "long" and model == "15m" and streams >= 32:
        return ">= 1.1"
    if load == "short" and model == "135m" and streams >= 64:
        return ">= 1.1"
    return ">= 1.0"


def subjects(load):
    """Name: how its server is started, by which API it is asked, and what each request adds."""
    sampling = LOADS[load][1]
    yield "seedance", (servers.seedance, "native", sampling)
    for peer in PEERS:
        start, api, extra = run.SUBJECTS[peer]
        yield peer, (start, api, {**extra, **sampling})


def throughput(args, binaries, model, load):
    prompt_tokens, _, share_wanted = LOADS[load]
    file, runs, raw = run.model_file(model), {}, {}
    args.context = prompt_tokens + 96
    for repetition in range(args.repeat):
        for streams in args.streams:
            args.parallel = max(streams, args.slots)
            for name, (start, api, extra) in subjects(load):
                with start(binaries, file, args) as server:
                    requests = run.requests_for(streams, args, file)
                    result = servers.load(binaries, server, api, streams, requests, extra,
                                          prompt_tokens)
                runs.setdefault((streams, name), []).append(result)
                rate = result["tokens_per_s"]
                print(f"  {model} {load} {name:30}{streams:4}{rate:9.0f} tokens/s", flush=True)
        if share_wanted:
            for streams, rates in servers.batched_bench(binaries, file, args, args.streams).items():
                raw.setdefault(streams, []).extend(rates)
    for streams in args.streams:
        def each(get):
            return {name: [get(one) for one in runs[streams, name]]
                    for name in ("seedance", *PEERS)}

        label = f"{load} @{streams}"
        rates = each(lambda one: one["tokens_per_s"])
        ours = rates.pop("seedance")
        yield Row(model, f"{label}: tokens/s", ours, rates, rate_wanted(model, load, streams))
        times = each(lambda one: one["ttft_ms"]["p50"])
        yield Row(model, f"{label}: TTFT p50 (ms)", times.pop("seedance"), times)
        late = each(lambda one: one["itl_ms"]["p99"])
        yield Row(model, f"{label}: inter-token p99 (ms)", late.pop("seedance"), late)
        if share_wanted:
            yield Row(model, f"{label}: of batched-bench, tokens/s", ours, {"raw": raw[streams]},
                      f">= {share_wanted}")
        client = [one["client_cpu_s"] / one["elapsed_s"] / os.cpu_count()
                  for one in runs[streams, "seedance"]]
        yield Row(model, f"{label}: client's share of the CPUs", client, {})


# What is wanted of these by name, and of 15m or 135m where that differs.
PROMPTS_WANTED = {
    "total, 8 out (s)": "<= 0.35", "total, 64 out (s)": {"15m": "<= 0.75", "135m": "<= 0.6"},
    "TTFT p50, 8 out (ms)": "<= 0.2", "TTFT p50, 64 out (ms)": "<= 0.2",
    "the prompt's TTFT (ms)": "<= 1.0"}
OWN_WANTED = {"second to first": "<= 0.1", "p99, with to alone": "<= 1.5"}


def prompt_rows(args, binaries, model, command):
    args.command, args.parallel = command, args.slots
    for what, by_name in prompts.measure(args, binaries, model).items():
        ours = by_name.pop("seedance")
        wanted = PROMPTS_WANTED.get(what, "")
        wanted = wanted if isinstance(wanted, str) else wanted.get(model, "<= 0.75")
        if what in OWN_WANTED:
            yield Row(model, f"{command}: {what}", ours, {}, OWN_WANTED[what])
        else:
            yield Row(model, f"{command}: {what}", ours, by_name, wanted)


def resident(pid):
    """Of the process and its children, in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own * 1024 + sum(resident(child) for child in children)


def worker_of(server):
    children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for child in children:
        if b"worker" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return int(child)
    raise RuntimeError("the server has no worker")


def fit(binaries, file, args):
    """What weights and the tokens of all streams are said to take, in bytes."""
    words = [binaries.seedance, "fit", file, "--json", "--parallel", str(args.parallel),
             "--ctx-size", str(args.context)]
    devices = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["devices"]
    return sum(device["weights_bytes"] + device["streams_bytes"] for device in devices)


def memory(args, binaries, model):
    """Prompts of many lengths, then as many again: what is left when weights and tokens are taken
    off, and how much the second half added."""
    file, beyond, grown = run.model_file(model), [], {"seedance": [], "llama-server": []}
    args.context, args.parallel = 512, args.slots
    for name, (start, api, extra) in list(subjects("short"))[:2]:
        with start(binaries, file, args) as server:
            def load():
                servers.load(binaries, server, api, 64, args.memory_requests // 2, extra, 200)
            load()
            pid = worker_of(server) if name == "seedance" else server.pid
            before = resident(pid)
            load()
            grown[name].append((resident(pid) - before) / 1e6)
            if name == "seedance":
                beyond.append((resident(pid) - fit(binaries, file, args)) / 1e6)
    yield Row(model, f"{args.memory_requests} requests: worker beyond weights and KV (MB)", beyond,
              {}, f"<= {MEMORY_MAX / 1e6:.0f}")
    yield Row(model, "of these, grown in the second half (MB)", grown["seedance"], {})
    yield Row(model, "llama-server, grown in the second half (MB)", grown["llama-server"], {})


def rows_of(args, binaries, model, part):
    if part in LOADS:
        return throughput(args, binaries, model, part)
    if part == "memory":
        return memory(args, binaries, model)
    return prompt_rows(args, binaries, model, part)


def machine():
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
               if line.startswith("model name"))
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} CPUs, {gib:.0f} GiB, Linux {os.uname().release}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--models", type=words, default=["15m", "135m", "models/demo/demo.gguf"],
                        help="presets of make_model.py or .gguf files")
    parser.add_argument("--parts", type=words, default=PARTS, help="of " + ", ".join(PARTS))
    parser.add_argument("--streams", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 8, 32, 64, 128])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4, help="requests a stream (3 or more)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--slots", type=int, default=64, help="streams that a server may batch")
    parser.add_argument("--requests", type=int, default=64, help="for shared")
    parser.add_argument("--out", type=lambda text: [int(n) for n in text.split(",")],
                        default=[8, 64], help="for shared: tokens of each answer")
    parser.add_argument("--memory-requests", type=int, default=4000)
    servers.Binaries.add_flags(parser)
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    args.load_before = os.getloadavg()[0]
    args.peers = {"llama-server": prompts.PEERS["llama-server"]}
    binaries = servers.Binaries(args)
    rows = [row for model in args.models for part in args.parts
            for row in rows_of(args, binaries, model, part)]
    print(f"\n{machine()}; {args.threads} threads; medians of {args.repeat}\n")
    print("| model | | Seedance | llama-server | ratio | wanted | met |")
    print("|:--|:--|--:|--:|--:|:--|:--|")
    for row in rows:
        print(f"| {' | '.join(row.cells())} |")
    content = [dataclasses.asdict(row) for row in rows]
    run.write("engine", args, {"host": machine(), "rows": content})
    return 0


if __name__ == "__main__":
    sys.exit(main())
