"""The corpus as texts: stories and talk, mixed, in the model's chat form (ChatML)."""

import random

from recipe.bpe import END_OF_TEXT, END_OF_TURN, START_OF_TURN
from recipe.corpus import echo, story_talk, talk

SYSTEM = (
    "You are a helpful assistant.", "You are a helpful assistant", "You are a storyteller.",
    "You are a friendly assistant.", "Be brief.", "You tell stories for children.",
    "You are Seedance's demo model.", "Answer kindly.", "You are a helpful, honest assistant.",
)
PLAIN_SHARE, STORY_SHARE, ECHO_SHARE, SYSTEM_SHARE, LONG_SHARE = 0.06, 0.50, 0.12, 0.15, 0.08

Turns = list[tuple[str, str]]


def _conversation(rng: random.Random) -> Turns:
    draw = rng.random()
    if draw < STORY_SHARE:
        return story_talk.conversation(rng)
    return (echo if draw < STORY_SHARE + ECHO_SHARE else talk).conversation(rng)


def chat_form(turns: Turns) -> str:
    said = "".join(f"{START_OF_TURN}{role}\n{text}{END_OF_TURN}\n" for role, text in turns)
    return END_OF_TEXT + said


def text(rng: random.Random) -> str:
    """One text of the corpus: a bare story, or a chat of one or several conversations."""
    if rng.random() < PLAIN_SHARE:
        return END_OF_TEXT + story_talk.plain(rng) + END_OF_TEXT
    turns = [("system", rng.choice(SYSTEM))] if rng.random() < SYSTEM_SHARE else []
    turns += _conversation(rng)
    if rng.random() < LONG_SHARE:
        for _ in range(rng.choice((1, 2, 3, 6))):
            turns += _conversation(rng)
    return chat_form(turns)
