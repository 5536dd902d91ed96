#!/usr/bin/env python3
"""Holds the demo model to its card: its figures are measured anew and may not be worse.

    card_test.py SEEDANCE_CARD MODEL_DIRECTORY [unittest arguments]
    card_test.py --print SEEDANCE_CARD MODEL_DIRECTORY    prints the figures beside the card's

The directory holds demo.gguf, heldout.jsonl and MODEL_CARD.md. What the card promises are the
numbers in the table rows `| held-out perplexity, at most | 2.50 |` and
`| file size, bytes, at most | 8000000 |`.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL, DIRECTORY = "", ""
FILE_BYTES_MAX = 8_000_000  # Whatever the card says: the file is part of every clone.
HELDOUT_TEXTS_MIN = 100
# Figure of the tool, and what the card calls it.
PROMISES = {"perplexity": "held-out perplexity, at most", "bytes": "file size, bytes, at most"}


def promises(card):
    """The figures that a card's text promises. A row that is missing or no number is an error."""
    found = {}
    for figure, row in PROMISES.items():
        values = re.findall(rf"^\| *{re.escape(row)} *\| *([^|]*?) *\|", card, re.MULTILINE)
        if len(values) != 1:
            raise ValueError(f"the card has {len(values)} rows '| {row} | NUMBER |', not one")
        found[figure] = float(values[0])
    return found


def broken(promised, measured):
    """One line for each figure that is worse than promised."""
    return [f"{PROMISES[figure]} {most:.12g}: it is {measured[figure]}"
            for figure, most in promised.items() if not measured[figure] <= most]


def measure(texts=None):
    """The tool's figures for the demo model, on its own held-out texts or on others."""
    model, heldout = (os.path.join(DIRECTORY, name) for name in ("demo.gguf", "heldout.jsonl"))
    if texts is None:
        done = subprocess.run([TOOL, model, heldout], capture_output=True, text=True, check=False)
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(texts)
            file.flush()
            done = subprocess.run([TOOL, model, file.name], capture_output=True, text=True,
                                  check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def read(name):
    with open(os.path.join(DIRECTORY, name), encoding="utf-8") as file:
        return file.read()


class Card(unittest.TestCase):
    def test_promises_are_kept(self):
        measured = measure()
        self.assertEqual(broken(promises(read("MODEL_CARD.md")), measured), [])
        self.assertLessEqual(measured["bytes"], FILE_BYTES_MAX)
        self.assertGreaterEqual(measured["texts"], HELDOUT_TEXTS_MIN)

    def test_each_text_counts_by_itself(self):
        lines = read("heldout.jsonl").splitlines(keepends=True)[:3]
        alone = [measure([line]) for line in lines]
        together = measure(lines)
        self.assertEqual(together["tokens"], sum(each["tokens"] for each in alone))
        product = 1.0
        for each in alone:
            product *= each["perplexity"] ** (each["tokens"] / together["tokens"])
        self.assertAlmostEqual(together["perplexity"], product, places=3)

    def test_disorder_surprises_more(self):
        line = read("heldout.jsonl").splitlines()[0]
        words = json.loads(line)["text"].split(" ")
        reverse = json.dumps({"text": " ".join(reversed(words))})
        self.assertGreater(measure([reverse])["perplexity"], 2 * measure([line])["perplexity"])


class Rules(unittest.TestCase):
    ROWS = "| held-out perplexity, at most | 2.50 |\n| file size, bytes, at most | 8000000 |\n"

    def test_reads_the_rows(self):
        self.assertEqual(promises("# Card\n\n" + self.ROWS), {"perplexity": 2.5, "bytes": 8e6})

    def test_refuses_a_card_without_a_figure(self):
        perplexity, size = self.ROWS.splitlines(keepends=True)
        for card in ("", perplexity, size, self.ROWS + size, self.ROWS.replace("2.50", "good")):
            with self.assertRaises(ValueError):
                promises(card)

    def test_sees_what_is_broken(self):
        promised = promises(self.ROWS)
        self.assertEqual(broken(promised, {"perplexity": 2.5, "bytes": 8_000_000}), [])
        self.assertEqual(len(broken(promised, {"perplexity": 2.51, "bytes": 8_000_000})), 1)
        self.assertEqual(len(broken(promised, {"perplexity": 2.5, "bytes": 8_000_001})), 1)
        self.assertEqual(len(broken(promised, {"perplexity": float("nan"), "bytes": 1})), 1)


def print_figures():
    """Gives what is broken."""
    measured, promised = measure(), promises(read("MODEL_CARD.md"))
    for figure, value in measured.items():
        most = f" (the card says at most {promised[figure]:.12g})" if figure in promised else ""
        print(f"{figure}: {value}{most}")
    return "\n".join(broken(promised, measured))


if __name__ == "__main__":
    only_print = sys.argv[1] == "--print"
    arguments = sys.argv[2 if only_print else 1:]
    TOOL, DIRECTORY = map(os.path.abspath, arguments[:2])
    if only_print:
        sys.exit(print_figures() or 0)
    else:
        unittest.main(argv=[sys.argv[0], *arguments[2:]])
