"""A byte-level BPE tokenizer: learning its merges, and encoding with them.

The form is GPT-2's (Radford et al. 2019): text is cut into words by a pattern, the bytes of a word
are written as printable characters, and the pairs of pieces are joined in the order in which they
were learnt. The pattern is the one that llama.cpp calls "qwen2", which gives each digit a token.
"""

import collections
import functools

import regex

PATTERN = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+")
END_OF_TEXT, START_OF_TURN, END_OF_TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL = (END_OF_TEXT, START_OF_TURN, END_OF_TURN)
SPECIAL_PATTERN = regex.compile("(" + "|".join(map(regex.escape, SPECIAL)) + ")")


def _printable_bytes() -> list[str]:
    """The character that stands for each byte: itself where it prints, else one above U+0100."""
    own = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in own else chr(next(others)) for byte in range(256)]


BYTES = _printable_bytes()


def _spelled(word: str) -> tuple[str, ...]:
    return tuple(BYTES[byte] for byte in word.encode())


def _joined(word: tuple[str, ...], left: str, right: str) -> tuple[str, ...]:
    out, at = [], 0
    while at < len(word):
        pair = word[at] == left and at + 1 < len(word) and word[at + 1] == right
        out.append(left + right if pair else word[at])
        at += 2 if pair else 1
    return tuple(out)


def learn(texts: list[str], vocabulary_size: int) -> list[tuple[str, str]]:
    """The merges, most frequent pair first; ties go to the pair that sorts first."""
    counts = collections.Counter(
        word for text in texts for word in PATTERN.findall(SPECIAL_PATTERN.sub("\n", text)))
    words = {word: _spelled(word) for word in sorted(counts)}
    pairs, places = collections.Counter(), collections.defaultdict(set)

    def note(word: str, sign: int) -> None:
        for pair in zip(words[word], words[word][1:]):
            pairs[pair] += sign * counts[word]
            places[pair].add(word)

    for word in words:
        note(word, 1)
    merges = []
    while len(merges) < vocabulary_size - len(SPECIAL) - len(BYTES):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < 2:
            break
        merges.append(best)
        for word in sorted(places.pop(best)):
            note(word, -1)
            words[word] = _joined(words[word], *best)
            note(word, 1)
        del pairs[best]
    return merges


class Tokenizer:
    """Text to token ids. Special tokens come first, then the bytes, then the merged pieces."""

    def __init__(self, merges: list[tuple[str, str]]):
        self.merges = merges
        self.tokens = [*SPECIAL, *BYTES, *(left + right for left, right in merges)]
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self._rank = {pair: i for i, pair in enumerate(merges)}
        self._encode_word = functools.lru_cache(maxsize=1 << 18)(self._encode_word_anew)

    def _encode_word_anew(self, word: str) -> tuple[int, ...]:
        pieces = _spelled(word)
        while len(pieces) > 1:
            best = min(zip(pieces, pieces[1:]), key=lambda pair: self._rank.get(pair, 1 << 30))
            if best not in self._rank:
                break
            pieces = _joined(pieces, *best)
        return tuple(self._ids[piece] for piece in pieces)

    def encode(self, text: str) -> list[int]:
        out: list[int] = []
        for part in SPECIAL_PATTERN.split(text):
            if part in SPECIAL:
                out.append(self._ids[part])
            else:
                for word in PATTERN.findall(part):
                    out += self._encode_word(word)
        return out
