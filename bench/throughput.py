"""Output tokens/s at each number of streams, with short and with long prompts, greedy and sampled,
beside llama-server at its best and llama-batched-bench, which has no server around it."""

import dataclasses
import os

import servers
from peer_settings import BACKEND_SAMPLING, EVERYTHING
from subjects import OURS, PEER, PEER_GREEDY
from table import Row, figure

TOKENS = 64
SAMPLED = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}
# Members of a request to ours, and to the peer, which has other samplers in its chain by default.
# It would else look for the last prompt of each slot, which none of these begins like.
ASKED = {"greedy": ({}, {"cache_prompt": False, **PEER_GREEDY}),
         "sampled": (SAMPLED, {"cache_prompt": False, "samplers": ["top_k", "top_p", "temperature"],
                               **SAMPLED})}
OF_BATCHED_BENCH = {"greedy": 0.92, "sampled": 0.88}


@dataclasses.dataclass(frozen=True)
class Load:
    prompt_tokens: int
    points: dict  # Streams at which it is measured, by how tokens are chosen.
    slow_points: dict  # Likewise, where a point takes minutes.
    requests_min: int  # Of a small model, so that a measurement takes seconds.

    @property
    def context(self):
        return self.prompt_tokens + TOKENS + 32


LOADS = {
    "short": Load(32, {"greedy": (1, 8, 32, 64, 128), "sampled": (1, 8, 32, 64, 128)},
                  {"greedy": (1, 8, 32, 64, 128), "sampled": (64,)}, 80),
    "long": Load(512, {"greedy": (8, 32, 128), "sampled": (8, 32)},
                 {"greedy": (8, 32), "sampled": ()}, 40),
}
SEARCH_STREAMS = {"short": 64, "long": 32}
REQUESTS_MIN_SLOW = 8
ROUNDS, ROUNDS_SLOW = 6, 3
RAW_ROUNDS = 3


def points(load, sampling, small, args):
    """All of `points` where that is asked for; else no more than a few minutes allow."""
    every = LOADS[load].points if small or args.all_points else LOADS[load].slow_points
    known = LOADS[load].points["greedy"] if args.all_points else every[sampling]
    return [streams for streams in known if not args.streams or streams in args.streams]


def kind(load, sampling):
    return f"{load} {sampling}"


def run(subject, load, streams, small, *what):
    """The window is several rounds of requests, without the half that warms up and the one that
    empties the server: whoever computes all prompts of a round before its answers would in one
    alone have more of these, or less, than is true."""
    rounds = ROUNDS if small else ROUNDS_SLOW
    requests = max(rounds * streams, LOADS[load].requests_min if small else REQUESTS_MIN_SLOW)
    with subject.running(*what) as server:
        result = subject.bench(server, "--concurrency", streams, "--requests", requests,
                               "--warmup", max(1, streams // 2), "--prompt-tokens",
                               LOADS[load].prompt_tokens, "--max-tokens", TOKENS)
    if result["tokens_per_s"] is None:
        raise RuntimeError(f"{requests} requests at {streams} streams left no window")
    return result


def pair(of, load, sampling, streams):
    ours, theirs = ASKED[sampling]
    context = LOADS[load].context
    return (of.ours(streams, context, ours),
            of.peer(streams, context, of.chosen.best(kind(load, sampling)), theirs))


def settle(of, load):
    """Which settings the peer gets: searched for greedily, and where tokens are sampled only how
    that is done best."""
    streams = SEARCH_STREAMS[load]
    for sampling, ladders in (("greedy", EVERYTHING), ("sampled", [BACKEND_SAMPLING])):
        if not points(load, sampling, of.small, of.args):
            continue

        def score(settings):
            subject = of.peer(streams, LOADS[load].context, settings, ASKED[sampling][1])
            return run(subject, load, streams, of.small, "search")["tokens_per_s"]

        start = dataclasses.replace(of.chosen.best(kind(load, "greedy")), backend_sampling=False)
        of.chosen.search(kind(load, sampling), start, ladders, score)


def measure(of, load):
    for sampling in ASKED:
        for streams in points(load, sampling, of.small, of.args):
            what = (load, sampling, streams)
            for subject in pair(of, load, sampling, streams):
                result = run(subject, load, streams, of.small, *what)
                busy = result["client_cpu_s"] / max(result["client_cpu_over_s"], 1e-3)
                subject.add(*what, rate=result["tokens_per_s"], ttft=result["ttft_ms"]["p50"],
                            client=100 * busy / os.cpu_count())
    greedy = points(load, "greedy", of.small, of.args)
    if not greedy:
        return
    # The first is thrown away: it meets memory that nobody has written to yet.
    for each in servers.batched_bench(of.binaries, of.file, of.args.threads,
                                      [greedy[0], *greedy * RAW_ROUNDS],
                                      LOADS[load].prompt_tokens, TOKENS)[1:]:
        of.samples.add(("batched-bench", load, each["pl"]),
                       rate=each["pl"] * each["tg"] / each["t"])


def wanted(model, load, streams):
    """Of the ratio to llama-server."""
    if streams == 1:
        return ">= 0.97"
    if (model, load) == ("15m", "short"):
        return ">= 1.4"
    if (model, load) == ("135m", "short") and streams >= 64:
        return ">= 1.1"
    if (model, load) == ("15m", "long") and streams >= 32:
        return ">= 1.1"
    return ">= 1.0"


def rows(of, load):
    for sampling in ASKED:
        for streams in points(load, sampling, of.small, of.args):
            what = (load, sampling, streams)
            prompt = LOADS[load].prompt_tokens
            name = f"{prompt}-token prompts, {sampling}, {streams} at once: tokens/s"
            ours, others = of.of("rate", OURS, *what), of.others(*what)
            beside = (f"TTFT p50 {figure(of.of('ttft', OURS, *what))} ms, peer "
                      f"{figure(of.of('ttft', PEER, *what))} ms; the client took "
                      f"{figure(of.of('client', OURS, *what))} % of the CPUs, with the peer "
                      f"{figure(of.of('client', PEER, *what))} %")
            yield Row("1", of.model, name, ours, of.of("rate", PEER, *what),
                      wanted(of.model, load, streams), beside, others)
            raw = of.of("rate", "batched-bench", load, streams)
            if raw:
                yield Row("1", of.model, f"{name}, of batched-bench", ours, raw,
                          f">= {OF_BATCHED_BENCH[sampling]}", "", others)
