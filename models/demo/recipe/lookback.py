"""Weights to begin with that look back.

A name is right in a story when it was there before. Attention that finds what followed the last
occurrence of a token ("induction heads", Olsson et al. 2022) emerges by itself only after far more
training than a small model's budget allows, so the first two layers begin with it, roughly: heads
of the first attend to the token before and note which it was; heads of the second look for a place
whose note is the present token, and copy what stands there. Training does the rest.
"""

import torch
from torch import Tensor

from recipe.model import HEAD, HEADS, KV_HEADS, ROPE_BASE, VOCABULARY, Model

TOKEN = slice(0, 127)  # Dimensions of an embedding that say which token it is;
CONSTANT = 127  # one that is the same in all;
NOTES = 128  # and from here on, nothing: two notes of HEAD dimensions about the token before.
TOKEN_SCALE, CONSTANT_SCALE = 0.08, 0.3
FAST_PAIRS = 4  # Rotations that tell neighbours apart.
BEFORE_SCALE, NOTE_SCALE = 1.3, 0.08
SLOW = slice(HEAD // 2, HEAD)  # Dimensions whose rotations hardly matter within a text.
MATCH_SCALE, COPY_SCALE = 1.7, 0.15


def _attend_before(block: torch.nn.Module, notes: list[Tensor]) -> None:
    group = HEADS // KV_HEADS
    for i, note in enumerate(notes):
        query, key = i * group * HEAD, i * HEAD
        for pair in range(FAST_PAIRS):
            angle = torch.tensor(ROPE_BASE ** (-2 * pair / HEAD))
            block.query.weight[query + 2 * pair, CONSTANT] = BEFORE_SCALE
            block.key.weight[key + 2 * pair, CONSTANT] = BEFORE_SCALE * angle.cos()
            block.key.weight[key + 2 * pair + 1, CONSTANT] = BEFORE_SCALE * angle.sin()
        block.value.weight[key:key + HEAD] = 0
        block.value.weight[key:key + HEAD, TOKEN] = note
        out = NOTES + i * HEAD
        block.output.weight[out:out + HEAD, query:query + HEAD] = NOTE_SCALE * torch.eye(HEAD)


def _copy_match(block: torch.nn.Module, notes: list[Tensor]) -> None:
    group, half = HEADS // KV_HEADS, HEAD // 2
    basis = torch.nn.init.orthogonal_(torch.empty(127, 127))
    for i in range(KV_HEADS):
        note, part = i // 2, slice((i % 2) * half, (i % 2 + 1) * half)
        query, key = i * group * HEAD, i * HEAD
        block.query.weight[query:query + HEAD] = 0
        block.key.weight[key:key + HEAD] = 0
        block.value.weight[key:key + HEAD] = 0
        block.query.weight[query:query + HEAD][SLOW, TOKEN] = MATCH_SCALE * notes[note][part]
        at = NOTES + note * HEAD
        block.key.weight[key:key + HEAD][SLOW, at + part.start:at + part.stop] = (
            MATCH_SCALE * torch.eye(half))
        rows = basis[i * HEAD:(i + 1) * HEAD]
        block.value.weight[key:key + len(rows), TOKEN] = rows
        block.output.weight[TOKEN, query:query + len(rows)] = COPY_SCALE * rows.T


@torch.no_grad()
def give_lookback(model: Model) -> None:
    embedding = model.embedding.weight
    embedding.zero_()
    embedding[:, TOKEN] = torch.randn(VOCABULARY, 127) * TOKEN_SCALE
    embedding[:, CONSTANT] = CONSTANT_SCALE
    notes = [torch.randn(HEAD, 127) / 127 ** 0.5 for _ in range(2)]
    _attend_before(model.blocks[0], notes)
    _copy_match(model.blocks[1], notes)
