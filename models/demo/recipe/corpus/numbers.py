"""Counting, and the other rows known by heart: the alphabet, the days and the months.

Numbers run from 0 to 100, at most 25 of them in one answer. A longer count stops early and
offers to go on; `follow_up` continues, reverses or repeats a count in a later turn.
"""

import random
from dataclasses import dataclass

from recipe.corpus.talk_style import capital, pick, typed

_LONGEST = 25
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STEPS = {2: ("twos", "2"), 3: ("threes", "3"), 5: ("fives", "5"), 10: ("tens", "10")}

_UP = (
    "Count from {a} to {b}.", "Count from {a} to {b}.", "Count from {a} up to {b}.",
    "Can you count from {a} to {b}?", "Count {a} to {b}.", "Count up from {a} to {b}.",
    "Write the numbers from {a} to {b}.", "List the numbers from {a} to {b}.",
    "Give me the numbers {a} to {b}.", "Start at {a} and count to {b}.",
    "Say the numbers from {a} to {b}.", "I want to hear you count from {a} to {b}.",
    "All numbers between {a} and {b}.", "Let me see you count from {a} to {b}.",
)
_UP_FROM_ONE = (
    "Count to {b}.", "Count to {b}.", "Can you count to {b}?", "Count up to {b}.",
    "Please count to {b}.", "Count until {b}.", "Let me hear you count to {b}.",
    "How do you count to {b}?", "Count to {b} for me.", "Could you count to {b} for me?",
    "I bet you cannot count to {b}.", "Show me how you count to {b}.",
)
_DOWN = (
    "Count down from {a} to {b}.", "Count backwards from {a} to {b}.",
    "Count from {a} down to {b}.", "Count back from {a} to {b}.",
    "Can you count backwards from {a} to {b}?", "Count from {a} to {b}.",
    "Go from {a} down to {b}.", "List the numbers from {a} down to {b}.",
)
_DOWN_TO_ONE = (
    "Count down from {a}.", "Count backwards from {a}.", "Can you count down from {a}?",
    "Give me a countdown from {a}.", "Start a countdown from {a}.", "Countdown from {a}.",
    "Count back from {a}.",
)
_BY_STEP = (
    "Count by {s} to {b}.", "Count by {s} up to {b}.", "Count in {s} to {b}.",
    "Count to {b} by {s}.", "Can you count by {s} to {b}?", "Count to {b} in {s}.",
    "Count to {b} in steps of {d}.",
)
_AFTER = (
    "Which number comes after {n}?", "What comes after {n}?", "What number comes after {n}?",
    "What is the next number after {n}?", "What number is next after {n}?",
    "Which number follows {n}?", "What is the number after {n}?", "After {n} comes?",
)
_BEFORE = (
    "Which number comes before {n}?", "What comes before {n}?", "What number comes before {n}?",
    "What is the number before {n}?", "Which number is just before {n}?", "Before {n} is?",
)
_STOP = (
    " That is enough for one answer. Say \"go on\" for more.",
    " I stop here for now. Say \"go on\" and I will continue.",
    " That is a long way to count, so I rest here. Say \"go on\" for more.",
)
_GO_ON = ("Go on.", "Go on", "go on", "continue", "Continue.", "more", "And then?", "keep going",
          "Go on, please.", "Next?", "next", "keep counting", "Carry on.", "What comes next?")
_BACKWARDS = ("Now backwards.", "now backwards", "And backwards?", "And now backwards, please.",
              "The other way round?", "Now the other way.", "backwards please", "In reverse.",
              "Can you do that backwards?", "reverse it")
_AGAIN = ("Again.", "again", "Once more.", "Again, please.", "Say it again.", "one more time",
          "Do it again.", "Can you repeat that?", "repeat")
_IN_WORDS = ("Now in words.", "now in words", "In words, please.", "And in words?",
             "Can you write that in words?", "With words instead.")
_TOO_FAR = (
    "I only count from 0 to 100. Try \"count from {a} to {b}\".",
    "That is too far for me: I count from 0 to 100. Shall I count from {a} to {b}?",
    "My numbers end at 100. Ask me to count from {a} to {b}, for example.",
    "So far I cannot count. I stay between 0 and 100, so try \"count to {b}\".",
)
_ALPHABET = ("Say the alphabet.", "Recite the alphabet.", "What is the alphabet?",
"List the letters "
             "of the alphabet.", "Do you know the alphabet?", "Write the alphabet.", "the ABC",
             "Can you say your ABC?", "Tell me the alphabet.", "Spell out the alphabet.", "abc")
