"""Builds one story from a wish: casts it, picks a line for every beat and joins the paragraphs."""

import re
from dataclasses import dataclass, field
from random import Random

from . import story_cast as cast
from . import story_mood as mood_bank
from . import story_plots_fear, story_plots_heart, story_plots_odd
from . import story_plots_trip, story_plots_wish
from .story_cast import Kind, Place
from .story_plot import Beat, Plot

PLOTS: tuple[Plot, ...] = (
    story_plots_fear.PLOTS + story_plots_wish.PLOTS + story_plots_trip.PLOTS
    + story_plots_heart.PLOTS + story_plots_odd.PLOTS
)
PLOTS_FOR: dict[str, tuple[Plot, ...]] = {
    group: tuple(plot for plot in PLOTS if group in plot.fits) for group in "lbwcoas"
}
KINDS = {kind.name: kind for kind in cast.MAIN_KINDS + cast.TAIL_KINDS}
_CHOICE = re.compile(r"\[([^\]]+)\]")
# Plots whose second beat tells something that the rest needs.
_WHOLE_BEGIN = ("quarrel", "secret", "map", "letter", "birthday", "baby", "magic", "share", "snow")
_SMALL_WORDS = ("a", "an", "and", "for", "in", "of", "on", "the", "to", "with", "that", "at", "or")


@dataclass
class Wish:
    """What a request names; everything left empty is free."""

    kind: Kind | None = None
    name: str = ""
    trait: str = ""
    place: Place | None = None
    mood: str = ""
    helper_kind: str = ""
    helper_name: str = ""
    plot: Plot | None = None
    short: bool = False
    emoji: bool = False


