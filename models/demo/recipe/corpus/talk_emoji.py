"""Emoji: which one shows a thing, what one shows, several at once, and a line with some in it."""

import random

from recipe.corpus.talk_style import article, capital, pick, typed

ANIMALS = {
    "fox": "🦊", "cat": "🐱", "dog": "🐶", "mouse": "🐭", "rabbit": "🐰", "bear": "🐻", "lion": "🦁",
    "tiger": "🐯", "cow": "🐮", "pig": "🐷", "frog": "🐸", "duck": "🦆", "owl": "🦉", "horse": "🐴",
    "bee": "🐝", "snail": "🐌", "turtle": "🐢", "fish": "🐟", "whale": "🐳", "penguin": "🐧",
    "elephant": "🐘", "hedgehog": "🦔", "butterfly": "🦋", "wolf": "🐺", "sheep": "🐑", "goat": "🐐",
    "monkey": "🐵", "panda": "🐼", "spider": "🕷️", "crab": "🦀", "otter": "🦦", "polar bear": "🐻‍❄️",
}
_FRUIT = {"apple": "🍎", "banana": "🍌", "pear": "🍐", "cherry": "🍒", "lemon": "🍋", "grape": "🍇",
          "strawberry": "🍓", "orange": "🍊"}
_FOOD = {"cake": "🍰", "loaf of bread": "🍞", "cheese": "🧀", "carrot": "🥕", "egg": "🥚", "pizza": "🍕"}
_SKY = {"moon": "🌙", "sun": "☀️", "star": "⭐", "cloud": "☁️", "rainbow": "🌈", "snowflake": "❄️"}
_NATURE = {"tree": "🌳", "flower": "🌸", "leaf": "🍃", "mushroom": "🍄", "wave": "🌊", "fire": "🔥",
           "mountain": "⛰️", "sunflower": "🌻"}
_THINGS = {"heart": "❤️", "house": "🏠", "boat": "⛵", "train": "🚂", "rocket": "🚀", "book": "📖",
           "ball": "⚽", "gift": "🎁", "balloon": "🎈", "key": "🔑", "bell": "🔔", "lamp": "💡",
           "robot": "🤖", "car": "🚗"}
_PEOPLE = {"astronaut": "👩‍🚀", "farmer": "👩‍🌾", "cook": "👨‍🍳", "family": "👨‍👩‍👧", "teacher": "👩‍🏫",
           "firefighter": "🧑‍🚒", "thumbs up": "👍🏽", "waving hand": "👋", "smile": "😊"}
_FLAGS = {"France": "🇫🇷", "Germany": "🇩🇪", "Japan": "🇯🇵", "Italy": "🇮🇹", "China": "🇨🇳",
          "Canada": "🇨🇦", "Spain": "🇪🇸", "Brazil": "🇧🇷"}
_GROUPS = {"animals": ANIMALS, "fruits": _FRUIT, "things in the sky": _SKY, "plants": _NATURE,
           "foods": _FOOD, "things": _THINGS}
_NAMED = {**ANIMALS, **_FRUIT, **_FOOD, **_SKY, **_NATURE, **_THINGS, **_PEOPLE}
_NAMES = tuple(_NAMED)
_ONLY_ONE = ("moon", "sun")
_NO_ARTICLE = ("fire", "cheese", "thumbs up")

