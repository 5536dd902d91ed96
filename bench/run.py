#!/usr/bin/env python3
"""Measures what the server itself costs.

  run.py overhead    what it adds to the worker's own time to the first token
  run.py idle        resident memory of 1,000 idle WebSocket connections; --tls: of as many over TLS
  run.py journal     tokens/s with the journal and without, as a ratio; recovery of a large one

Prints a summary and writes build/bench/*.json. bench/engine.py compares with llama-server.
"""

import pathlib
import shutil
import statistics
import sys
import tempfile

import common
import idle
import servers

CONTEXT = 512
# More than 1,000 idle connections may cost, by plain WebSocket and over TLS: OpenSSL's own share.
IDLE_KB_MAX, IDLE_TLS_KB_MAX = 1024, 16384


def load(binaries, server, api, streams, requests):
    """A closed loop. The first round warms up."""
    return servers.bench(binaries, server, api, {}, "--concurrency", streams, "--requests",
                         requests, "--warmup", streams, "--prompt-tokens", 32, "--max-tokens", 64)


def requests_for(streams, args, model):
    """Enough for a steady window: the first and the last round lie outside it."""
    return args.rounds * max(streams, 20 if common.is_small(model) else 5)


def overhead(args, binaries):
    """Two clients, since only the native protocol tells the worker's own time."""
    model = args.models[0]
    with servers.seedance(binaries, common.model_file(model), args.shape) as server:
        native, sse = ([load(binaries, server, api, 1, 50 * args.repeat)
                        for _ in range(args.repeat)] for api in ("native", "completions"))
    prefill = statistics.median(run["prefill_ms"]["p50"] for run in native)
    added = statistics.median(run["over_prefill_ms"]["p50"] for run in native)
    sse_ttft = statistics.median(run["ttft_ms"]["p50"] for run in sse)
    print(f"{model}, 1 stream, p50: prefill in the worker {prefill:.3f} ms; added to the first "
          f"token: {added:.3f} ms over WebSocket, {sse_ttft - prefill:.3f} ms over SSE")
    common.write("overhead", args, {"model": model, "native": native, "sse": sse})


def idle_memory(args, binaries):
    with servers.seedance(binaries, common.model_file("tiny"), args.shape, tls=args.tls) as server:
        result = idle.measure(server, args.connections)
    per_thousand = result["grown_kb"] * 1000 / args.connections
    result["tls"] = args.tls
    kind = "TLS" if args.tls else "WebSocket"
    print(f"{args.connections} idle {kind} connections: {result['before_kb']} -> "
          f"{result['after_kb']} kB resident, {per_thousand:.0f} kB for 1,000")
    common.write("idle", args, result)
    return 0 if per_thousand < (IDLE_TLS_KB_MAX if args.tls else IDLE_KB_MAX) else 1


def journal_rates(args, binaries, model, streams):
    """Tokens/s with and without, alternating, and first the one, then the other."""
    rates = {"file": [], "none": []}
    for repetition in range(args.repeat):
        for kind in sorted(rates, reverse=repetition % 2 == 1):
            with servers.seedance(binaries, model, args.shape, ("--journal", kind)) as server:
                requests = requests_for(streams, args, model)
                result = load(binaries, server, "native", streams, requests)
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
    model, streams = args.models[0], args.streams
    rates = journal_rates(args, binaries, common.model_file(model), streams)
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
    common.write("journal", args, {"model": model, "streams": streams, "rates": rates,
                                   "ratio": share, "written": written, "recovery": runs})
    return 0 if share >= 0.97 and ms["total_ms"] < 1000 else 1


def main():
    parser = common.parser(__doc__)
    parser.add_argument("command", choices=["overhead", "idle", "journal"])
    common.add_model_flags(parser, ["15m"], 3)
    parser.add_argument("--streams", type=int, default=64, help="for journal")
    parser.add_argument("--rounds", type=int, default=5, help="requests a stream (3 or more)")
    parser.add_argument("--connections", type=int, default=1000, help="for idle")
    parser.add_argument("--tls", action="store_true", help="for idle: over TLS")
    servers.add_flags(parser)
    args = common.parse(parser)
    args.shape = servers.Shape(args.threads, args.parallel, CONTEXT)
    command = {"overhead": overhead, "idle": idle_memory, "journal": journal}[args.command]
    return command(args, servers.Binaries(args)) or 0


if __name__ == "__main__":
    sys.exit(main())
