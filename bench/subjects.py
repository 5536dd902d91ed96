"""Ours and the peer, on one model, ready to be started and asked in turns."""

import contextlib
import dataclasses

import common
import machine
import servers
from peer_settings import Chosen
from table import Samples

OURS, PEER = "seedance", "llama-server"
# The least it can choose greedily with.
PEER_GREEDY = {"top_k": 1, "samplers": ["top_k"]}


@dataclasses.dataclass
class Subject:
    """One server, not started yet. Both are asked by the same client and API."""

    name: str
    api: str
    extra: dict  # Members of each request.
    start: object  # Gives a context with the running server.
    binaries: servers.Binaries
    samples: Samples

    @contextlib.contextmanager
    def running(self, *what):
        """Notes what others took of the CPUs until it has ended."""
        watch = machine.Watch()
        with self.start() as server:
            yield server
        self.add(*what, others=watch.others())

    def bench(self, server, *flags):
        return servers.bench(self.binaries, server, self.api, self.extra, *flags)

    def add(self, *what, **numbers):
        self.samples.add((self.name, *what), **numbers)


class Subjects:
    """What is measured of one model, and what came of it."""

    def __init__(self, model, args, binaries):
        self.model, self.args, self.binaries = model, args, binaries
        self.file = common.model_file(model)
        self.small = common.is_small(self.file)
        self.samples = Samples()
        self.chosen = Chosen(binaries, self.file, args.threads, args.search == "again")

    def shape(self, parallel, context):
        return servers.Shape(self.args.threads, parallel, context)

    def ours(self, streams, context, extra=None, api=None, flags=()):
        shape = self.shape(max(streams, self.args.parallel), context)

        def start():
            return servers.seedance(self.binaries, self.file, shape,
                                    ("--journal", self.args.journal, *flags))
        return Subject(OURS, api or self.args.api, extra or {}, start, self.binaries, self.samples)

    def peer(self, streams, context, settings, extra=None):
        shape = self.shape(settings.slots(streams), context)

        def start():
            return servers.llama_server(self.binaries, self.file, shape, settings.flags())
        return Subject(PEER, "completions", extra or PEER_GREEDY, start, self.binaries,
                       self.samples)

    def pair(self, kind, streams, context):
        """Greedy ones, and the peer keeps prompts, as ours does."""
        return (self.ours(streams, context),
                self.peer(streams, context, self.chosen.best(kind)))

    def of(self, name, *whose):
        return self.samples.of(whose, name)

    def others(self, *what):
        return self.of("others", OURS, *what) + self.of("others", PEER, *what)