@dataclass
class Story:
    """A finished story with everything that can be asked about it."""

    plot: Plot
    kind: Kind
    place: Place
    mood: str
    words: dict[str, str]
    emoji: bool
    paragraphs: list[list[str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(" ".join(beats) for beats in self.paragraphs)

    def fill(self, rng: Random, template: str) -> str:
        """The template with its choices made and its slots filled."""
        return fill(rng, template, self.words)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def fill(rng: Random, template: str, words: dict[str, str]) -> str:
    if "[" in template:
        template = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    return template.format_map(words)


def pronouns(male: bool) -> tuple[str, str, str, str]:
    return ("he", "him", "his", "himself") if male else ("she", "her", "her", "herself")


def is_male(name: str, rng: Random) -> bool:
    if name in cast.BOYS:
        return True
    return name not in cast.GIRLS and rng.random() < 0.5


def pick_name(rng: Random, gender: str = "", taken: str = "") -> str:
    names = {"f": cast.GIRLS, "m": cast.BOYS}.get(gender) or rng.choice((cast.GIRLS, cast.BOYS))
    name = rng.choice(names)
    while name == taken:
        name = rng.choice(names)
    return name


def pick_kind(rng: Random, tail: float = 0.15) -> Kind:
    return rng.choice(cast.TAIL_KINDS if rng.random() < tail else cast.MAIN_KINDS)


def pick_plot(rng: Random, kind: Kind, trait: str = "", place: Place | None = None) -> Plot:
    """A plot that suits the hero, and the trait and place as far as they are chosen."""
    while True:
        plot = rng.choice(PLOTS_FOR[kind.group])
        unfit = cast.UNFIT.get(plot.key, ())
        if kind.name not in unfit and trait not in unfit and not (place and place.noun in unfit):
            return plot


def pick_place(rng: Random, kind: Kind, plot: Plot | None = None) -> Place:
    """A place that suits the hero, and the plot when that is already chosen."""
    unfit = (kind.home, kind.name) + (cast.UNFIT.get(plot.key, ()) if plot else ())
    only = cast.ONLY_IN.get(kind.name, ())
    place = rng.choice([
        place for place in cast.PLACES
        if kind.group in place.groups and place.noun not in unfit
        and (not only or place.noun in only)
    ])
    return place._replace(preposition="above") if kind.group == "a" else place


def _hero_words(rng: Random, wish: Wish, kind: Kind, plot: Plot) -> dict[str, str]:
    name = wish.name or pick_name(rng, kind.gender)
    male = kind.gender == "m" or (not kind.gender and is_male(name, rng))
    he, him, his, himself = pronouns(male)
    size = rng.choice(("little", "small", "little", "young"))
    if kind.group in "oas" and size == "young":
        size = "little"
    if kind.name in ("king", "queen", "giant", "moon"):
        size = "good"
    trait = wish.trait or (rng.choice(cast.TRAITS[:10]) if rng.random() < 0.3 else "")
    if not wish.trait and trait in cast.UNFIT.get(plot.key, ()):
        trait = ""
    if trait and size == "small":
        size = "little"
    looks = [word for word in (trait, size) if word]
    if wish.trait and rng.random() < 0.5:
        looks = [wish.trait]
    return {
        "N": name, "k": kind.name, "ak": cast.with_article(" ".join(looks + [kind.name])),
        "he": he, "him": him, "his": his, "himself": himself, "He": capital(he),
        "His": capital(his), "home": kind.home, "went": kind.went,
    }


def _helper_words(rng: Random, wish: Wish, kind: Kind, hero: str) -> dict[str, str]:
    names = [name for name in cast.HELPERS[cast.realm(kind)] if name != kind.name]
    if cast.realm(kind) == "land" and rng.random() < 0.08:
        names = [tail.name for tail in cast.TAIL_KINDS if tail.group in "lb"]
    helper = wish.helper_kind or rng.choice([name for name in names if name != kind.name])
    name = wish.helper_name or pick_name(rng, KINDS[helper].gender if helper in KINDS else "", hero)
    he, him, his, _ = pronouns(is_male(name, rng))
    looks = rng.choice(cast.HELPER_ADJECTIVES) + " " if rng.random() < 0.75 else ""
    return {
        "H": name, "hk": helper, "ahk": cast.with_article(looks + helper),
        "Ahk": capital(cast.with_article(looks + helper)),
        "hhe": he, "hhim": him, "hhis": his, "hHe": capital(he),
    }


def _place_words(place: Place) -> dict[str, str]:
    first = cast.with_article(f"{place.adjective} {place.noun}")
    if place.noun == "sea":
        first = f"the {place.adjective} sea"
    inside = f"{place.preposition} the {place.noun}"
    words = {"place": f"the {place.noun}", "in": inside, "a_place": f"{place.preposition} {first}"}
    return words | {capital(key): capital(value) for key, value in words.items()}


def cast_story(rng: Random, wish: Wish, slots: dict[str, str] | None = None) -> Story:
    """Decides everything about a story but its sentences."""
    kind = wish.kind or pick_kind(rng)
    plot = wish.plot or pick_plot(rng, kind, wish.trait, wish.place)
    place = wish.place or pick_place(rng, kind, plot)
    words = _hero_words(rng, wish, kind, plot)
    words |= _helper_words(rng, wish, kind, words["N"])
    words |= _place_words(place)
    words["spot"] = rng.choice(cast.SPOTS[cast.realm(kind)])
    for key, values in plot.slots.items():
        value = (slots or {}).get(key) or rng.choice(values).format_map(words)
        words[key] = value
        words[capital(key)] = capital(value)
    mood = wish.mood or (rng.choice(tuple(mood_bank.MOOD_START)) if rng.random() < 0.45 else "")
    return Story(plot, kind, place, mood, words, wish.emoji)


def _one(rng: Random, story: Story, beat: Beat) -> str:
    if beat == ("@meet",):
        beat = mood_bank.MEETINGS
    return story.fill(rng, rng.choice(beat))


def _opening(rng: Random, story: Story, short: bool, classic: float) -> list[str]:
    first = mood_bank.OPENINGS if rng.random() < classic else mood_bank.OTHER_OPENINGS
    beats = [_one(rng, story, first)]
    cross = "grumpy" in (story.plot.key, *story.words["ak"].split())
    if story.mood and not (cross and story.mood in ("happy", "funny")):
        beats.append(_one(rng, story, mood_bank.MOOD_START[story.mood]))
    elif not story.mood and story.plot.scene and not short and rng.random() < 0.5:
        realm = {"water": "water", "air": "air"}.get(cast.realm(story.kind), "land")
        beats.append(_one(rng, story, mood_bank.SCENES[realm]))
    return beats


def _ending(rng: Random, story: Story, short: bool) -> list[str]:
    beats = []
    mood = story.mood
    lesson = rng.random() < (0.15 if short or mood == "cosy" else 0.3)
    if lesson:
        moral = story.fill(rng, rng.choice(story.plot.moral))
        line = rng.choice(mood_bank.MORAL_LINES)
        moral = moral[0].lower() + moral[1:]
        beats.append(fill(rng, line, story.words | {"moral": moral}))
    if mood:
        beats.append(_one(rng, story, mood_bank.MOOD_CLOSE[mood]))
    elif not lesson and not short and rng.random() < 0.6:
        beats.append(_one(rng, story, mood_bank.PLAIN_CLOSE))
    return beats


def tell(
    rng: Random, wish: Wish, slots: dict[str, str] | None = None, classic: float = 0.6
) -> Story:
    """A whole story for the wish."""
    story = cast_story(rng, wish, slots)
    plot = story.plot
    begin = _opening(rng, story, wish.short, classic)
    brief = wish.short and plot.key not in _WHOLE_BEGIN
    begin += [_one(rng, story, beat) for beat in (plot.begin[:1] if brief else plot.begin)]
    meet = [_one(rng, story, beat) for beat in plot.meet]
    turn = [_one(rng, story, beat) for beat in plot.turn]
    _colour(rng, story, turn)
    close = [_one(rng, story, beat) for beat in plot.close] + _ending(rng, story, wish.short)
    story.paragraphs = _layout(rng, begin, meet, turn, close)
    if story.emoji:
        _decorate(story)
    return story


def _colour(rng: Random, story: Story, turn: list[str]) -> None:
    """Adds a line of the mood to the turning point, where the helper is already there."""
    if not story.mood or rng.random() < 0.4 or story.plot.key in ("secret", "sleep"):
        return
    if story.mood in ("sad", "cosy") and story.plot.key in ("quarrel", "birthday", "race"):
        return
    at = {"sad": 0, "cosy": 1, "exciting": 1}.get(story.mood, 2)
    turn.insert(min(at, len(turn) - 1), _one(rng, story, mood_bank.MOOD_MIDDLE[story.mood]))


def _layout(rng: Random, *parts: list[str]) -> list[list[str]]:
    begin, meet, turn, close = parts
    way = rng.random()
    if way < 0.55:
        return [begin, meet, turn, close]
    if way < 0.8:
        return [begin, meet, turn + close]
    if way < 0.9:
        return [begin, meet + turn, close]
    return [begin + meet, turn + close]


def _decorate(story: Story) -> None:
    """Puts a picture of the hero after the first beat, and those of plot and mood at the end."""
    first, last = story.paragraphs[0], story.paragraphs[-1]
    first[0] += " " + story.kind.emoji
    last[0] += " " + story.plot.emoji
    last[-1] += " " + mood_bank.MOOD_EMOJI[story.mood] if len(last) > 1 else ""


def title(rng: Random, story: Story) -> str:
    words = story.fill(rng, rng.choice(story.plot.titles)).split()
    return " ".join(
        word if index and word.lower() in _SMALL_WORDS else capital(word)
        for index, word in enumerate(words)
    )


def summary(story: Story) -> list[str]:
    """Three clauses: the problem, what the helper did, and the end."""
    words, plot = story.words, story.plot
    return [part.format_map(words) for part in (plot.problem, plot.did, plot.end)]
