"""What people say when they ask for a story, and the wish behind it."""

from random import Random

from . import story_mood
from .story_build import KINDS, PLOTS, Wish, capital, pick_kind, pick_name, pick_place, pick_plot
from .story_build import is_male, pronouns
from .story_cast import HELPERS, TRAITS, UNFIT, Kind, Place, realm, with_article

_LEADS = (
    "Tell me {s}.", "Tell me {s}.", "Tell me {s}, please.", "Please tell me {s}.", "Tell us {s}.",
    "Can you tell me {s}?", "Could you tell me {s}?", "Will you tell me {s}?", "Write {s}.",
    "Write me {s}.", "Please write {s}.", "Can you write {s}?", "Make up {s}.", "I want {s}.",
    "Can you make up {s}?", "I would like {s}.", "I'd like to hear {s}.", "Can I have {s}?",
    "I would love to hear {s}.", "Give me {s}.", "How about {s}?", "{s}", "{s}, please",
    "Do you know {s}?", "Let me hear {s}.", "I need {s}.", "My little sister wants {s}.",
    "We want {s}!", "Read me {s}.", "Invent {s}.", "Hello! Tell me {s}.",
    "Hi, can you tell me {s}?",
    "Create {s}.", "Tell {s}.",
)
_FIRST = ("Give me the first sentence of {s}.", "Write the first sentence of {s}.",
          "How could {s} begin?", "Start {s} for me with one sentence.")
_EMOJI = ("{t} Use emojis.", "{t} With emojis, please.", "{t} {e}", "{t} Please use some emoji.")
_NOUNS = ("story",) * 8 + ("tale", "little story", "fairy tale", "children's story")


def _hero_phrase(rng: Random, wish: Wish, kind: Kind) -> str:
    """The hero as a request names it; writes what it names into the wish."""
    wish.kind = kind
    looks = ""
    if rng.random() < 0.25:
        wish.trait = rng.choice(TRAITS)
        looks = wish.trait + " "
    if rng.random() < 0.2:
        looks += rng.choice(("little ", "small "))
    hero = with_article(looks + kind.name)
    if rng.random() < 0.4:
        wish.name = pick_name(rng, kind.gender)
        hero = rng.choice((f"{hero} named {wish.name}", f"{hero} called {wish.name}",
                           f"{wish.name} the {looks}{kind.name}"))
    return hero


def _ask_phrase(rng: Random, wish: Wish, kind: Kind) -> tuple[str, dict[str, str]]:
    """A "who ..." clause; pronouns force the name's gender, so the name is fixed here."""
    plot = pick_plot(rng, kind, wish.trait)
    wish.plot = plot
    slots = {key: rng.choice(values) for key, values in plot.slots.items() if "{" not in values[-1]}
    if not wish.name:
        wish.name = pick_name(rng, kind.gender)
    male = kind.gender == "m" or (not kind.gender and is_male(wish.name, rng))
    words = dict(zip(("he", "him", "his", "himself"), pronouns(male)))
    return rng.choice(plot.asks).format_map(slots | words), slots


def _topic(rng: Random, wish: Wish) -> tuple[str, dict[str, str]]:
    plot = rng.choice(PLOTS)
    slots = {key: rng.choice(values) for key, values in plot.slots.items() if "{" not in values[-1]}
    wish.plot = plot
    unfit = UNFIT.get(plot.key, ())
    kinds = [kind for kind in KINDS.values() if kind.group in plot.fits and kind.name not in unfit]
    wish.kind = rng.choice(kinds[:30] if rng.random() < 0.85 else kinds)
    return rng.choice(plot.topics).format_map(slots), slots


def _helper(rng: Random, wish: Wish, kind: Kind) -> str:
    names = [name for name in HELPERS[realm(kind)] if name != kind.name]
    wish.helper_kind = rng.choice(names)
    if rng.random() < 0.35:
        gender = KINDS[wish.helper_kind].gender if wish.helper_kind in KINDS else ""
        wish.helper_name = pick_name(rng, gender, wish.name)
        if not wish.name:
            wish.name = pick_name(rng, kind.gender, wish.helper_name)
        return f"{with_article(wish.helper_kind)} named {wish.helper_name}"
    return with_article(wish.helper_kind)


def place_phrase(rng: Random, place: Place) -> str:
    if place.noun == "sea":
        return "in the sea"
    adjective = place.adjective + " " if rng.random() < 0.3 else ""
    article = "the " if rng.random() < 0.3 else ""
    noun = adjective + place.noun
    return f"{place.preposition} {article + noun if article else with_article(noun)}"


def _subject(rng: Random, wish: Wish) -> tuple[str, dict[str, str]]:
    """The part after "a story": about whom, where, and with what trouble."""
    roll = rng.random()
    if roll < 0.08:
        return "", {}
    if roll < 0.18:
        text, slots = _topic(rng, wish)
        return " about " + text, slots
    if roll < 0.24:
        wish.kind = pick_kind(rng)
        wish.place = pick_place(rng, wish.kind)
        phrase = place_phrase(rng, wish.place)
        lead = rng.choice((" that happens ", " ", " that takes place "))
        return lead + phrase, {}
    if roll < 0.27:
        wish.name = pick_name(rng)
        wish.kind = pick_kind(rng)
        while wish.kind.gender:
            wish.kind = pick_kind(rng)
        return " about " + wish.name, {}
    kind = pick_kind(rng, tail=0.25)
    hero = _hero_phrase(rng, wish, kind)
    slots: dict[str, str] = {}
    roll = rng.random()
    if roll < 0.38:
        ask, slots = _ask_phrase(rng, wish, kind)
        hero += " who " + ask
    elif roll < 0.5:
        hero += " and " + _helper(rng, wish, kind)
    if rng.random() < 0.2 and roll >= 0.38:
        wish.place = pick_place(rng, kind)
        hero += " " + place_phrase(rng, wish.place)
    return " about " + hero, slots


def _roughen(rng: Random, text: str) -> str:
    """Some people write without capitals or full stops."""
    if rng.random() < 0.2:
        text = text.rstrip(".?!")
    return text.lower() if rng.random() < 0.15 else text


def request(rng: Random, way: str = "") -> tuple[Wish, dict[str, str], str]:
    """A wish, the plot's named things and the words of the request."""
    wish = Wish()
    subject, slots = _subject(rng, wish)
    looks = ""
    if way == "very short":
        looks = rng.choice(("very short ", "really short ", "tiny ", "very, very short "))
    elif not way and rng.random() < 0.3:
        wish.mood = rng.choice(tuple(story_mood.MOOD_WORDS))
        looks = rng.choice(story_mood.MOOD_WORDS[wish.mood]) + " "
    elif not way and rng.random() < 0.15:
        wish.short = True
        looks = "short "
    thing = with_article(looks + rng.choice(_NOUNS)) + subject
    if way == "two sentences":
        thing += rng.choice((" in two sentences", " in only two sentences", " in 2 sentences"))
    elif way == "one sentence":
        thing += rng.choice((" in one sentence", " in a single sentence", " in 1 sentence"))
    text = capital(rng.choice(_FIRST if way == "first sentence" else _LEADS).format(s=thing))
    if rng.random() < 0.05:
        wish.emoji = True
        picture = wish.kind.emoji if wish.kind else "✨"
        return wish, slots, rng.choice(_EMOJI).format(t=text, e=picture)
    return wish, slots, _roughen(rng, text)
