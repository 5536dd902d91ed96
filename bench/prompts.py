"""What a prompt costs when much of it is known, or when others wait for it.

  shared      64 requests at once that begin with the same 512 tokens, 16 own ones each
  turn        a conversation of 2,000 tokens goes on: time to the first token, both times
  entering    a prompt of 2,000 tokens enters while 32 answers are on their way
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

from peer_settings import SLOTS, UNIFIED
from servers import IDS, first_token_ms
from subjects import OURS, PEER
from table import Row, figure

SHARED_REQUESTS, SHARED_TOKENS, OWN_TOKENS = 64, 512, 16
SHARED_CONTEXT = SHARED_TOKENS + OWN_TOKENS + 64 + 48
SHARED_OUT = (8, 64)
CONVERSATION, MORE = 2000, 20
# llama-server takes no more than the models are made for.
LONG_CONTEXT = 2048
RUNNING = 32


def ask_shared(subject, out, *what):
    with subject.running(*what) as server:
        return subject.bench(server, "--concurrency", SHARED_REQUESTS, "--requests",
                             SHARED_REQUESTS, "--prefix-tokens", SHARED_TOKENS, "--prompt-tokens",
                             OWN_TOKENS, "--max-tokens", out)


def shared_kind(out):
    return f"shared, {out} out"


def settle_shared(of):
    """With few slots, most requests find the prefix in theirs; with many, more run at once."""
    for out in SHARED_OUT:
        def score(settings):
            subject = of.peer(SHARED_REQUESTS, SHARED_CONTEXT, settings)
            return 1e6 / ask_shared(subject, out, "search")["e2e_ms"]["max"]

        of.chosen.search(shared_kind(out), of.chosen.best(""), [SLOTS, UNIFIED], score)


def measure_shared(of):
    """A new server each time: none may know the prefix."""
    for out in SHARED_OUT:
        for subject in of.pair(shared_kind(out), SHARED_REQUESTS, SHARED_CONTEXT):
            result = ask_shared(subject, out, "shared", out)
            subject.add("shared", out, total=result["e2e_ms"]["max"] / 1000,
                        ttft=result["ttft_ms"]["p50"])


def rows_shared(of):
    for out in SHARED_OUT:
        total = "<= 0.35" if out == 8 else "<= 0.6" if of.model == "135m" else "<= 0.75"
        name = (f"{SHARED_REQUESTS} requests, {SHARED_TOKENS} tokens in common, {OWN_TOKENS} own, "
                f"{out} out")
        for figure_name, what, wanted in (("total", "all of it (s)", total),
                                          ("ttft", "TTFT p50 (ms)", "<= 0.2")):
            yield Row("2", of.model, f"{name}: {what}", of.of(figure_name, OURS, "shared", out),
                      of.of(figure_name, PEER, "shared", out), wanted, "",
                      of.others("shared", out))


def measure_turn(of):
    """The second prompt has the first one and 20 tokens more. An answer in between would be in
    memory like the prompt."""
    draw = random.Random(len(of.of("first", OURS, "turn")))
    warm, prompt, more = ([draw.randint(*IDS) for _ in range(count)]
                          for count in (32, CONVERSATION, MORE))
    for subject in of.pair("turn", 1, LONG_CONTEXT):
        with subject.running("turn") as server:
            first_token_ms(server, warm, subject.extra)
            first = first_token_ms(server, prompt, subject.extra)
            second = first_token_ms(server, prompt + more, subject.extra)
        subject.add("turn", first=first, second=second, share=second / first)


def rows_turn(of):
    def beside(who):
        return f"{figure(of.of('second', who, 'turn'))} of {figure(of.of('first', who, 'turn'))} ms"

    yield Row("2", of.model, f"{CONVERSATION} tokens go on: the second turn's TTFT to the first's",
              of.of("share", OURS, "turn"), [], "<= 0.1",
              f"{beside(OURS)}; peer {beside(PEER)}, {figure(of.of('share', PEER, 'turn'))}",
              of.others("turn"))


def enter(of, subject, server):
    """The answers alone, and again while the prompt enters. Those of a slow model are short, but
    last long enough."""
    answers = ("--concurrency", RUNNING, "--requests", RUNNING, "--prompt-tokens", 32,
               "--max-tokens", 512 if of.small else 256)
    alone = subject.bench(server, *answers, "--seed", 1)

    def later():
        time.sleep((0.4 if of.small else 0.25) * alone["elapsed_s"])
        return subject.bench(server, "--concurrency", 1, "--requests", 1, "--prompt-tokens",
                             CONVERSATION, "--max-tokens", 8, "--seed", 3)

    with ThreadPoolExecutor() as pool:
        entered = pool.submit(later)
        mixed = subject.bench(server, *answers, "--seed", 2)
        return alone["itl_ms"], mixed["itl_ms"], entered.result()["ttft_ms"]["p50"]


def measure_entering(of):
    for subject in of.pair("entering", RUNNING + 1, LONG_CONTEXT):
        with subject.running("entering") as server:
            alone, mixed, ttft = enter(of, subject, server)
        subject.add("entering", alone=alone["p99"], mixed=mixed["p99"],
                    growth=mixed["p99"] / alone["p99"], longest=mixed["max"], ttft=ttft)


def rows_entering(of):
    def values(name, who):
        return of.of(name, who, "entering")

    def beside(who):
        return f"{figure(values('mixed', who))} of {figure(values('alone', who))} ms"

    others = of.others("entering")
    name = f"{RUNNING} answers, and a prompt of {CONVERSATION} enters"
    yield Row("3", of.model, f"{name}: inter-token p99 to that without", values("growth", OURS),
              [], "<= 1.5",
              f"{beside(OURS)}; peer {beside(PEER)}, {figure(values('growth', PEER))}", others)
    yield Row("3", of.model, f"{name}: the longest gap (ms)", values("longest", OURS),
              values("longest", PEER), "", "", others)
    yield Row("3", of.model, f"{name}: its own TTFT (ms)", values("ttft", OURS),
              values("ttft", PEER), "<= 1.0", "", others)
