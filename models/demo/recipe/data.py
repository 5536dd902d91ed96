"""The corpus as token ids on disk, and the batches that training takes from it."""

import array
import json
import os
import pathlib
import random

import torch
from torch import Tensor

from recipe import mix
from recipe.bpe import Tokenizer, learn
from recipe.model import CONTEXT, VOCABULARY

SEED, HELDOUT_SEED = 1, 2
LEARN_TEXTS, HELDOUT_TEXTS = 20_000, 200
PAD = 0
ROUND_TO = 32  # Lengths are rounded up to it, so that a batch has rows of like length.


def _texts(seed: int, count: int):
    for i in range(count):
        yield mix.text(random.Random(seed * 1_000_000_007 + i))


def load_tokenizer(directory: pathlib.Path) -> Tokenizer:
    with open(directory / "merges.json", encoding="utf-8") as file:
        return Tokenizer([tuple(pair) for pair in json.load(file)])


def make(directory: pathlib.Path, count: int, heldout: pathlib.Path) -> None:
    """Writes merges.json, tokens.bin, ends.bin and the held-out texts, unless they are there."""
    if (directory / "ends.bin").exists():
        return
    os.makedirs(directory, exist_ok=True)
    merges = learn(list(_texts(SEED, LEARN_TEXTS)), VOCABULARY)
    with open(directory / "merges.json", "w", encoding="utf-8") as file:
        json.dump(merges, file)
    with open(heldout, "w", encoding="utf-8") as file:
        for text in _texts(HELDOUT_SEED, HELDOUT_TEXTS):
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    tokenizer, tokens, ends = Tokenizer(merges), array.array("H"), array.array("Q")
    for text in _texts(SEED, count):
        tokens.extend(tokenizer.encode(text)[:CONTEXT])
        ends.append(len(tokens))
    with open(directory / "tokens.bin", "wb") as file:
        tokens.tofile(file)
    with open(directory / "ends.bin", "wb") as file:
        ends.tofile(file)
    print(f"corpus: {len(ends)} texts, {len(tokens)} tokens, vocabulary {len(tokenizer.tokens)}")


class Batches:
    """Batches of texts of like length, about `batch_tokens` each; the same for the same seed."""

    def __init__(self, directory: pathlib.Path, batch_tokens: int):
        self._tokens, ends = array.array("H"), array.array("Q")
        for part, name in ((self._tokens, "tokens.bin"), (ends, "ends.bin")):
            part.frombytes((directory / name).read_bytes())
        spans = list(zip([0, *ends], ends))
        rng = random.Random(SEED)
        rng.shuffle(spans)
        spans.sort(key=lambda span: -(-(span[1] - span[0]) // ROUND_TO))
        self._batches: list[list[tuple[int, int]]] = [[]]
        for span in spans:
            rows, width = len(self._batches[-1]) + 1, -(-(span[1] - span[0]) // ROUND_TO) * ROUND_TO
            if rows * width > batch_tokens and rows > 1:
                self._batches.append([])
            self._batches[-1].append(span)
        rng.shuffle(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def get(self, index: int) -> tuple[Tensor, Tensor]:
        """Tokens and the token after each, -100 (which no loss counts) where there is none."""
        spans = self._batches[index % len(self._batches)]
        width = -(-max(end - begin for begin, end in spans) // ROUND_TO) * ROUND_TO
        tokens = torch.full((len(spans), width), PAD, dtype=torch.long)
        following = torch.full((len(spans), width), -100, dtype=torch.long)
        for row, (begin, end) in enumerate(spans):
            text = torch.tensor(self._tokens[begin:end], dtype=torch.long)
            tokens[row, : len(text)] = text
            following[row, : len(text) - 1] = text[1:]
        return tokens, following
