#!/usr/bin/env python3
"""Measures what a prompt costs when much of it is known, or when others wait for it, beside
llama.cpp's own server on the same model in the same run.

  prompts.py shared     64 requests at once that begin with the same 512 tokens, 16 own ones each
  prompts.py turn       a conversation of 2,000 tokens goes on: time to the first token, both times
  prompts.py crowd      a prompt of 2,000 tokens enters while 32 answers are on their way

Prints tables and writes build/bench/prompts-*.json.
"""

import argparse
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import run
import servers

GREEDY = {"temperature": 0, "ignore_eos": True}
OURS = (servers.seedance, "native", {})
SSE = (servers.seedance, "completions", {})
# It keeps and compares prompts by itself; a bare top_k is the least it can sample with.
PEER = {"top_k": 1}
PEERS = {
    "llama-server": (servers.llama_server, "completions", PEER),
    "llama-server/unified": (
        functools.partial(servers.llama_server, flags=("--kv-unified",)), "completions", PEER),
}
IDS = (300, 4095)


def bench(binaries, server, api, extra, *flags):
    command = [binaries.seedance, "bench", "--json", "--quiet", "--url", server.url, "--api", api,
               "--model", server.model(), "--prompt-ids", f"{IDS[0]}:{IDS[1]}", "--extra",
               json.dumps({**GREEDY, **extra}), *(str(flag) for flag in flags)]
    if api == "completions":
        command.append("--no-keep-alive")
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if result["errors"]:
        raise RuntimeError(f"{result['error_messages']}")
    return result


def shared(args, binaries, subject, model):
    """Everything new for each number of tokens out, as no server may know the prefix before."""
    start, api, extra = subject
    numbers = {}
    for out in args.out:
        with start(binaries, model, args) as server:
            result = bench(binaries, server, api, extra, "--concurrency", args.requests,
                           "--requests", args.requests, "--prefix-tokens", 512, "--prompt-tokens",
                           16, "--max-tokens", out)
        numbers[f"total, {out} out (s)"] = result["e2e_ms"]["max"] / 1000
        numbers[f"TTFT p50, {out} out (ms)"] = result["ttft_ms"]["p50"]
    return numbers


def first_token_ms(server, prompt, extra):
    body = {"model": server.model(), "prompt": prompt, "max_tokens": 8, "stream": True, **GREEDY,
            **extra}
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    begin = time.monotonic()
    with urllib.request.urlopen(request) as reply:
        first = next(line for line in reply if line.startswith(b"data: {"))
        took = 1000 * (time.monotonic() - begin)
        reply.read()
    assert b'"error"' not in first, first
    return took


def turn(args, binaries, subject, model):
    """The second prompt has the first one and 20 tokens more. An answer in between would be in
    memory like the prompt. (llama-server takes no more than the 2,048 a model is made for.)"""
    start, _, extra = subject
    draw = random.Random(args.seed)
    with start(binaries, model, args) as server:
        first_token_ms(server, [draw.randint(*IDS) for _ in range(32)], extra)  # Warm.
        prompt = [draw.randint(*IDS) for _ in range(2000)]
        first = first_token_ms(server, prompt, extra)
        second = first_token_ms(server, prompt + [draw.randint(*IDS) for _ in range(20)], extra)
    return {"first (ms)": first, "second (ms)": second, "second to first": second / first}


def crowd(args, binaries, subject, model):
    start, api, extra = subject
    answers = ("--concurrency", 32, "--requests", 32, "--prompt-tokens", 32, "--max-tokens", 512)
    with start(binaries, model, args) as server:
        alone = bench(binaries, server, api, extra, *answers, "--seed", 1)
        prompts = []

        def enter():
            time.sleep(0.4 * alone["elapsed_s"])
            prompts.append(bench(binaries, server, api, extra, "--concurrency", 1, "--requests", 1,
                                 "--prompt-tokens", 2000, "--max-tokens", 8, "--seed", 3))

        other = threading.Thread(target=enter)
        other.start()
        mixed = bench(binaries, server, api, extra, *answers, "--seed", 2)
        other.join()
    return {"inter-token p99 alone (ms)": alone["itl_ms"]["p99"],
            "with the prompt (ms)": mixed["itl_ms"]["p99"],
            "p99, with to alone": mixed["itl_ms"]["p99"] / alone["itl_ms"]["p99"],
            "longest with it (ms)": mixed["itl_ms"]["max"],
            "the prompt's TTFT (ms)": prompts[0]["ttft_ms"]["p50"]}


COMMANDS = {"shared": (shared, OURS, 1024), "turn": (turn, SSE, 2560), "crowd": (crowd, OURS, 2560)}


def measure(args, binaries, model):
    what, ours, context = COMMANDS[args.command]
    args.context = context
    file, samples = run.model_file(model), {}
    for repetition in range(args.repeat):
        for name, subject in {"seedance": ours, **args.peers}.items():
            args.seed = repetition
            numbers = what(args, binaries, subject, file)
            print(f"  {model} {name:22}", {key: round(n, 2) for key, n in numbers.items()},
                  flush=True)
            for key, number in numbers.items():
                samples.setdefault(key, {}).setdefault(name, []).append(number)
    return samples


def print_table(model, samples, names):
    print(f"\n{model}: medians; the ratio is to the peer that is best\n")
    print(f"| | {' | '.join(names)} | ratio |")
    print(f"|:--|{'--:|' * len(names)}--:|")
    for key, by_name in samples.items():
        middle = [statistics.median(by_name[name]) for name in names]
        ratio = f"{middle[0] / min(middle[1:]):.2f}" if middle[1:] else "-"
        print(f"| {key} | {' | '.join(f'{n:.4g}' for n in middle)} | {ratio} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--models", type=lambda text: text.split(","), default=["15m", "135m"],
                        help="presets of make_model.py or .gguf files")
    parser.add_argument("--peers", type=lambda text: {name: PEERS[name] for name in
                                                      text.split(",") if name},
                        default=PEERS, help="of " + ", ".join(PEERS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=64, help="streams that a server may batch")
    parser.add_argument("--requests", type=int, default=64, help="for shared")
    parser.add_argument("--out", type=lambda text: [int(n) for n in text.split(",")],
                        default=[8, 64], help="for shared: tokens of each answer")
    servers.Binaries.add_flags(parser)
    args = parser.parse_args()
    args.load_before = os.getloadavg()[0]
    binaries = servers.Binaries(args)
    content = {}
    for model in args.models:
        content[model] = measure(args, binaries, model)
        print_table(model, content[model], ["seedance", *args.peers])
    run.write(f"prompts-{args.command}", args, content)


if __name__ == "__main__":
    sys.exit(main())
