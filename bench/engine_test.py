"""What bench/engine.py measures where, what it wants of it, and that no part can spoil another."""
import contextlib
import io
import json
import types
import unittest
from unittest import mock

import engine
import prompts
import servers
import throughput
from subjects import OURS, PEER
from table import Row, Samples


class Wanted(unittest.TestCase):
    def test_of_the_ratio_to_llama_server(self):
        for model, load, streams, wanted in (
                ("15m", "short", 1, 0.97), ("135m", "short", 1, 0.97), ("demo", "short", 1, 0.97),
                ("15m", "short", 8, 1.4), ("15m", "short", 128, 1.4),
                ("135m", "short", 32, 1.0), ("135m", "short", 64, 1.1), ("135m", "short", 128, 1.1),
                ("15m", "long", 8, 1.0), ("15m", "long", 32, 1.1), ("15m", "long", 128, 1.1),
                ("135m", "long", 32, 1.0), ("demo", "short", 64, 1.0), ("demo", "long", 128, 1.0)):
            self.assertEqual(throughput.wanted(model, load, streams), f">= {wanted}")

    def rows(self, model, of_part):
        of = subjects(model)
        return {row.what: row.wanted for row in of_part(of)}

    def test_of_shared_prefixes(self):
        for model, totals in (("15m", ["<= 0.35", "<= 0.75"]), ("135m", ["<= 0.35", "<= 0.6"])):
            wanted = self.rows(model, prompts.rows_shared)
            self.assertEqual([bound for what, bound in wanted.items() if "all of it" in what],
                             totals)
            self.assertEqual({bound for what, bound in wanted.items() if "TTFT" in what},
                             {"<= 0.2"})


class Points(unittest.TestCase):
    def points(self, load, sampling, small, streams=(), all_points=False):
        args = types.SimpleNamespace(streams=list(streams), all_points=all_points)
        return throughput.points(load, sampling, small, args)

    def test_short_prompts_at_all_streams(self):
        for sampling in ("greedy", "sampled"):
            self.assertEqual(self.points("short", sampling, True), [1, 8, 32, 64, 128])
        self.assertEqual(self.points("short", "greedy", False), [1, 8, 32, 64, 128])

    def test_those_that_take_minutes_only_when_asked_for(self):
        self.assertEqual(self.points("long", "greedy", False), [8, 32])
        self.assertEqual(self.points("long", "greedy", False, all_points=True), [8, 32, 128])
        self.assertEqual(self.points("long", "sampled", False, all_points=True), [8, 32, 128])

    def test_only_those_that_are_asked_for(self):
        self.assertEqual(self.points("short", "greedy", True, [64, 2]), [64])


def subjects(model="15m", small=True):
    """Without a server or a model."""
    args = types.SimpleNamespace(streams=[], all_points=False, parallel=64, memory_requests=2000)
    of = types.SimpleNamespace(model=model, small=small, args=args, samples=Samples())
    of.of = lambda name, *whose: of.samples.of(whose, name)
    of.others = lambda *what: of.of("others", OURS, *what) + of.of("others", PEER, *what)
    return of


class Rows(unittest.TestCase):
    def test_name_every_criterion_also_where_nothing_was_measured(self):
        rows = [row for part in engine.PARTS.values() for row in part.rows(subjects())]
        self.assertEqual({row.criterion for row in rows}, set("1234567"))
        self.assertEqual({row.verdict() for row in rows}, {"", "no figure"})

    def test_of_throughput_have_the_peer_the_bare_rate_and_what_stands_beside(self):
        of = subjects()
        for name, rate in ((OURS, 30), (PEER, 20)):
            of.samples.add((name, "short", "greedy", 8), rate=rate, ttft=1, client=5, others=0.1)
        of.samples.add(("batched-bench", "short", 8), rate=32)
        ours, bare = [row for row in throughput.rows(of, "short")
                      if "greedy, 8 at" in row.what]
        self.assertEqual((ours.ratio(), ours.wanted, ours.verdict()), (1.5, ">= 1.4", "met"))
        self.assertEqual((bare.wanted, bare.verdict()), (">= 0.92", "met"))
        self.assertIn("the client took 5 %", ours.beside)
        self.assertTrue(ours.busy())

    def test_a_part_that_fails_becomes_a_row_and_is_not_tried_again(self):
        calls = []

        def fails(of):
            calls.append(of)
            raise RuntimeError("no such\nmodel")

        good = engine.Part("3", lambda of: [Row("3", of.model, "good", [1], wanted=">= 1")])
        parts = {"bad": engine.Part("2", lambda of: [], fails), "good": good}
        args = types.SimpleNamespace(parts=list(parts))
        with mock.patch.object(engine, "PARTS", parts), \
                mock.patch.object(engine, "Subjects", lambda *_: subjects()), \
                contextlib.redirect_stderr(io.StringIO()):
            run = engine.Run("15m", args, None)
            run.repeat(0)
            run.repeat(1)
        bad, fine = run.rows()
        self.assertEqual(len(calls), 1)
        self.assertEqual((bad.verdict(), bad.beside), ("no figure", "RuntimeError: no such model"))
        self.assertEqual(fine.verdict(), "met")


class Flags(unittest.TestCase):
    def test_defaults(self):
        args = engine.flags().parse_args([])
        self.assertEqual(args.models, ["15m", "135m", "demo"])
        self.assertEqual((args.repeat, args.memory_requests, args.api, args.journal),
                         (5, 2000, "completions", "none"))
        self.assertEqual(args.parts, list(engine.PARTS))

    def test_lists(self):
        args = engine.flags().parse_args(["--parts", "short,turn", "--streams", "1,64", "--json"])
        self.assertEqual((args.parts, args.streams, args.json), (["short", "turn"], [1, 64], True))


class Results(unittest.TestCase):
    def test_of_a_load_that_failed_are_none(self):
        good = {"errors": {}, "tokens_per_s": 1}
        self.assertEqual(servers.bench_result(json.dumps(good)), good)
        bad = json.dumps({"errors": {"overloaded": 1}, "error_messages": {"overloaded": "full"}})
        with self.assertRaisesRegex(RuntimeError, "full"):
            servers.bench_result(bad)


if __name__ == "__main__":
    unittest.main()