_LINES: dict[str, tuple[str, ...]] = {
    "the sea": ("The sea 🌊 sings to the little boat ⛵ all day.",
    "A whale 🐳 says hello to the blue sea 🌊.",
                "A crab 🦀 looks at the waves 🌊 and smiles 😊.", "Fish 🐟 dance under the waves 🌊."),
    "the moon": ("The moon 🌙 looks after the sleeping cat 🐱.",
    "An owl 🦉 greets the moon 🌙 and a star ⭐.",
                 "Good night, moon 🌙, good night, stars ⭐⭐⭐.", "A wolf 🐺 sings to the moon 🌙."),
    "a cat": ("A cat 🐱 sleeps in the warm sun ☀️.", "The cat 🐱 looks at a fish 🐟 and dreams.",
              "One cat 🐱, one mouse 🐭, and a lot of running!", "The cat 🐱 likes its house 🏠."),
    "a fox": ("A fox 🦊 walks under the trees 🌳🌳.", "The fox 🦊 finds a mushroom 🍄.",
              "A red fox 🦊 looks at the moon 🌙."),
    "spring": ("Flowers 🌸 open, and a bee 🐝 comes by.",
    "Spring is here: sun ☀️, leaves 🍃 and flowers 🌸!",
               "A butterfly 🦋 sits on a flower 🌸."),
    "winter": ("Snow ❄️ falls on the house 🏠, and a fire 🔥 is warm inside.",
    "A penguin 🐧 likes the snow ❄️.",
               "The polar bear 🐻‍❄️ loves the winter ❄️."),
    "the rain": ("After the rain there is a rainbow 🌈.", "A frog 🐸 and a snail 🐌 love the rain.",
                 "Rain falls from the cloud ☁️, and the flowers 🌸 drink."),
    "the stars": ("The rocket 🚀 flies to the stars ⭐⭐.", "An astronaut 👩‍🚀 waves 👋 at the stars ⭐.",
                  "One star ⭐ for you, one star ⭐ for me."),
    "a dog": ("The dog 🐶 runs after the ball ⚽.", "A dog 🐶 is a friend with a big heart ❤️.",
              "The dog 🐶 waits at the house 🏠."),
    "a garden": ("In the garden there are a tree 🌳, a bee 🐝 and a hedgehog 🦔.",
                 "A snail 🐌 eats a leaf 🍃 in the garden.", "Flowers 🌸🌻 grow in the garden."),
    "friends": ("The dog 🐶 and the cat 🐱 are friends ❤️.",
    "The bear 🐻 gives the rabbit 🐰 a gift 🎁.",
                "Friends share their cake 🍰 and laugh 😊."),
    "a birthday": ("Happy birthday 🎁🎈! Here is a cake 🍰 for you.",
    "Cake 🍰, balloons 🎈🎈 and friends ❤️!",
                   "A gift 🎁 and a big smile 😊 for your birthday."),
    "a journey": ("The train 🚂 goes over the mountain ⛰️.",
    "A boat ⛵ sails over the waves 🌊 to the sun ☀️.",
                  "The rocket 🚀 flies past the moon 🌙."),
}
_TALK = (
    (("Answer with emoji.", "Answer in emoji.", "Only emoji, please.", "Talk in emoji.",
     "Speak emoji.",
      "Can you use emoji?", "Use emoji.", "Reply with emoji only.", "emoji", "Emoji?",
      "Do you know emoji?"),
     ("👋😊", "😊👍", "🦊🌙⭐", "👋🤖❤️", "🐱🐶🐰", "😊🌸", "👍🏽😊", "🌊⛵☀️", "🐝🌻☀️", "🦉🌙⭐")),
    (("Say hello with emoji.", "Say hi in emoji.", "Greet me with emoji.", "Wave at me.", "👋",
     "hello 👋"),
     ("👋😊", "👋", "Hello! 👋😊", "Hi! 👋", "👋🤖", "Hello! 👋❤️")),
    (("❤️", "I love you ❤️", "Send me a heart.", "😊", "🙂", "Smile!", "👍", "👍🏽", "Give me a heart."),
     ("❤️", "❤️😊", "Thank you! ❤️", "😊❤️", "That is kind. 😊", "👍🏽😊")),
    (("Say good night with emoji.", "Good night 🌙", "🌙", "good night 😴"),
     ("Good night! 🌙⭐", "🌙⭐", "Sleep well! 🌙", "🌙🦉⭐")),
    (("What is your favourite emoji?", "Which emoji do you like?", "Your best emoji?"),
     ("I like the fox 🦊.", "I like the whale 🐳, because it is big and I am small.",
      "The owl 🦉 is fine.")),
    (("Show me a family as emoji.", "A family emoji, please."), ("👨‍👩‍👧",
     "Here is a family: 👨‍👩‍👧")),
)


