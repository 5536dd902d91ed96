#!/usr/bin/env python3
"""Where attention's time goes: how fast llama.cpp decodes, and reads prompts, with each way of
keeping and reading its memory, for so many sequences of so many tokens. No server:
llama-batched-bench.

  attention.py --models 15m --sequences 1,8,64 --contexts 64,512

The first way is the one that the worker uses. Ratios are to it, in the same run.
"""

import statistics

import common
import servers

WAYS = {
    "each its own": [],
    "one for all (unified)": ["--kv-unified"],
    "no flash attention": ["-fa", "off"],
    "q8_0": ["-ctk", "q8_0", "-ctv", "q8_0"],
    "q4_0": ["-ctk", "q4_0", "-ctv", "q4_0"],
}
OUT = 32


def measure(binaries, model, args, sequences, context, ubatch, flags):
    """Tokens per second: output of all sequences, prompts."""
    kv = [] if "--kv-unified" in flags else ["--no-kv-unified"]
    row, = servers.batched_bench(binaries, model, args.threads, [sequences], context, OUT,
                                 ["-ub", str(ubatch), "-fa", "on", *kv, *flags])
    return row["speed_tg"], row["speed_pp"]


def table(binaries, model, args, points, ways):
    """ways: name to (ubatch, flags). The first one's rates, then the ratios of the others."""
    rates = {}
    for _ in range(args.repeat):
        for point in points:
            for name, (ubatch, flags) in ways.items():
                one = measure(binaries, model, args, *point, ubatch, flags)
                rates.setdefault((point, name), []).append(one)
    result = []
    for what, at in (("decode", 0), ("prompts", 1)):
        for point in points:
            middle = [statistics.median(one[at] for one in rates[point, name]) for name in ways]
            result.append([what, f"{point[0]} x {point[1]}", f"{middle[0]:.0f}",
                           *(f"{one / middle[0]:.2f}" for one in middle[1:])])
    return result


def print_table(title, names, rows):
    print(f"\n{title}\n\n| | sequences x tokens | {' | '.join(names)} |")
    print(f"|:--|:--|{'--:|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main():
    parser = common.parser(__doc__)
    common.add_model_flags(parser, ["15m"], 3)
    parser.add_argument("--sequences", type=common.numbers, default=[1, 8, 32, 64, 128])
    parser.add_argument("--contexts", type=common.numbers, default=[64, 512, 2048, 4096])
    parser.add_argument("--tokens-max", type=int, default=34_000,
                        help="of all sequences of a point")
    parser.add_argument("--ubatches", type=common.numbers, default=[512, 128, 256, 2048])
    servers.Binaries.add_flags(parser)
    args = common.parse(parser)
    binaries = servers.Binaries(args)
    points = [(sequences, context) for context in args.contexts for sequences in args.sequences
              if sequences * context <= args.tokens_max]
    content = {}
    for model in args.models:
        file = common.model_file(model)
        ways = {name: (args.ubatches[0], flags) for name, flags in WAYS.items()}
        content[model] = {"ways": table(binaries, file, args, points, ways)}
        print_table(f"{model}, tokens/s, and the others' ratios to it", WAYS,
                    content[model]["ways"])
        passes = {f"{ubatch} a pass": (ubatch, []) for ubatch in args.ubatches}
        some = [point for point in points if point[1] >= 512]
        content[model]["passes"] = table(binaries, file, args, some, passes)
        print_table(f"{model}, tokens that one pass computes", passes, content[model]["passes"])
    common.write("attention", args, content)


if __name__ == "__main__":
    main()