_DAYS_ASKED = ("What are the days of the week?", "Name the days of the week.", "days of the week",
               "List the days of the week.", "Tell me the days of the week.", "Which days are in "
               "a week?", "Can you say the days of the week?", "Name all seven days.")
_MONTHS_ASKED = ("What are the months of the year?", "Name the months.", "List the months of the "
                 "year.", "Tell me the twelve months.", "months of the year", "Name all the "
                 "months.", "Can you say the months?", "Which months are in a year?")


@dataclass(frozen=True)
class Count:
    """One row of numbers: where it starts, where it ends, its step, and whether in words."""

    start: int
    end: int
    step: int
    words: bool = False

    def values(self) -> list[int]:
        """The numbers of the row in order."""
        past = self.end + (1 if self.step > 0 else -1)
        return list(range(self.start, past, self.step))


def _joined(values: list[int], words: bool) -> str:
    text = ", ".join(_WORDS[v] if words else str(v) for v in values) + "."
    return capital(text)


def answer(count: Count, rng: random.Random) -> str:
    """The count as text, cut after 20 numbers where it is too long for one answer."""
    values = count.values()
    if len(values) <= _LONGEST:
        return _joined(values, count.words)
    return _joined(values[:20], count.words) + pick(rng, _STOP)


def _written(rng: random.Random, value: int, words: bool) -> str:
    return _WORDS[value] if value <= 20 and (words or rng.random() < 0.2) else str(value)


def _ask(rng: random.Random, forms: tuple[str, ...], count: Count) -> str:
    spelt = count.words or rng.random() < 0.1
    text = pick(rng, forms).format(
        a=_written(rng, count.start, spelt), b=_written(rng, count.end, spelt))
    if count.words:
        body = text.rstrip(".?")
        text = body + pick(rng, (" in words", ", in words", " with words", " in words please"))
        text += "?" if body.startswith(("Can", "Could", "How")) else "."
    return typed(rng, text)


def _span(rng: random.Random, words: bool) -> tuple[int, int]:
    if words:
        low = rng.choice((0, 1, 1, 1, rng.randint(0, 12)))
        return low, rng.randint(low + 2, 20)
    if rng.random() < 0.5:
        low = rng.randint(0, 20)
    else:
        low = rng.randint(0, 97)
    return low, min(100, low + rng.randint(2, 14 if rng.random() < 0.75 else 24))


def row(rng: random.Random) -> tuple[str, Count]:
    """A question that asks for a count, and the count it asks for."""
    words = rng.random() < 0.14
    kind = rng.random()
    if kind < 0.34:
        low, high = _span(rng, words)
        count = Count(low, high, 1, words)
        return _ask(rng, _UP, count), count
    if kind < 0.60:
        top = 20 if words else rng.choice((10, 10, 20, 15, 25, 30, 50, 100, rng.randint(3, 25),
                                           rng.randint(3, 25), rng.randint(3, 25)))
        count = Count(1, rng.randint(3, 20) if words else top, 1, words)
        return _ask(rng, _UP_FROM_ONE, count), count
    if kind < 0.78:
        low, high = _span(rng, words)
        count = Count(high, low, -1, words)
        return _ask(rng, _DOWN, count), count
    if kind < 0.90:
        count = Count(rng.choice((10, 10, 5, 20, rng.randint(3, 20), rng.randint(3, 20))),
                      1, -1, words)
        return _ask(rng, _DOWN_TO_ONE, count), count
    step = rng.choice((2, 2, 5, 10, 3))
    count = Count(step, step * rng.randint(3, {2: 20, 3: 12, 5: 20, 10: 10}[step]), step)
    name, digits = _STEPS[step]
    text = pick(rng, _BY_STEP).format(s=name, d=digits, b=count.end)
    return typed(rng, text), count


def _neighbour(rng: random.Random) -> tuple[str, str]:
    value = rng.randint(1, 99) if rng.random() < 0.6 else rng.randint(1, 20)
    after = rng.random() < 0.6
    number = _written(rng, value, False)
    text = typed(rng, pick(rng, _AFTER if after else _BEFORE).format(n=number))
    other = value + 1 if after else value - 1
    side = "after" if after else "before"
    said = f"{other} comes {side} {value}."
    return text, pick(rng, (f"The number {side} {value} is {other}.", said,
                            f"{capital(side)} {value} comes {other}.")
                      if after else (f"The number before {value} is {other}.", said))


