"""How people type: the noise laid over clean questions, and small helpers for English text.

Questions may carry marks around the words an answer can repeat: `[the capital of Peru]` is a
noun phrase and `<cook rice>` a verb phrase. `typed` leaves the marks in place and never puts a
typing error inside them, so an answer can copy what stands between them letter by letter.
"""

import random
from collections.abc import Sequence

_OPENINGS = ("hey, ", "hi, ", "ok, ", "so, ", "well, ", "hello, ", "quick question: ")
_COURTESIES = ("Please ", "Could you please ", "Can you ", "Please ")
_QUESTION_WORDS = (
    "what", "which", "who", "where", "when", "why", "how", "is", "are", "do", "does", "can",
    "should", "will", "did", "was", "i", "my", "could", "would", "whose", "if",
)


def pick(rng: random.Random, options: Sequence[str]) -> str:
    """One of `options`, all equally likely."""
    return options[int(rng.random() * len(options))]


def article(noun: str) -> str:
    """`noun` with "a" or "an" before it."""
    return ("an " if noun[0] in "aeiouAEIOU" else "a ") + noun


def capital(text: str) -> str:
    """`text` with a capital first letter."""
    return text[:1].upper() + text[1:]


def listed(words: Sequence[str]) -> str:
    """Words as an English list: "a, b and c"."""
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " and " + words[-1]


def _misspelt(rng: random.Random, text: str) -> str:
    words = text.split(" ")
    inside, open_places = False, []
    for place, word in enumerate(words):
        inside = inside or "[" in word or "<" in word
        if not inside and len(word) > 3 and word.isascii() and word.isalpha():
            open_places.append(place)
        if "]" in word or ">" in word:
            inside = False
    if not open_places:
        return text
    place = rng.choice(open_places)
    word = words[place]
    at = rng.randrange(1, len(word) - 1)
    way = rng.randrange(3)
    if way == 0:
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2:]
    elif way == 1:
        words[place] = word[:at] + word[at + 1:]
    else:
        words[place] = word[:at] + word[at] + word[at:]
    return " ".join(words)


def _polite(rng: random.Random, text: str) -> str:
    first = text.split(" ", 1)[0].lower().strip("[<'")
    if "lease" in text or text[0].islower():
        return text
    if first in _QUESTION_WORDS or "'" in first or not text[0].isalpha():
        return pick(rng, _OPENINGS) + text[0].lower() + text[1:]
    if rng.random() < 0.3 and text[-1] in ".!?":
        return text[:-1] + ", please" + text[-1]
    opening = pick(rng, _COURTESIES)
    body = opening + text[0].lower() + text[1:]
    if not opening.startswith("P") and body[-1] in ".!":
        body = body[:-1] + "?"
    return body


def typed(rng: random.Random, text: str, polite: bool = True) -> str:
    """`text` as somebody might type it; `polite` allows openings such as "Please"."""
    if polite and len(text) > 8 and rng.random() < 0.12:
        text = _polite(rng, text)
    if rng.random() < 0.05:
        text = _misspelt(rng, text)
    dice = rng.random()
    if dice < 0.22 and text[-1] in ".!?":
        text = text.rstrip(".!?")
    elif dice < 0.24:
        text = text + text[-1] if text[-1] in "!?" else text.rstrip(".") + "!"
    if rng.random() < 0.3:
        text = text.lower()
    return text or "?"


def unmarked(text: str) -> str:
    """`text` without the marks around what an answer may repeat."""
    for mark in "[]<>":
        text = text.replace(mark, "")
    return text


_STARTS = (
    "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "gl", "kr",
    "pl", "st", "th", "tr", "w", "h", "j", "qu", "sn", "fl", "gr", "sk", "y", "ch", "sh", "x",
)
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ee", "oo", "ou", "y", "ia", "o", "a", "e")
_ENDS = ("", "", "n", "r", "l", "m", "s", "t", "x", "nd", "rk", "ble", "ck", "th", "ng", "zz")


def invented(rng: random.Random) -> str:
    """A word of one to four random syllables that stands in no dictionary."""
    word = ""
    for _ in range(rng.choice((1, 2, 2, 2, 3, 3, 4))):
        word += pick(rng, _STARTS) + pick(rng, _MIDDLES)
    return word + pick(rng, _ENDS)
