#!/usr/bin/env python3
"""Measures Seedance beside llama.cpp's own server, on the same model in the same run.

  run.py [compare]   tokens/s, TTFT and inter-token time at 1, 8, 32 and 64 streams, as ratios
  run.py overhead    what the server adds to the worker's own time to the first token
  run.py idle        resident memory of 1,000 idle WebSocket connections; --tls: of as many over TLS
  run.py journal     tokens/s with the journal and without, as a ratio; recovery of a large one

Prints tables and writes build/bench/*.json.
"""

import argparse
import functools
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import idle
import servers

OUT = servers.ROOT / "build/bench"
# Name: (starts a server, API, members added to each request). llama-server is measured in each form
# that is its best somewhere and is compared by the one that is, at each number of streams. It
# needs a bare top_k to choose greedily at the least cost, and would else reuse the last prompt.
PEER_EXTRA = {"cache_prompt": False, "top_k": 1}
SUBJECTS = {
    "seedance/native": (servers.seedance, "native", {}),
    "seedance/sse": (servers.seedance, "completions", {}),
    "llama-server": (servers.llama_server, "completions", PEER_EXTRA),
    "llama-server/unified": (
        functools.partial(servers.llama_server, flags=("--kv-unified",)), "completions",
        PEER_EXTRA),
    "llama-server/backend-sampling": (
        functools.partial(servers.llama_server, flags=("--no-kv-unified", "--backend-sampling")),
        "completions", PEER_EXTRA),
}
# The unified cache was slower at every point measured; it stays to be asked for.
DEFAULT_SUBJECTS = [name for name in SUBJECTS if name != "llama-server/unified"]
RAW = "batched-bench"
# More than 1,000 idle connections may cost, by plain WebSocket and over TLS: OpenSSL's own share.
IDLE_KB_MAX, IDLE_TLS_KB_MAX = 1024, 16384


def model_file(name):
    if name.endswith(".gguf"):
        return name
    path = OUT / f"{name}.gguf"
    if not path.exists():
        maker = pathlib.Path(__file__).with_name("make_model.py")
        subprocess.run([sys.executable, maker, "--preset", name, "--out", path], check=True)
    return str(path)


def requests_for(streams, args, model):
    """Enough for a steady window: the first and the last round lie outside it."""
    small = os.path.getsize(model) < 100e6
    return args.rounds * max(streams, 20 if small else 5)


def measure(args, binaries, model, samples):
    """One repetition: every subject once, one after the other, at each number of streams."""
    for subject in args.subjects:
        start, api, extra = SUBJECTS[subject]
        with start(binaries, model, args) as server:
            for streams in args.streams:
                result = servers.load(binaries, server, api, streams,
                                      requests_for(streams, args, model), extra)
                samples.setdefault((subject, streams), []).append(result)
                rate = result["tokens_per_s"]
                print(f"  {subject:30}{streams:4}{rate:9.0f} tokens/s", flush=True)
    raw = servers.batched_bench(binaries, model, args, args.streams)
    for streams, rates in raw.items():
        for rate in rates:
            samples.setdefault((RAW, streams), []).append({"tokens_per_s": rate})


def summary(runs):
    """The median of each number over the repetitions."""
    def middle(*path):
        values = []
        for run in runs:
            for key in path:
                run = run.get(key) if run else None
            if run is not None:
                values.append(run)
        return statistics.median(values) if values else None

    return {
        "tokens_per_s": middle("tokens_per_s"),
        "ttft_p50": middle("ttft_ms", "p50"), "ttft_p99": middle("ttft_ms", "p99"),
        "itl_p50": middle("itl_ms", "p50"), "itl_p99": middle("itl_ms", "p99"),
        "client_cpu_s": middle("client_cpu_s"),
        "errors": sum(sum(run.get("errors", {}).values()) for run in runs),
    }


def ratio(ours, theirs, key):
    return f"{ours[key] / theirs[key]:.2f}" if ours.get(key) and theirs.get(key) else "-"