def _one(name: str) -> str:
    if name in _NO_ARTICLE:
        return name
    return f"the {name}" if name in _ONLY_ONE else article(name)


def _which(rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.1:
        country = pick(rng, tuple(_FLAGS))
        text = pick(rng, (f"Show me the flag of {country} as an emoji.",
        f"Which emoji is the flag of "
                          f"{country}?", f"Flag of {country} as emoji?",
                          f"flag emoji for {country}"))
        return text, pick(rng, (_FLAGS[country], f"The flag of {country} is {_FLAGS[country]}."))
    name = pick(rng, _NAMES)
    sign, one = _NAMED[name], _one(name)
    text = pick(rng, (
        f"Which emoji is {one}?", f"Show me {one} as an emoji.", f"What is the emoji for {one}?",
        f"{capital(name)} emoji?", f"Give me {one} emoji." if name in _NO_ARTICLE else
        f"Give me the {name} emoji.", f"Which emoji shows {one}?", f"Is there an emoji for {one}?",
        f"emoji of {one}", f"Draw {one} with emoji."))
    return text, pick(rng, (sign, f"{sign} is {one}.", f"The emoji for {one} is {sign}.",
                            f"Here is {one}: {sign}"))


def _shown(rng: random.Random) -> tuple[str, str]:
    name = pick(rng, _NAMES)
    sign, one = _NAMED[name], _one(name)
    text = pick(rng, (f"{sign}?", f"What is {sign}?", f"What does {sign} show?", sign,
                      f"What does {sign} mean?", f"Which thing is {sign}?", f"{sign} ?"))
    return text, pick(rng, (f"{sign} is {one}.", f"That is {one} {sign}.",
    f"This emoji shows {one}."))


def _several(rng: random.Random) -> tuple[str, str]:
    kind = pick(rng, tuple(_GROUPS)) if rng.random() < 0.6 else "animals"
    group = _GROUPS[kind]
    count = rng.choice((2, 3, 3, 3, 4, 5))
    names = rng.sample(tuple(group), count)
    number = ("two", "three", "four", "five")[count - 2] if rng.random() < 0.7 else str(count)
    text = pick(rng, (f"Give me {number} {kind} as emoji.", f"Show me {number} {kind} as emoji.",
                      f"{number} {kind} as emoji", f"Name {number} {kind} with emoji.",
                      f"Write {number} {kind} in emoji.", f"{number} emoji {kind}, please"))
    if "Name" in text:
        return text, capital(", ".join(f"{name} {group[name]}" for name in names)) + "."
    return text, " ".join(group[name] for name in names)


def _line(rng: random.Random) -> tuple[str, str]:
    topic = pick(rng, tuple(_LINES))
    text = pick(rng, (f"Write a line about {topic} with emoji.", f"Write about {topic} with emoji.",
                      f"A sentence about {topic} with emoji.", f"Tell me about {topic} with emoji.",
                      f"Write one sentence with emoji about {topic}.", f"{topic}, with emoji"))
    return text, pick(rng, _LINES[topic])


def _talk(rng: random.Random) -> tuple[str, str]:
    asked, replies = _TALK[int(rng.random() * len(_TALK))]
    return pick(rng, asked), pick(rng, replies)


def exchange(rng: random.Random) -> tuple[str, str]:
    """One request about emoji, with its answer."""
    text, answer = rng.choices((_which, _shown, _several, _line, _talk), (30, 18, 20, 18,
    14))[0](rng)
    return (typed(rng, text) if len(text) > 4 else text), answer
