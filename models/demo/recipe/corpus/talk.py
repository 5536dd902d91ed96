"""Conversations that are not stories: small talk, counting, refusals, facts, poems, Chinese, emoji.

`conversation` draws one kind of talk by weight and returns its turns. A conversation of several
turns mixes the kinds, or builds on what was said before.
"""

import random
from collections.abc import Callable

from recipe.corpus import chinese, facts, numbers, poems, refuse, talk_emoji, talk_self
from recipe.corpus.talk_style import pick

Exchange = tuple[str, str]

_SINGLE: tuple[tuple[int, Callable[[random.Random], Exchange]], ...] = (
    (16, talk_self.exchange),
    (18, numbers.exchange),
    (26, refuse.exchange),
    (8, facts.exchange),
    (8, poems.exchange),
    (8, chinese.exchange),
    (6, talk_emoji.exchange),
)
_MIXED_WEIGHT = 10
_WEIGHTS = tuple(weight for weight, _ in _SINGLE) + (_MIXED_WEIGHT,)
_MIXED_FORMS = (
    refuse.exchange, numbers.exchange, facts.exchange, poems.exchange, talk_emoji.exchange,
    talk_self.remark, chinese.exchange,
)
_MIXED_FORM_WEIGHTS = (26, 26, 16, 8, 8, 16, 3)


def _any(rng: random.Random) -> Exchange:
    return rng.choices(_MIXED_FORMS, _MIXED_FORM_WEIGHTS)[0](rng)


def _chain(rng: random.Random) -> list[Exchange]:
    """Turns that build on each other."""
    kind = rng.random()
    if kind < 0.5:
        return numbers.follow_up(rng)
    if kind < 0.7:
        return poems.follow_up(rng)
    return talk_self.named(rng) if kind < 0.88 else talk_self.jokes(rng)


def _mixed(rng: random.Random) -> list[Exchange]:
    """Two to four turns of several kinds."""
    middle = _chain(rng) if rng.random() < 0.5 else [_any(rng), _any(rng)]
    pairs = []
    if rng.random() < 0.3:
        pairs.append(talk_self.of_group(rng, pick(rng, ("greeting", "greeting", "who", "how"))))
    pairs += middle[:3]
    if len(pairs) < 4 and rng.random() < 0.2:
        pairs.append(_any(rng))
    if len(pairs) < 4 and rng.random() < 0.3:
        pairs.append(talk_self.of_group(rng, pick(rng, ("thanks", "thanks", "bye"))))
    return pairs


def conversation(rng: random.Random) -> list[tuple[str, str]]:
    """The turns of one conversation as (role, content), from the user's first to an answer."""
    kind = rng.choices(range(len(_WEIGHTS)), _WEIGHTS)[0]
    pairs = _mixed(rng) if kind == len(_SINGLE) else [_SINGLE[kind][1](rng)]
    turns = []
    for text, answer in pairs:
        turns += [("user", text), ("assistant", answer)]
    return turns
