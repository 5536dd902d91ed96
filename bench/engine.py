#!/usr/bin/env python3
"""Measures how the model is scheduled, beside llama.cpp's own server on the same model, in turns in
one run, and prints all of it as one table, with what is wanted of each row.

  engine.py                                  everything, for three models: more than an hour
  engine.py --models 15m                     for one
  engine.py --parts short --streams 1,64 --repeat 1
  engine.py --parts search --models 15m      only llama-server's best settings

  criterion  part
  1          short, long    tokens/s at 1 to 128 streams, prompts of 32 and of 512 tokens
  2          shared, turn   prompts of which much is known
  3          entering       a long prompt among running answers
  4          priorities     a realtime request among 200 queued batch ones
  5, 6       cells, faults  more requests than room; names the tests
  7          memory         of the worker, after many requests

Writes build/bench/engine.json after each repetition. What goes wrong in one part leaves the others
alone, and becomes a row. Ctrl-C ends it with a table of what there is.
"""

import dataclasses
import functools
import json
import sys
import time
import traceback
from typing import Callable

import common
import limits
import machine
import priorities
import prompts
import servers
import table
import throughput
from common import say
from subjects import Subjects


def nothing(_):
    pass


@dataclasses.dataclass(frozen=True)
class Part:
    criterion: str
    rows: Callable  # What came of it, as rows.
    measure: Callable = nothing  # Once, ours and the peer.
    settle: Callable = nothing  # What must be known of the peer before.
    once: bool = False  # Not in every repetition.


def load(name):
    return Part("1", functools.partial(throughput.rows, load=name),
                functools.partial(throughput.measure, load=name),
                functools.partial(throughput.settle, load=name))


PARTS = {
    "short": load("short"),
    "long": load("long"),
    "shared": Part("2", prompts.rows_shared, prompts.measure_shared, prompts.settle_shared),
    "turn": Part("2", prompts.rows_turn, prompts.measure_turn),
    "entering": Part("3", prompts.rows_entering, prompts.measure_entering),
    "priorities": Part("4", priorities.rows, priorities.measure),
    "cells": Part("5", limits.rows_cells, limits.measure_cells, once=True),
    "faults": Part("6", limits.rows_faults),
    "memory": Part("7", limits.rows_memory, limits.measure_memory, once=True),
}
SEARCH = "search"


class Run:
    """All parts that are asked for, of one model."""

    def __init__(self, model, args, binaries):
        self.of, self.args = Subjects(model, args, binaries), args
        self.parts = {name: PARTS[name] for name in PARTS if name in args.parts}
        self.failed = {}  # Why, by part.

    def attempt(self, name, work):
        if name in self.failed:
            return
        watch = machine.Watch()
        began = time.monotonic()
        try:
            work(self.of)
        except Exception as error:  # The others are worth their time all the same.
            self.failed[name] = f"{type(error).__name__}: {error}".replace("\n", " ")
            traceback.print_exc()
        if work is not nothing:
            say(f"  {self.of.model} {name}: {time.monotonic() - began:.0f} s; others took "
                f"{100 * watch.others():.0f} % of the CPUs")

    def settle(self):
        for name, part in self.parts.items():
            if self.args.search != "never":
                self.attempt(name, part.settle)

    def repeat(self, repetition):
        for name, part in self.parts.items():
            if repetition == 0 or not part.once:
                self.attempt(name, part.measure)

    def rows(self):
        for name, part in self.parts.items():
            yield from part.rows(self.of)
            if name in self.failed:
                yield table.Row(part.criterion, self.of.model, f"{name} failed",
                                wanted="a figure", beside=self.failed[name])


def contents(args, binaries, runs):
    rows = [row.as_json() for run in runs for row in run.rows()]
    peers = {run.of.model: run.of.chosen.kinds for run in runs}
    return {"versions": versions(binaries), "threads": args.threads, "repeat": args.repeat,
            "api": args.api, "journal": args.journal, "peer_settings": peers, "rows": rows}


def versions(binaries):
    ours = json.loads(servers.output([binaries.seedance, "version", "--json"]))
    peer = machine.field(servers.output([binaries.llama_server, "--version"]), "version")
    return {"seedance": ours["seedance"], "its llama.cpp": ours["llama_cpp"], "llama-server": peer}


def measure(args, binaries, runs):
    for model in args.models:
        run = Run(model, args, binaries)
        runs.append(run)
        run.settle()
        if SEARCH in args.parts:
            continue
        for repetition in range(args.repeat):
            began = time.monotonic()
            run.repeat(repetition)
            minutes = (time.monotonic() - began) / 60
            common.write("engine", args, contents(args, binaries, runs))
            say(f"{model}: repetition {repetition + 1} of {args.repeat} took {minutes:.1f} min; "
                f"about {minutes * (args.repeat - repetition - 1):.0f} are left of this model")


def print_results(args, binaries, runs):
    if args.json:
        print(json.dumps({"machine": args.machine, **contents(args, binaries, runs)}, indent=1))
        return
    rows = [row for run in runs for row in run.rows()]
    which = ", ".join(f"{name} {version}" for name, version in versions(binaries).items())
    print(f"{machine.sentence(args.machine)}.\n\n{which}; {args.threads} threads each; medians of "
          f"{args.repeat} [least most]; ours over {args.api}, journal: {args.journal}.\n")
    for run in runs:
        for kind in run.of.chosen.kinds:
            print(f"- llama-server, {run.of.model}, {kind}: `{run.of.chosen.best(kind)}`")
    print(f"\n{table.markdown(rows)}\n\n{table.summary(rows)}")


def flags():
    parser = common.parser(__doc__)
    common.add_model_flags(parser, ["15m", "135m", "demo"], 5)
    parser.add_argument("--parts", type=common.words, default=list(PARTS),
                        help=f"of {', '.join(PARTS)}; {SEARCH} with others: only settle the peer's "
                             "settings")
    parser.add_argument("--streams", type=common.numbers, default=[],
                        help="only these, for short and long")
    parser.add_argument("--all-points", action="store_true",
                        help="also those of short and long that take many minutes")
    parser.add_argument("--memory-requests", type=int, default=2000)
    parser.add_argument("--api", choices=["completions", "native"], default="completions",
                        help="of ours; the peer has only the first (%(default)s)")
    parser.add_argument("--journal", choices=["none", "file"], default="none",
                        help="of ours; the peer has none (%(default)s)")
    parser.add_argument("--search", choices=["once", "again", "never"], default="once",
                        help="for the peer's best settings; never: what is kept, or its defaults "
                             "(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    servers.add_flags(parser)
    return parser


def main():
    parser = flags()
    args = common.parse(parser)
    unknown = set(args.parts) - {*PARTS, SEARCH}
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    if args.parts == [SEARCH]:
        args.parts = [SEARCH, *PARTS]
    binaries = servers.Binaries(args)
    say(machine.sentence(args.machine))
    runs = []
    try:
        measure(args, binaries, runs)
    except KeyboardInterrupt:
        say("interrupted")
    print_results(args, binaries, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