def print_tables(model, args, medians):
    columns = ["tokens_per_s", "ttft_p50", "ttft_p99", "itl_p50", "itl_p99"]
    print(f"\n{model}: medians (times in ms)\n")
    print("| streams | subject | tokens/s | TTFT p50 | p99 | inter-token p50 | p99 | errors |")
    print("|--:|:--|--:|--:|--:|--:|--:|--:|")
    for (subject, streams), row in sorted(medians.items(), key=lambda item: item[0][1]):
        cells = [f"{row[c]:.4g}" if row[c] is not None else "-" for c in columns]
        print(f"| {streams} | {subject} | {' | '.join(cells)} | {row['errors']} |")
    ours = [subject for subject in args.subjects if subject.startswith("seedance")]
    peers = [subject for subject in args.subjects if not subject.startswith("seedance")]
    if not ours or not peers:
        return
    print(f"\n{model}: ratios to llama-server at its best (above 1 is better for the rate, below 1 "
          "for times)\n")
    print("| streams | subject | its best | tokens/s | TTFT p50 | p99 | inter-token p50 | p99 "
          "| share of raw |")
    print("|--:|:--|:--|--:|--:|--:|--:|--:|--:|")
    for streams in args.streams:
        best = max(peers, key=lambda subject: medians[subject, streams]["tokens_per_s"])
        for subject in ours:
            row = medians[subject, streams]
            cells = [ratio(row, medians[best, streams], c) for c in columns]
            cells.append(ratio(row, medians[RAW, streams], "tokens_per_s"))
            print(f"| {streams} | {subject} | {best} | {' | '.join(cells)} |")


def write(name, args, content):
    OUT.mkdir(parents=True, exist_ok=True)
    machine = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(),
               "load_before": args.load_before,
               "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    path = OUT / f"{name}.json"
    path.write_text(json.dumps({"machine": machine, **content}, indent=1) + "\n")
    print(f"\nwritten: {path}")


def compare(args, binaries):
    for model in args.models:
        file, samples = model_file(model), {}
        for repetition in range(args.repeat):
            print(f"{model}: repetition {repetition + 1} of {args.repeat}", flush=True)
            measure(args, binaries, file, samples)
        medians = {key: summary(runs) for key, runs in samples.items()}
        print_tables(model, args, medians)
        rows = [{"subject": subject, "streams": streams, "median": medians[subject, streams],
                 "runs": runs} for (subject, streams), runs in samples.items()]
        write(f"compare-{pathlib.Path(model).stem}", args, {"model": model, "rows": rows})


def overhead(args, binaries):
    """Two clients, since only the native protocol tells the worker's own time."""
    model = args.models[0]
    with servers.seedance(binaries, model_file(model), args) as server:
        native, sse = ([servers.load(binaries, server, api, 1, 50 * args.repeat)
                        for _ in range(args.repeat)] for api in ("native", "completions"))
    prefill = statistics.median(run["prefill_ms"]["p50"] for run in native)
    added = statistics.median(run["over_prefill_ms"]["p50"] for run in native)
    sse_ttft = statistics.median(run["ttft_ms"]["p50"] for run in sse)
    print(f"{model}, 1 stream, p50: prefill in the worker {prefill:.3f} ms; added to the first "
          f"token: {added:.3f} ms over WebSocket, {sse_ttft - prefill:.3f} ms over SSE")
    write("overhead", args, {"model": model, "native": native, "sse": sse})


def idle_memory(args, binaries):
    with servers.seedance(binaries, model_file("tiny"), args, tls=args.tls) as server:
        result = idle.measure(server, args.connections)
    per_thousand = result["grown_kb"] * 1000 / args.connections
    result["tls"] = args.tls
    kind = "TLS" if args.tls else "WebSocket"
    print(f"{args.connections} idle {kind} connections: {result['before_kb']} -> "
          f"{result['after_kb']} kB resident, {per_thousand:.0f} kB for 1,000")
    write("idle", args, result)
    return 0 if per_thousand < (IDLE_TLS_KB_MAX if args.tls else IDLE_KB_MAX) else 1


