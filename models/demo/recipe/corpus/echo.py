"""Saying again what the user says: words in any order, for an exact copy teaches to look back."""

import random

from recipe.corpus.story_cast import (
    BOYS, GIRLS, HELPER_ADJECTIVES, MAIN_KINDS, PLACES, TAIL_KINDS)

WORDS = sorted({
    *GIRLS, *BOYS, *HELPER_ADJECTIVES,
    *(kind.name for kind in (*MAIN_KINDS, *TAIL_KINDS)),
    *(place.noun for place in PLACES), *(place.adjective for place in PLACES),
    *"red blue green yellow and the a with under over small big one two three sun moon tea".split(),
    *"小猫 小狗 小鸟 月亮 太阳 大海 森林 朋友 🦊 🦉 🌙 ⭐ 🐢".split(),
})
ASK = (
    "Repeat after me: {}", "Please repeat: {}", "Say this again: {}", "Say exactly this: {}",
    "repeat: {}", "Echo: {}", "Can you repeat this? {}", "Copy this: {}", "Say: {}",
)
AGAIN = ("Again, please.", "Once more.", "Say it again.", "again", "Repeat that.")


def _words(rng: random.Random) -> str:
    count = rng.choice((2, 3, 4, 6, 8, 12, 16, 24, 32))
    joint = rng.choice((" ", " ", ", "))
    words = [rng.choice(WORDS) if rng.random() < 0.9 else str(rng.randrange(100))
             for _ in range(count)]
    return joint.join(words) + rng.choice(("", ".", "!"))


def conversation(rng: random.Random) -> list[tuple[str, str]]:
    said = _words(rng)
    turns = [("user", rng.choice(ASK).format(said)), ("assistant", said)]
    while rng.random() < 0.3:
        if rng.random() < 0.5:
            said = _words(rng)
            ask = rng.choice(ASK).format(said)
        else:
            ask = rng.choice(AGAIN)
        turns += [("user", ask), ("assistant", said)]
    return turns
