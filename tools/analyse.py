#!/usr/bin/env python3
"""Looks at every source with a second pair of eyes, and only at what changed since it was clean.

    tools/analyse.py tidy [WORD]...   clang-tidy over src/, apps/ and bench/
    tools/analyse.py gcc [WORD]...    g++-12 compiles the pure modules, which must not need clang

Takes the commands from build/dev/compile_commands.json. With words, only sources whose path
contains one of them. A source is clean until it, one of our headers it includes, its flags or
.clang-tidy change: build/analysed/ holds a mark for each such state.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading

from tidy import ARCHITECTURE, Modules, module_of

BUILD = "build/dev"
MARKS = "build/analysed"
TIDY = "clang-tidy-22"
GCC = "g++-12"
SEEN = re.compile(r"^(src|apps|bench)/.*\.cc$")
# Two warnings off: a GoogleTest assertion as the body of an if is no dangling else, and what a
# designated initializer leaves out has its default.
GCC_FLAGS = ["-fsyntax-only", "-std=c++23", "-Wall", "-Wextra", "-Werror", "-Wno-dangling-else",
             "-Wno-missing-field-initializers"]


def sources(words):
    """(path, compile command) of each source that a target builds."""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        for entry in json.load(file):
            path = os.path.relpath(entry["file"])
            if SEEN.match(path) and (not words or any(word in path for word in words)):
                yield path, shlex.split(entry["command"])


def without_output(command):
    at = command.index("-o")
    return command[:at] + command[at + 2:]


def state(command, check):
    """Names all that the outcome depends on, or nothing if the source does not compile."""
    listed = subprocess.run(without_output(command) + ["-MM"], capture_output=True, text=True)
    if listed.returncode:
        return None
    digest = hashlib.sha256(json.dumps([command, check]).encode())
    for path in listed.stdout.replace("\\\n", " ").split()[1:]:
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def tidy_check():
    with open(".clang-tidy", encoding="utf-8") as file:
        config = file.read()
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True)

    def command(path, _):
        # Tests may be slow, if that makes them shorter.
        less = ["--checks=-performance-*"] if path.endswith("_test.cc") else []
        return [TIDY, "--quiet", "-p", BUILD, *less, path]
    return [TIDY, config, version.stdout], command


def gcc_check():
    def command(path, compile_command):
        kept = [word for word in compile_command if word.startswith(("-I", "-D"))]
        for i, word in enumerate(compile_command):
            if word == "-isystem":
                kept += compile_command[i:i + 2]
        return [GCC, *GCC_FLAGS, *kept, path]
    return [GCC, *GCC_FLAGS], command


def main(arguments):
    if not arguments or arguments[0] not in ("tidy", "gcc"):
        print(__doc__)
        return 2
    kind, words = arguments[0], arguments[1:]
    check, command_for = tidy_check() if kind == "tidy" else gcc_check()
    jobs = dict(sources(words))
    if kind == "gcc":
        with open(ARCHITECTURE, encoding="utf-8") as file:
            pure = Modules(file.read()).pure
        jobs = {path: command for path, command in jobs.items() if module_of(path) in pure}
    os.makedirs(MARKS, exist_ok=True)
    lock, counts = threading.Lock(), {"clean": 0, "kept": 0, "bad": 0}

    def look(path):
        name = state(jobs[path], check)
        mark = f"{MARKS}/{kind}-{name}"
        if name and os.path.exists(mark):
            outcome, said = "kept", ""
        else:
            done = subprocess.run(command_for(path, jobs[path]), capture_output=True, text=True)
            outcome, said = "bad" if done.returncode else "clean", done.stdout + done.stderr
            if name and outcome == "clean":
                open(mark, "w", encoding="utf-8").close()
        with lock:
            counts[outcome] += 1
            seen = sum(counts.values())
            if outcome == "bad":
                print(said.strip(), flush=True)
            if outcome == "bad" or seen % 20 == 0:
                print(f"{kind}: {seen}/{len(jobs)} {path}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(look, sorted(jobs)))
    print(f"{kind}: {len(jobs)} sources, {counts['bad']} with complaints, "
          f"{counts['kept']} unchanged since they were clean")
    return 1 if counts["bad"] or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
