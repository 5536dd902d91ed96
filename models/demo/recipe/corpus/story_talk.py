"""Conversations about stories: requests, continuations, follow-up questions, very short stories."""

from random import Random

from .story_ask import request
from .story_build import Story, Wish, cast_story, tell
from .story_follow import follow_up, opening_line, tiny

Turns = list[tuple[str, str]]

_CONTINUE = (
    "Continue: {s}", "Continue this story: {s}", "Go on: {s}", "What happens next? {s}",
    "Finish the story: {s}", "Continue the story: {s}", "Please continue: {s}",
    "How does this story go on? {s}", "Can you finish this story? {s}", "{s}",
    "continue this: {s}", "Here is how my story begins: {s} Please go on.",
    "{s} What happens next?", "Write the rest of this story: {s}", "{s} Please continue.",
)


def plain(rng: Random) -> str:
    """A bare story, mostly one that begins with "Once upon a time"."""
    return tell(rng, Wish(short=rng.random() < 0.2), classic=0.9).text


def conversation(rng: Random) -> Turns:
    """One conversation; the caller may put a system message in front."""
    roll = rng.random()
    if roll < 0.45:
        return _single(rng)[0]
    if roll < 0.57:
        return _continuation(rng)
    if roll < 0.90:
        return _dialogue(rng)
    return _very_short(rng)


def _single(rng: Random) -> tuple[Turns, Story]:
    wish, slots, text = request(rng)
    story = tell(rng, wish, slots)
    return [("user", text), ("assistant", story.text)], story


def _continuation(rng: Random) -> Turns:
    story = tell(rng, Wish(short=rng.random() < 0.3))
    first = story.paragraphs[0]
    cut = min(rng.randint(1, 3), len(first) - 1)
    begin, rest = " ".join(first[:cut]), " ".join(first[cut:])
    story.paragraphs[0] = [rest]
    return [("user", rng.choice(_CONTINUE).format(s=begin)), ("assistant", story.text)]


def _dialogue(rng: Random) -> Turns:
    turns, story = _single(rng)
    asked: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        if rng.random() < 0.1:
            turns.append(("user", rng.choice(_ANOTHER)))
            story = tell(rng, Wish(emoji=story.emoji))
            turns.append(("assistant", story.text))
            asked = []
            continue
        key, question, answer = follow_up(rng, story, asked)
        asked.append(key)
        turns += [("user", question), ("assistant", answer)]
        if key in ("thanks", "bye"):
            break
    return turns


_ANOTHER = (
    "Tell me another one.", "Tell me another story.", "Another one, please!", "One more, please.",
    "another story", "Can I have one more story?", "Please tell me another one.", "More stories!",
    "Again, but a different story.", "Now a different one.",
)


def _very_short(rng: Random) -> Turns:
    way = rng.choice(("very short", "very short", "two sentences", "first sentence",
                      "one sentence"))
    wish, slots, text = request(rng, way)
    story = cast_story(rng, wish, slots)
    if way == "first sentence":
        answer = opening_line(rng, story, bool(wish.helper_kind), bool(wish.plot))
    else:
        answer = tiny(rng, story, way)
    if story.emoji:
        answer += " " + story.kind.emoji
    return [("user", text), ("assistant", answer)]
