"""What the measurements share: flags, models, and where results go."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import machine

ROOT = machine.ROOT
OUT = ROOT / "build/bench"
DEMO = ROOT / "models/demo/demo.gguf"


def words(text):
    return text.split(",")


def numbers(text):
    return [int(number) for number in text.split(",")]


def parser(doc):
    return argparse.ArgumentParser(description=doc,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def add_model_flags(to, models, repeat):
    """For what runs models."""
    to.add_argument("--models", type=words, default=models,
                    help="presets of make_model.py, demo, or .gguf files")
    to.add_argument("--repeat", type=int, default=repeat, help="medians of so many (%(default)s)")
    to.add_argument("--threads", type=int, default=2)


def parse(of):
    """The flags, and what machine it was before anything ran."""
    args = of.parse_args()
    args.machine = machine.description()
    return args


def model_file(name):
    if name == "demo":
        return str(DEMO)
    if name.endswith(".gguf"):
        return name
    path = OUT / f"{name}.gguf"
    if not path.exists():
        maker = pathlib.Path(__file__).with_name("make_model.py")
        subprocess.run([sys.executable, maker, "--preset", name, "--out", path], check=True,
                       stdout=sys.stderr)
    return str(path)


def is_small(model):
    """Whether it answers in an instant, so that a measurement takes many requests."""
    return os.path.getsize(model) < 100e6


def say(text):
    """Of how it goes: not what was asked for, which goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def write(name, args, content):
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{name}.json"
    path.write_text(json.dumps({"machine": args.machine, **content}, indent=1) + "\n")
    say(f"written: {path}")
