"""How the peer's best settings are searched for and kept."""
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import peer_settings
from peer_settings import Chosen, Settings, climb


class Climb(unittest.TestCase):
    LADDERS = [[{"slots_max": 32}, {"slots_max": 16}, {"slots_max": 8}], [{"unified": True}]]

    def test_goes_on_while_it_improves(self):
        rates = {0: 100, 32: 110, 16: 120, 8: 90}
        best, tried = climb(Settings(), self.LADDERS, lambda each: rates[each.slots_max])
        self.assertEqual(best, Settings(slots_max=16))
        self.assertEqual([each.slots_max for each, _ in tried], [0, 32, 16, 8, 16])

    def test_stops_where_a_step_does_not_improve(self):
        rates = {0: 100, 32: 90, 16: 200}
        best, tried = climb(Settings(), self.LADDERS, lambda each: rates[each.slots_max])
        self.assertEqual(best, Settings())
        self.assertEqual(len(tried), 3)  # Its own, 32 slots, unified.

    def test_chance_is_no_improvement(self):
        best, _ = climb(Settings(), self.LADDERS, lambda each: 102 if each.unified else 100)
        self.assertEqual(best, Settings())

    def test_each_ladder_begins_at_the_best_so_far(self):
        best, _ = climb(Settings(), self.LADDERS,
                        lambda each: (each.slots_max == 32) + 2 * each.unified + 1)
        self.assertEqual(best, Settings(slots_max=32, unified=True))


class Flags(unittest.TestCase):
    def test_slots(self):
        self.assertEqual(Settings().slots(128), 128)
        self.assertEqual(Settings(slots_max=32).slots(128), 32)
        self.assertEqual(Settings(slots_max=32).slots(8), 8)

    def test_flags(self):
        self.assertEqual(Settings().flags(), ("--no-kv-unified", "-b", "2048", "-ub", "512"))
        self.assertEqual(Settings(unified=True, batch=512, ubatch=128,
                                  backend_sampling=True).flags(),
                         ("--kv-unified", "-b", "512", "-ub", "128", "--backend-sampling"))


class Kept(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.out = pathlib.Path(directory.name)
        self.model = self.out / "model.gguf"
        self.model.write_bytes(b"gguf")
        self.binaries = types.SimpleNamespace(llama_server=__file__)
        self.others = 0.0
        watch = types.SimpleNamespace(others=lambda: self.others)
        for patch in (mock.patch.object(peer_settings, "OUT", self.out),
                      mock.patch.object(peer_settings.machine, "Watch", lambda: watch),
                      mock.patch.object(peer_settings, "say", lambda _: None)):
            patch.start()
            self.addCleanup(patch.stop)

    def chosen(self, threads=2, again=False):
        return Chosen(self.binaries, str(self.model), threads, again)

    def search(self, chosen):
        scores = []

        def score(settings):
            scores.append(settings)
            return 2 if settings.unified else 1

        chosen.search("short", Settings(), [peer_settings.UNIFIED], score)
        return scores

    def test_is_searched_for_once(self):
        self.assertEqual(len(self.search(self.chosen())), 2)
        later = self.chosen()
        self.assertEqual(self.search(later), [])
        self.assertEqual(later.best("short"), Settings(unified=True))

    def test_is_searched_for_again_where_that_is_asked_or_something_else_is_measured(self):
        self.search(self.chosen())
        self.assertEqual(len(self.search(self.chosen(again=True))), 2)
        self.assertEqual(len(self.search(self.chosen(threads=4))), 2)
        self.model.write_bytes(b"another")
        self.assertEqual(len(self.search(self.chosen(threads=4))), 2)

    def test_settings_that_the_peer_fails_with_are_not_chosen(self):
        def score(settings):
            if settings.unified:
                raise RuntimeError("not possible")
            return 1

        chosen = self.chosen()
        chosen.search("short", Settings(), [peer_settings.UNIFIED], score)
        self.assertEqual(chosen.best("short"), Settings())

    def test_is_searched_for_again_where_others_used_the_machine(self):
        self.others = 0.2
        self.search(self.chosen())
        self.assertEqual(len(self.search(self.chosen())), 2)

    def test_a_kind_that_was_not_searched_for_has_the_defaults(self):
        self.assertEqual(self.chosen().best("turn"), Settings())


if __name__ == "__main__":
    unittest.main()