def _day_or_month(rng: random.Random) -> tuple[str, str]:
    names, kind = (DAYS, "day") if rng.random() < 0.6 else (MONTHS, "month")
    place = rng.randrange(len(names))
    after = rng.random() < 0.65
    other = names[(place + (1 if after else -1)) % len(names)]
    side = "after" if after else "before"
    text = pick(rng, (f"Which {kind} comes {side} {names[place]}?", f"What {kind} is {side} "
                      f"{names[place]}?", f"What comes {side} {names[place]}?"))
    return typed(rng, text), f"{other} comes {side} {names[place]}."


def _letter(rng: random.Random) -> tuple[str, str]:
    place = rng.randrange(25)
    letter, after = _LETTERS[place], _LETTERS[place + 1]
    if rng.random() < 0.6:
        text = pick(rng, (f"Which letter comes after {letter}?", f"What letter is after "
                          f"{letter}?", f"What comes after {letter} in the alphabet?"))
        return typed(rng, text), f"{after} comes after {letter}."
    text = pick(rng, (f"Which letter comes before {after}?", f"What letter is before {after}?"))
    return typed(rng, text), f"{letter} comes before {after}."


def _by_heart(rng: random.Random) -> tuple[str, str]:
    kind = rng.random()
    if kind < 0.25:
        return typed(rng, pick(rng, _ALPHABET)), ", ".join(_LETTERS) + "."
    if kind < 0.45:
        return typed(rng, pick(rng, _DAYS_ASKED)), ", ".join(DAYS) + "."
    if kind < 0.62:
        return typed(rng, pick(rng, _MONTHS_ASKED)), ", ".join(MONTHS) + "."
    return _day_or_month(rng) if kind < 0.85 else _letter(rng)


def _too_far(rng: random.Random) -> tuple[str, str]:
    far = rng.choice((1000, 1000, 200, 500, 10000, 1000000, rng.randint(101, 9999)))
    text = pick(rng, (f"Count to {far}.", f"Count from 1 to {far}.", f"Can you count to {far}?",
                      f"Count down from {far}.", f"Count backwards from {far}.",
                      "Count to a million.", "Count to a thousand.", "Count to infinity.",
                      f"Count from {far} to {far + rng.randint(3, 90)}."))
    low = rng.randint(1, 40)
    reply = pick(rng, _TOO_FAR).format(a=low, b=low + rng.randint(5, 15))
    return typed(rng, text), reply


def exchange(rng: random.Random) -> tuple[str, str]:
    """One question about a row of numbers, letters, days or months, with its answer."""
    kind = rng.random()
    if kind < 0.68:
        text, count = row(rng)
        return text, answer(count, rng)
    if kind < 0.82:
        return _neighbour(rng)
    return _by_heart(rng) if kind < 0.96 else _too_far(rng)


def _next_row(count: Count) -> Count:
    shown = count.values()
    if len(shown) > _LONGEST:
        return Count(shown[19] + count.step, count.end, count.step)
    size = min(len(shown), 10)
    start = shown[-1] + count.step
    limit = 20 if count.words else 100
    end = max(0, min(limit, start + count.step * (size - 1)))
    end = start + (end - start) // count.step * count.step
    return Count(start, end, count.step, count.words)


def _can_go_on(count: Count) -> bool:
    last = count.end if len(count.values()) <= _LONGEST else count.values()[19]
    limit = 20 if count.words else 100
    return 0 <= last + 2 * count.step <= limit


def follow_up(rng: random.Random) -> list[tuple[str, str]]:
    """A count, then one or two requests that build on it: three pairs at most."""
    text, count = row(rng)
    pairs = [(text, answer(count, rng))]
    for _ in range(rng.choice((1, 1, 2))):
        way = rng.random()
        size = len(count.values())
        if size > _LONGEST or (way < 0.4 and _can_go_on(count)):
            count = _next_row(count)
            text = pick(rng, _GO_ON)
        elif way < 0.7:
            shown = count.values()
            count = Count(shown[-1], shown[0], -count.step, count.words)
            text = pick(rng, _BACKWARDS)
        elif way < 0.85 and not count.words and max(count.start, count.end) <= 20:
            count = Count(count.start, count.end, count.step, True)
            text = pick(rng, _IN_WORDS)
        else:
            text = pick(rng, _AGAIN)
        pairs.append((text, answer(count, rng)))
    return pairs