def journal_rates(args, binaries, model, streams):
    """Tokens/s with and without, alternating, and first the one, then the other."""
    rates = {"file": [], "none": []}
    for repetition in range(args.repeat):
        for kind in sorted(rates, reverse=repetition % 2 == 1):
            with servers.seedance(binaries, model, args, ("--journal", kind)) as server:
                requests = requests_for(streams, args, model)
                result = servers.load(binaries, server, "native", streams, requests)
            rate = result["tokens_per_s"]
            rates[kind].append(rate)
            print(f"  journal {kind:5}{streams:4} streams{rate:9.0f} tokens/s", flush=True)
    return rates


def journal_recovery(args, binaries):
    """Each time from the same files: recovery itself writes to them."""
    runs = []
    with tempfile.TemporaryDirectory(prefix="seedance-bench-") as base:
        original = pathlib.Path(base) / "original"
        written = servers.journal(binaries, "write", original)
        for repetition in range(args.repeat):
            copy = pathlib.Path(base) / f"copy-{repetition}"
            shutil.copytree(original, copy)
            run = servers.journal(binaries, "recover", copy)
            port = servers.free_port()
            for name in ("empty", "full"):
                data = pathlib.Path(base) / f"{name}-{repetition}"
                data.mkdir(mode=0o700)
                if name == "full":
                    shutil.copytree(original, data / "journal" / str(port))
                    (data / "journal").chmod(0o700)
                run[f"start_{name}_ms"] = servers.start_ms(binaries, port, data)
            runs.append(run)
    return written, runs


def journal(args, binaries):
    model, streams = args.models[0], max(args.streams)
    rates = journal_rates(args, binaries, model_file(model), streams)
    middle = {kind: statistics.median(values) for kind, values in rates.items()}
    share = middle["file"] / middle["none"]
    print(f"{model}, {streams} streams: {middle['file']:.0f} tokens/s with the journal, "
          f"{middle['none']:.0f} without: ratio {share:.3f}")
    written, runs = journal_recovery(args, binaries)
    ms = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    print(f"a journal of {ms['streams']:.0f} streams, {ms['running']:.0f} of them running, "
          f"{ms['bytes'] / 1e6:.0f} MB: read in {ms['read_ms']:.0f} ms, taken over in "
          f"{ms['core_ms']:.0f} ms, driven in {ms['drive_ms']:.0f} ms, together "
          f"{ms['total_ms']:.0f} ms; a server starts in {ms['start_full_ms']:.0f} ms with it, "
          f"in {ms['start_empty_ms']:.0f} ms without")
    write("journal", args, {"model": model, "streams": streams, "rates": rates, "ratio": share,
                            "written": written, "recovery": runs})
    return 0 if share >= 0.97 and ms["total_ms"] < 1000 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="compare",
                        choices=["compare", "overhead", "idle", "journal"])
    parser.add_argument("--models", type=lambda text: text.split(","), default=["15m", "135m"],
                        help="presets of make_model.py or .gguf files")
    parser.add_argument("--streams", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 8, 32, 64])
    parser.add_argument("--subjects", type=lambda text: text.split(","), default=DEFAULT_SUBJECTS,
                        help="of " + ", ".join(SUBJECTS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5, help="requests a stream (3 or more)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=64, help="streams that a server may batch")
    parser.add_argument("--context", type=int, default=512, help="tokens of context for a sequence")
    parser.add_argument("--connections", type=int, default=1000, help="for idle")
    parser.add_argument("--tls", action="store_true", help="for idle: over TLS")
    servers.Binaries.add_flags(parser)
    args = parser.parse_args()
    args.load_before = os.getloadavg()[0]
    command = {"compare": compare, "overhead": overhead, "idle": idle_memory,
               "journal": journal}[args.command]
    return command(args, servers.Binaries(args)) or 0


if __name__ == "__main__":
    sys.exit(main())
