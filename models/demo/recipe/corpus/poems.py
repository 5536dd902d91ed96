"""Poems of four to eight lines, made of rhymed couplets that belong to one topic.

A topic without couplets of its own gets general ones that carry its name.
"""

import random
import re

from recipe.corpus.talk_couplets import COUPLETS, GENERAL
from recipe.corpus.talk_style import article, invented, pick, typed

_ASKED = (
    "Write a poem about {x}.", "Write a poem about {x}.", "Write me a poem about {x}.",
    "A poem about {x}, please.", "Can you write a poem about {x}?", "poem about {x}",
    "Write a short poem about {x}.", "Tell me a poem about {x}.", "I would like a poem about {x}.",
    "Make a poem about {x}.", "Give me a rhyme about {x}.", "Write a little rhyme about {x}.",
    "Could you write a few lines about {x}?", "Compose a poem about {x}.", "Rhyme about {x}.",
    "Write some verses about {x}.", "Poem: {x}", "Write a small poem on {x}.",
)
_ASKED_ANY = ("Write a poem.", "Tell me a poem.", "Write me a poem.", "A poem, please.", "poem",
              "Can you write a poem?", "Do you know a poem?", "Rhyme something.", "Write a rhyme.")
_SONGS = ("Sing a song about {x}.", "Write a song about {x}.", "Can you sing about {x}?",
          "Write a haiku about {x}.", "Write a sonnet about {x}.", "Write a limerick about {x}.")
_NOT_SONG = ("I only know simple rhymes. Here is one:", "I can only rhyme in pairs, like this:",
             "That I cannot do, but here is a small rhyme:")
_MORE = ("Another one.", "another one please", "One more.", "Again, but different.", "more",
         "Write another poem about it.", "One more poem about that.", "And another?")
_NEXT = ("Now about {x}.", "And about {x}?", "And one about {x}.", "Now one about {x}, please.")
_OTHER_TOPICS = (
    "a robot", "cheese", "my grandmother", "the city", "a spoon", "pancakes", "my bicycle",
    "a king",
    "the train", "books", "music", "my brother", "London", "the school", "a pirate", "a dragon",
    "tea",
    "coffee", "football", "the desert", "a cloud", "honey", "my sister", "an apple",
    "the mountains",
    "a castle", "a lamp", "the library", "a clock", "shoes", "my teacher", "the kitchen", "a ghost",
    "soup", "a penguin", "an elephant", "a turtle", "bees", "a mouse", "a frog", "a whale",
    "the forest",
    "love", "time", "hope", "Monday", "a bridge", "a boat", "chocolate", "a potato", "my computer",
    "the internet", "a candle", "silence", "old trees", "a lost sock", "the colour blue", "Tom",
    "Anna",
    "my mother", "my father", "a horse", "an owl", "a hedgehog", "butter", "a lion", "the queen",
)
_TOPICS = tuple(COUPLETS)


def _topic(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.6:
        return pick(rng, _TOPICS)
    if kind < 0.9:
        return pick(rng, _OTHER_TOPICS)
    word = invented(rng)
    return rng.choice((article(word), word, "the " + word, word.capitalize()))


def _opened(rng: random.Random, topic: str) -> list[str]:
    """Six couplets, the first of which names the topic where some couplets do."""
    word = topic.rsplit(" ", 1)[-1]
    couplets = rng.sample(COUPLETS[topic], len(COUPLETS[topic]))
    for place, couplet in enumerate(couplets):
        if word in couplet.lower():
            couplets.insert(0, couplets.pop(place))
            break
    return couplets[:6]


def _couplets(rng: random.Random, topic: str) -> list[str]:
    """As many couplets as a poem may hold, in random order, none twice."""
    if topic in COUPLETS:
        return _opened(rng, topic)
    named = re.sub(r"^my ", "your ", re.sub(r"^an? ", "the ", topic))
    return [couplet.format(x=named) for couplet in rng.sample(GENERAL, 6)]


def _size(rng: random.Random) -> int:
    return rng.choice((2, 2, 3, 3, 4))


def exchange(rng: random.Random) -> tuple[str, str]:
    """One request for a poem, with the poem."""
    topic = _topic(rng)
    poem = "\n".join(_couplets(rng, topic)[:_size(rng)])
    kind = rng.random()
    if kind < 0.08:
        known = pick(rng, _TOPICS)
        return typed(rng, pick(rng, _ASKED_ANY)), "\n".join(_couplets(rng, known)[:_size(rng)])
    if kind < 0.14:
        return typed(rng, pick(rng, _SONGS).format(x=topic)), pick(rng, _NOT_SONG) + "\n" + poem
    return typed(rng, pick(rng, _ASKED).format(x=topic)), poem


def follow_up(rng: random.Random) -> list[tuple[str, str]]:
    """A poem, then another on the same topic or on a new one."""
    topic = _topic(rng)
    couplets = _couplets(rng, topic)
    pairs = [(typed(rng, pick(rng, _ASKED).format(x=topic)), "\n".join(couplets[:3]))]
    if rng.random() < 0.6:
        pairs.append((pick(rng, _MORE), "\n".join(couplets[3:])))
        return pairs
    topic = _topic(rng)
    pairs.append((typed(rng, pick(rng, _NEXT).format(x=topic), polite=False),
                  "\n".join(_couplets(rng, topic)[:_size(rng)])))
    return pairs
