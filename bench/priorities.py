"""How long a request waits for its first token among others that nobody waits for: beside answers
of the priority "batch", of which 200 are always queued, the same short request comes again and
again with each priority."""

import json
import random
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

from servers import GREEDY, IDS, bench_command, bench_result, first_token_ms, metric
from subjects import OURS
from table import Row, figure

PRIORITIES = ("realtime", "interactive", "batch")
QUEUED = 200
PROMPT = 32
TOKENS = 32  # Of each answer of the crowd.
CONTEXT = 256
ROUNDS = 3  # Requests of the crowd for each of its places.
PROBES_MAX = 20  # Of each priority.
STEPS_MAX = 2
# The crowd is on one connection, and a probe of its own class is to come to its end.
FLAGS = ("--max-streams-per-connection", "1024", "--queue-timeout-ms", "3600000")


class Crowd:
    """Keeps that many answers under way, until all of its requests were sent."""

    def __init__(self, subject, server, streams):
        flags = ("--connections", 1, "--concurrency", streams, "--requests", ROUNDS * streams,
                 "--warmup", streams // 2, "--prompt-tokens", PROMPT, "--max-tokens", TOKENS)
        command = bench_command(subject.binaries, server, "native", {"priority": "batch"}, flags)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def going(self):
        return self.process.poll() is None

    def result(self):
        return bench_result(self.process.communicate()[0])


def is_queue(server):
    """Whether more wait than a probe."""
    return metric(server, 'seedance_queue_depth{priority="batch"}') > 1


def probe(server, priority, draw):
    return first_token_ms(server, [draw.randint(*IDS) for _ in range(PROMPT)],
                          {"priority": priority})


def beside_crowd(subject, server, streams, seed):
    """Milliseconds to the first token of each probe, and what became of the crowd."""
    times = {priority: [] for priority in PRIORITIES}
    crowd = Crowd(subject, server, streams)
    while not is_queue(server):
        if not crowd.going():
            raise RuntimeError("nobody had to wait: the crowd is too small")

    def keep_probing(priority):
        draw = random.Random(f"{seed} {priority}")
        while is_queue(server) and len(times[priority]) < PROBES_MAX:
            times[priority].append(probe(server, priority, draw))

    with ThreadPoolExecutor(len(PRIORITIES)) as pool:
        probes = [pool.submit(keep_probing, priority) for priority in PRIORITIES]
        result = crowd.result()
        for each in probes:
            each.result()
    return times, result


def measure(of):
    streams = of.args.parallel + QUEUED
    seed = len(of.of("alone", OURS, "priorities"))
    subject = of.ours(of.args.parallel, CONTEXT, flags=FLAGS)
    with subject.running("priorities") as server:
        draw = random.Random(seed)
        alone = statistics.median([probe(server, "realtime", draw) for _ in range(9)][1:])
        times, crowd = beside_crowd(subject, server, streams, seed)
        parked = metric(server, "seedance_sequences_parked_total")
    step = crowd["itl_ms"]["p50"]
    subject.add("priorities", alone=alone, step=step, parked=parked,
                waited=crowd["queue_ms"]["max"] / 1000,
                ended=crowd["requests"]["succeeded"] + crowd["warmup"]["succeeded"])
    for priority, each in times.items():
        if each:
            middle = statistics.median(each)
            subject.add(("priorities", priority), probes=len(each), ttft=middle, longest=max(each),
                        steps=(middle - alone) / step, steps_max=(max(each) - alone) / step)


def rows(of):
    def values(name, priority=None):
        return of.of(name, OURS, ("priorities", priority) if priority else "priorities")

    def row(what, ours, wanted="", beside=""):
        return Row("4", of.model, f"{QUEUED} queued batch answers: {what}", ours, [], wanted,
                   beside, of.others("priorities"))

    probes = sum(values("probes", "realtime"))
    yield row("steps to a realtime request's first token beyond its prefill, median",
              values("steps", "realtime"), f"<= {STEPS_MAX}",
              f"TTFT {figure(values('ttft', 'realtime'))} ms, alone {figure(values('alone'))}; a "
              f"step takes {figure(values('step'))}; {probes:.0f} probes")
    yield row("the longest of these (steps)", values("steps_max", "realtime"), "",
              f"TTFT {figure(values('longest', 'realtime'))} ms; "
              f"{figure(values('parked'))} answers paused for them")
    for priority in PRIORITIES[1:]:
        yield row(f"TTFT of a request as short with priority {priority} (ms)",
                  values("ttft", priority), "", f"longest {figure(values('longest', priority))} ms")
    streams = of.args.parallel + QUEUED
    yield row("how many of them ended", values("ended"), f">= {ROUNDS * streams}",
              f"the longest wait of one {figure(values('waited'))} s; for proof with seeds: "
              "src/sched/batch_planner_priority_test.cc, src/core/priorities_test.cc")
