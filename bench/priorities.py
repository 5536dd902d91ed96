"""How long a request waits for its first token among others that nobody waits for: beside answers
of the priority "batch", of which 200 are always queued, the same short request comes again and
again with each priority. One more answer, of class realtime, is given a token by every step: how
many of its tokens come meanwhile says how many steps a request waited for."""

import bisect
import random
import statistics
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from servers import (IDS, ask, bench_command, bench_result, first_token, first_token_ms,
                     metric)
from subjects import OURS
from table import Row, figure

PRIORITIES = ("realtime", "interactive", "batch")
QUEUED = 200
PROMPT = 32
TOKENS = 32  # Of each answer of the crowd.
CONTEXT = 2048
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


class Metronome:
    """An answer that every step gives a token, and when each came."""

    def __init__(self, server, draw):
        self.times = []
        self.lines = ask(server, prompt_of(draw), CONTEXT - PROMPT, {"priority": "realtime"})
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.lines:
            if b'"error"' in line:
                raise RuntimeError(line.decode())
            self.times.append(time.monotonic())

    def going(self):
        return self.thread.is_alive()

    def steps(self, began, came):
        """Those that ended between, with the one whose token came then."""
        behind = bisect.bisect(self.times, came)
        around = range(max(0, behind - 1), min(len(self.times), behind + 1))
        last = min(around, key=lambda index: abs(self.times[index] - came))
        return last + 1 - bisect.bisect(self.times, began)


def is_queue(server):
    """Whether more wait than a probe."""
    return metric(server, 'seedance_queue_depth{priority="batch"}') > 1


def prompt_of(draw):
    return [draw.randint(*IDS) for _ in range(PROMPT)]


def beside_crowd(subject, server, streams, seed):
    """Milliseconds and steps to the first token of each probe of each priority, and what became of
    the crowd."""
    probes = {priority: [] for priority in PRIORITIES}
    crowd = Crowd(subject, server, streams)
    while not is_queue(server):
        if not crowd.going():
            raise RuntimeError("nobody had to wait: the crowd is too small")
    metronome = Metronome(server, random.Random(seed))

    def keep_probing(priority):
        draw = random.Random(f"{seed} {priority}")
        while is_queue(server) and metronome.going() and len(probes[priority]) < PROBES_MAX:
            probes[priority].append(first_token(server, prompt_of(draw), {"priority": priority}))

    while not metronome.times:
        time.sleep(0.001)
    with ThreadPoolExecutor(len(PRIORITIES)) as pool:
        probing = [pool.submit(keep_probing, priority) for priority in PRIORITIES]
        result = crowd.result()
        for each in probing:
            each.result()
    metronome.thread.join()
    waits = {priority: [(1000 * (came - began), metronome.steps(began, came))
                        for began, came in each if came <= metronome.times[-1]]
             for priority, each in probes.items()}
    return waits, result


def measure(of):
    streams = of.args.parallel + QUEUED
    seed = len(of.of("alone", OURS, "priorities"))
    subject = of.ours(of.args.parallel, CONTEXT, flags=FLAGS)
    with subject.running("priorities") as server:
        draw = random.Random(seed)
        alone = statistics.median([first_token_ms(server, prompt_of(draw),
                                                  {"priority": "realtime"})
                                   for _ in range(9)][1:])
        waits, crowd = beside_crowd(subject, server, streams, seed)
        parked = metric(server, "seedance_sequences_parked_total")
    subject.add("priorities", alone=alone, step=crowd["itl_ms"]["p50"], parked=parked,
                waited=crowd["queue_ms"]["max"] / 1000,
                ended=crowd["requests"]["succeeded"] + crowd["warmup"]["succeeded"])
    for priority, each in waits.items():
        if each:
            times, steps = zip(*each, strict=True)
            subject.add(("priorities", priority), probes=len(each), ttft=statistics.median(times),
                        longest=max(times), steps=statistics.median(steps), steps_max=max(steps))


def rows(of):
    def values(name, priority=None):
        return of.of(name, OURS, ("priorities", priority) if priority else "priorities")

    def row(what, ours, wanted="", beside=""):
        return Row("4", of.model, f"{QUEUED} queued batch answers: {what}", ours, [], wanted,
                   beside, of.others("priorities"))

    probes = sum(values("probes", "realtime"))
    yield row("steps to a realtime request's first token, that of its prefill among them: median",
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
