"""What becomes of more requests than there is room for, of faults, and of memory over time."""

import json
import subprocess

from machine import children, resident_kb
from servers import worker_of
from subjects import OURS, PEER
from table import Row, figure

# Cells for 16 sequences of as many tokens as the longest request may have.
SEQUENCES, LONGEST, REQUESTS = 16, 256, 64
CELLS_TEST = ("src/llama/runner_memory_test.cc, FinishesAllOfMoreJobsThanThereIsRoomFor: each is "
              "what a lone forward pass chooses")
FAULTS_TEST = "tests/e2e/faults.test.mjs"
MEMORY_STREAMS, MEMORY_CONTEXT = 64, 256
MEMORY_MB_MAX = 100


def measure_cells(of):
    """Everything at once, prompts of all lengths."""
    subject = of.ours(REQUESTS, LONGEST, flags=("--kv-tokens", str(SEQUENCES * LONGEST)))
    with subject.running("cells") as server:
        result = subject.bench(server, "--concurrency", REQUESTS, "--requests", REQUESTS,
                               "--prompt-tokens", f"16:{LONGEST - 64}", "--max-tokens", 63)
    subject.add("cells", ended=result["requests"]["succeeded"])


def rows_cells(of):
    yield Row("5", of.model, f"cells for {SEQUENCES} sequences, {REQUESTS} requests of mixed "
              "length: how many end", of.of("ended", OURS, "cells"), [], f">= {REQUESTS}",
              CELLS_TEST, of.others("cells"))


def rows_faults(of):
    yield Row("6", of.model, "out of memory, abort and hang at load, prefill and decode: a test, "
              "no figure", beside=FAULTS_TEST)


def all_resident_mb(pid):
    """With its children."""
    own = resident_kb(pid) * 1024 / 1e6
    return own + sum(all_resident_mb(child) for child in children(pid))


def weights_and_tokens_mb(of, shape):
    """What `seedance fit` says that weights and the memory of all streams take."""
    words = [of.binaries.seedance, "fit", of.file, "--json", "--parallel", str(shape.parallel),
             "--ctx-size", str(shape.context)]
    devices = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["devices"]
    return sum(each["weights_bytes"] + each["streams_bytes"] for each in devices) / 1e6


def measure_memory(of):
    """Half of the requests, then the others: what is left when weights and tokens are taken off,
    and how much of it the second half added."""
    for subject in of.pair("memory", MEMORY_STREAMS, MEMORY_CONTEXT):
        half = ("--concurrency", MEMORY_STREAMS, "--requests", of.args.memory_requests // 2,
                "--prompt-tokens", "8:64", "--max-tokens", 8)
        with subject.running("memory") as server:
            subject.bench(server, *half, "--seed", 1)
            pid = worker_of(server) if subject.name == OURS else server.pid
            before = all_resident_mb(pid)
            subject.bench(server, *half, "--seed", 2)
            after = all_resident_mb(pid)
        shape = of.shape(MEMORY_STREAMS, MEMORY_CONTEXT)
        subject.add("memory", beyond=after - weights_and_tokens_mb(of, shape),
                    grown=after - before)


def rows_memory(of):
    def beside(who):
        return (f"{figure(of.of('beyond', who, 'memory'))} MB, of which the second half "
                f"{figure(of.of('grown', who, 'memory'))}")

    yield Row("7", of.model, f"after {of.args.memory_requests} requests: resident beyond weights "
              "and tokens (MB)", of.of("beyond", OURS, "memory"), [], f"<= {MEMORY_MB_MAX}",
              f"{beside(OURS)}; llama-server {beside(PEER)}", of.others("memory"))
