"""The few facts the model knows: colours, sounds, opposites, and the lives of common animals.

The set is closed. A question of the same form about an invented thing gets a friendly "I do not
know", so that the forms alone do not call forth an answer.
"""

import random

from recipe.corpus.talk_self import offer
from recipe.corpus.talk_style import article, capital, invented, listed, pick, typed

_COLOURS = (
    ("the sky", "is", "blue"), ("grass", "is", "green"), ("snow", "is", "white"),
    ("the sun", "is", "yellow"), ("a banana", "is", "yellow"), ("a lemon", "is", "yellow"),
    ("a strawberry", "is", "red"), ("a tomato", "is", "red"), ("a cherry", "is", "red"),
    ("blood", "is", "red"), ("milk", "is", "white"), ("coal", "is", "black"),
    ("the night", "is", "black"), ("a crow", "is", "black"), ("a frog", "is", "green"),
    ("a carrot", "is", "orange"), ("an orange", "is", "orange"), ("a pumpkin", "is", "orange"),
    ("the sea", "is", "blue"), ("a leaf", "is", "green"), ("chocolate", "is", "brown"),
    ("a bear", "is", "brown"), ("a fox", "is", "red"), ("a pig", "is", "pink"),
    ("an elephant", "is", "grey"), ("a mouse", "is", "grey"), ("a polar bear", "is", "white"),
    ("a plum", "is", "purple"), ("a cucumber", "is", "green"), ("a swan", "is", "white"),
    ("sand", "is", "yellow"), ("wood", "is", "brown"), ("fire", "is", "red"),
    ("rain", "is", "clear"),
    ("a cloud", "is", "white"), ("a ladybird", "is", "red with black spots"),
    ("a zebra", "is", "black and white"), ("a panda", "is", "black and white"),
    ("a bee", "is", "yellow and black"), ("a flamingo", "is", "pink"), ("a pea", "is", "green"),
)
_SOUNDS = (
    ("dog", "barks", "woof"), ("cat", "meows", "meow"), ("cow", "moos", "moo"),
    ("sheep", "bleats", "baa"), ("pig", "grunts", "oink"), ("duck", "quacks", "quack"),
    ("horse", "neighs", "neigh"), ("lion", "roars", "roar"), ("frog", "croaks", "ribbit"),
    ("bee", "buzzes", "buzz"), ("owl", "hoots", "hoo"), ("mouse", "squeaks", "squeak"),
    ("snake", "hisses", "hiss"), ("hen", "clucks", "cluck"), ("crow", "caws", "caw"),
    ("wolf", "howls", "awoo"), ("goat", "bleats", "meh"), ("donkey", "brays", "hee-haw"),
    ("bird", "sings", "tweet"), ("bear", "growls", "grr"), ("cuckoo", "calls", "cuckoo"),
    ("turkey", "gobbles", "gobble"), ("dove", "coos", "coo"), ("rooster", "crows",
     "cock-a-doodle-doo"),
)
_OPPOSITES = (
    ("big", "small"), ("hot", "cold"), ("day", "night"), ("up", "down"), ("fast", "slow"),
    ("old", "new"), ("happy", "sad"), ("open", "closed"), ("light", "dark"), ("hard", "soft"),
    ("long", "short"), ("wet", "dry"), ("full", "empty"), ("left", "right"), ("in", "out"),
    ("black", "white"), ("good", "bad"), ("near", "far"), ("early", "late"), ("loud", "quiet"),
    ("strong", "weak"), ("rich", "poor"), ("clean", "dirty"), ("thick", "thin"), ("high", "low"),
    ("first", "last"), ("yes", "no"), ("summer", "winter"), ("brave", "afraid"),
    ("awake", "asleep"),
    ("sweet", "sour"), ("begin", "end"), ("give", "take"), ("laugh", "cry"), ("push", "pull"),
    ("win", "lose"), ("north", "south"), ("east", "west"), ("before", "after"), ("heavy", "light"),
)
# Animal: what it eats, where it lives, its young, how many legs it has.
_ANIMALS = (
    ("cat", "mice and fish", "in houses and gardens", "kitten", "four"),
    ("dog", "meat and bones", "in houses with people", "puppy", "four"),
    ("cow", "grass", "on farms", "calf", "four"),
    ("horse", "grass and hay", "on farms", "foal", "four"),
    ("sheep", "grass", "on meadows", "lamb", "four"),
    ("goat", "grass and leaves", "on hills", "kid", "four"),
    ("pig", "roots and corn", "on farms", "piglet", "four"),
    ("fox", "mice and berries", "in the forest", "cub", "four"),
    ("bear", "berries, fish and honey", "in the forest", "cub", "four"),
    ("lion", "meat", "on the savanna", "cub", "four"),
    ("tiger", "meat", "in the jungle", "cub", "four"),
    ("wolf", "meat", "in the forest", "pup", "four"),
    ("rabbit", "grass and carrots", "in a burrow", "kit", "four"),
    ("squirrel", "nuts and seeds", "in trees", "kit", "four"),
    ("mouse", "seeds and grain", "in small holes", "pup", "four"),
    ("hedgehog", "worms and beetles", "under hedges", "hoglet", "four"),
    ("deer", "grass and leaves", "in the forest", "fawn", "four"),
    ("elephant", "grass and leaves", "on the savanna", "calf", "four"),
    ("giraffe", "leaves", "on the savanna", "calf", "four"),
    ("panda", "bamboo", "in forests in the hills", "cub", "four"),
    ("koala", "leaves", "in trees", "joey", "four"),
    ("kangaroo", "grass", "on dry plains", "joey", "four"),
    ("frog", "flies", "in ponds", "tadpole", "four"),
    ("turtle", "plants and small animals", "in ponds and in the sea", "hatchling", "four"),
    ("duck", "water plants and snails", "on ponds", "duckling", "two"),
    ("hen", "grain and worms", "on farms", "chick", "two"),
    ("owl", "mice", "in old trees", "owlet", "two"),
    ("goose", "grass", "near water", "gosling", "two"),
    ("swan", "water plants", "on lakes", "cygnet", "two"),
    ("penguin", "fish", "in cold places by the sea", "chick", "two"),
    ("robin", "worms and berries", "in gardens", "chick", "two"),
    ("eagle", "meat and fish", "on high rocks", "eaglet", "two"),
    ("bee", "nectar and pollen", "in a hive", "larva", "six"),
    ("ant", "seeds and sweet things", "in an anthill", "larva", "six"),
    ("butterfly", "nectar", "in gardens and meadows", "caterpillar", "six"),
    ("spider", "flies", "in a web", "spiderling", "eight"),
    ("whale", "tiny sea animals", "in the sea", "calf", "no"),
    ("dolphin", "fish", "in the sea", "calf", "no"),
    ("shark", "fish", "in the sea", "pup", "no"),
    ("snail", "leaves", "in gardens", "", "no"),
    ("snake", "mice and frogs", "in grass and under stones", "hatchling", "no"),
    ("seal", "fish", "on cold coasts", "pup", "no"),
    ("crab", "small sea animals", "on the shore", "", "ten"),
)
_RHYMES = (
    ("cat", "hat", "bat", "mat", "rat"), ("dog", "frog", "log", "fog"),
    ("moon", "spoon", "soon", "noon"),
    ("star", "car", "far", "jar"), ("tree", "bee", "sea", "three"), ("house", "mouse", "blouse"),
    ("night", "light", "bright", "kite"), ("day", "play", "way", "hay"),
    ("rain", "train", "lane", "plane"),
    ("snow", "go", "slow", "grow"), ("fox", "box", "socks", "rocks"), ("sun", "fun", "run", "one"),
    ("bear", "chair", "hair", "pear"), ("king", "ring", "sing", "wing"),
    ("goat", "boat", "coat", "note"),
    ("cake", "lake", "snake", "make"), ("ball", "fall", "tall", "wall"),
    ("sky", "fly", "high", "why"),
    ("bed", "red", "bread", "head"), ("duck", "luck", "truck"), ("hen", "pen", "ten", "men"),
    ("fish", "dish", "wish"), ("nose", "rose", "toes"), ("pig", "big", "wig"),
    ("bell", "well", "shell"),
)
_KINDS = {
    "animals": ("fox", "cat", "dog", "rabbit", "owl", "bear", "duck", "horse", "lion", "frog"),
    "colours": ("red", "blue", "green", "yellow", "white", "black", "brown", "pink"),
    "fruits": ("apple", "pear", "banana", "cherry", "plum", "lemon", "grape", "orange"),
    "vegetables": ("carrot", "potato", "onion", "pea", "bean", "cabbage", "cucumber"),
    "birds": ("robin", "owl", "crow", "duck", "swan", "eagle", "sparrow", "penguin"),
    "farm animals": ("cow", "pig", "sheep", "goat", "hen", "horse", "duck"),
    "sea animals": ("whale", "crab", "seal", "shark", "dolphin", "octopus"),
    "insects": ("bee", "ant", "fly", "butterfly", "beetle", "wasp"),
    "trees": ("oak", "birch", "pine", "apple tree", "maple", "willow"),
    "flowers": ("rose", "tulip", "daisy", "lily", "sunflower", "violet"),
    "toys": ("ball", "doll", "kite", "teddy bear", "puzzle", "drum"),
    "things in the sky": ("sun", "moon", "star", "cloud", "rainbow", "bird"),
    "wild animals": ("fox", "wolf", "bear", "lion", "tiger", "deer"),
    "seasons": ("spring", "summer", "autumn", "winter"),
    "numbers": ("one", "two", "three", "four", "five", "six", "seven"),
}
_ABLE = (
    ("fly", ("bird", "bee", "owl", "butterfly", "crow", "duck", "eagle"),
     ("dog", "cat", "pig", "cow", "frog", "snail", "fish", "penguin", "horse")),
    ("swim", ("fish", "duck", "frog", "whale", "seal", "dolphin", "penguin", "otter"),
     ("hen", "butterfly", "bee")),
    ("climb trees", ("cat", "squirrel", "bear", "koala"), ("cow", "fish", "horse", "duck",
     "whale")),
)
_FIXED = (
    (("How many days are in a week?", "How many days does a week have?", "days in a week?"),
     "A week has seven days."),
    (("How many months are in a year?", "How many months does a year have?"),
     "A year has twelve months."),
    (("How many days are in a year?", "How many days does a year have?"),
     "A year has 365 days, and a leap "
     "year has 366."),
    (("How many hours are in a day?", "How many hours does a day have?"), "A day has 24 hours."),
    (("How many minutes are in an hour?", "How many minutes does an hour have?"),
     "An hour has 60 minutes."),
    (("How many seconds are in a minute?",), "A minute has 60 seconds."),
    (("What are the seasons?", "Name the four seasons.", "Which seasons are there?",
     "How many seasons are "
      "there?"), "There are four seasons: spring, summer, autumn and winter."),
    (("How many letters are in the alphabet?", "How many letters does the alphabet have?"),
     "The alphabet has 26 letters."),
    (("What do bees make?", "Who makes honey?", "Where does honey come from?"), "Bees make honey."),
    (("Where does milk come from?", "Who gives us milk?"), "Milk comes from cows."),
    (("Where does wool come from?", "Who gives us wool?"), "Wool comes from sheep."),
    (("Where do eggs come from?", "Who lays eggs?"), "Hens and other birds lay eggs."),
    (("Which animal has a trunk?", "Who has a long trunk?"), "An elephant has a trunk."),
    (("Which animal has a long neck?", "Who has the longest neck?"),
     "A giraffe has a very long neck."),
    (("Which animal has stripes?", "Who has black and white stripes?"),
     "A zebra has black and white stripes."),
    (("What colours are in a rainbow?", "What colour is a rainbow?", "colours of the rainbow"),
     "A rainbow is red, orange, yellow, green, blue and violet."),
    (("What falls from the clouds?", "Where does rain come from?"), "Rain falls from the clouds."),
    (("When do leaves fall?", "In which season do leaves fall?"), "Leaves fall in autumn."),
    (("When does it snow?", "In which season does it snow?"), "It snows in winter."),
    (("When do flowers bloom?", "In which season do flowers bloom?"),
     "Many flowers bloom in spring."),
    (("What shines at night?", "What can you see in the sky at night?"),
     "The moon and the stars shine at night."),
    (("What shines in the day?", "What shines during the day?"), "The sun shines in the day."),
    (("How many legs do you have?",), "I have no legs at all. I am only a small model."),
    (("How many fingers are on one hand?", "How many fingers does a hand have?"),
     "A hand has five fingers."),
    (("How many wheels does a bicycle have?",), "A bicycle has two wheels."),
    (("How many wheels does a car have?",), "A car has four wheels."),
    (("Is fire hot?", "Is the fire hot?"), "Yes, fire is hot."),
    (("Is ice cold?",), "Yes, ice is cold."),
    (("Is ice hot?",), "No, ice is cold."), (("Is water wet?",), "Yes, water is wet."),
    (("Is a whale a fish?",), "No, a whale is not a fish. It breathes air."),
    (("Is a penguin a bird?",), "Yes, a penguin is a bird, but it cannot fly."),
)
_NO_IDEA = (
    "I do not know what {x} is.", "I have never heard of {x}.", "I am sorry, I do not know {x}.",
    "{X} is new to me, and I know nothing about it.", "I do not know anything about {x}.",
)
_COUNTED = {2: "two", 3: "three", 4: "four", 5: "five"}
_KIND_NAMES = tuple(_KINDS)

_COLOUR_ASKED = (
    "What {w} {v} {x}?", "Which {w} {v} {x}?", "What {w} does {x} have?", "{w} of {x}",
    "Tell me the {w} of {x}.", "What is the {w} of {x}?",
)
_GUESSES = ("red", "blue", "green", "yellow", "white", "black", "brown", "pink")
_SOUND_ASKED = (
    "What sound does {one} make?", "What does {one} say?", "How does {one} go?",
    "Which noise does {one} make?", "What does the {x} say?", "What noise does {one} make?",
    "What sound does the {x} make?",
)
_SHARED_CRIES = ("bleats", "sings", "calls", "crows")
_OPPOSITE_ASKED = (
    "What is the opposite of {x}?", "opposite of {x}", "Tell me the opposite of {x}.",
    "What's the opposite of {x}?", "What is the opposite of \"{x}\"?",
)
_YOUNG_ASKED = (
    "What is a baby {x} called?", "What do you call a young {x}?", "What is a young {x} called?",
    "What is the name for a baby {x}?",
)
_SHARED_YOUNG = ("cub", "calf", "pup", "kit", "chick", "hatchling", "larva", "joey", "kid")
_FOOD_ASKED = (
    "What does {one} eat?", "What do you feed {one}?", "What does the {x} like to eat?",
    "What is the food of {one}?", "Tell me what {one} eats.",
)
_HOME_ASKED = (
    "Where does {one} live?", "Where is the home of {one}?", "Where does the {x} live?",
    "Where can I find {one}?",
)
_LEGS_ASKED = (
    "How many legs does {one} have?", "How many legs has {one}?", "Count the legs of {one}.",
    "How many legs does the {x} have?",
)
_ABOUT_ASKED = (
    "What is {one}?", "What do you know about {one}?", "Do you know what {one} is?",
    "Give me a fact about {one}.", "Tell me a fact about {one}.",
)
_RHYME_ASKED = (
    "What rhymes with {x}?", "Which words rhyme with {x}?", "Find a rhyme for {x}.",
    "Give me a rhyme for {x}.", "rhyme with {x}",
)
_EXAMPLES_ASKED = (
    "Name {n} {x}.", "Give me {n} {x}.", "Tell me {n} {x}.", "List {n} {x}.", "{n} {x}",
    "Can you name {n} {x}?",
)
_UNKNOWN_ASKED = (
    "What colour is {one}?", "What sound does {one} make?", "What does {one} eat?",
    "Where does {one} live?", "How many legs does {one} have?", "What does {one} say?",
    "What is {one}?", "Can {one} fly?", "Where can I find {one}?", "Can {one} swim?",
    "What do you know about {one}?", "What is a baby {x} called?", "What rhymes with {x}?",
    "What is the opposite of {x}?", "Give me a fact about {one}.",
)


def _colour(rng: random.Random) -> tuple[str, str]:
    thing, verb, colour = _COLOURS[int(rng.random() * len(_COLOURS))]
    if rng.random() < 0.8:
        word = "colour" if rng.random() < 0.7 else "color"
        text = pick(rng, _COLOUR_ASKED).format(w=word, v=verb, x=thing)
        return text, f"{capital(thing)} {verb} {colour}."
    guess = pick(rng, _GUESSES)
    if rng.random() < 0.5 or guess in colour:
        return f"Is {thing} {colour}?", f"Yes, {thing} {verb} {colour}."
    return f"Is {thing} {guess}?", f"No, {thing} {verb} {colour}."


def _sound(rng: random.Random) -> tuple[str, str]:
    animal, verb, cry = _SOUNDS[int(rng.random() * len(_SOUNDS))]
    one = article(animal)
    said = f"{capital(one)} says {cry}."
    if rng.random() < 0.3 and verb not in _SHARED_CRIES:
        text = pick(rng, ("Which animal {v}?", "Who says {c}?", "Which animal says {c}?"))
        return text.format(v=verb, c=cry), said
    answer = pick(rng, (said, f"{capital(one)} {verb}: {cry}!",
                        f"{capital(cry)}! That is what {one} says."))
    return pick(rng, _SOUND_ASKED).format(one=one, x=animal), answer


def _opposite(rng: random.Random) -> tuple[str, str]:
    pair = _OPPOSITES[int(rng.random() * len(_OPPOSITES))]
    word, other = pair if rng.random() < 0.5 or pair[1] == "light" else pair[::-1]
    return pick(rng, _OPPOSITE_ASKED).format(x=word), f"The opposite of {word} is {other}."


def _animal(rng: random.Random) -> tuple[str, str]:
    name, food, home, young, legs = _ANIMALS[int(rng.random() * len(_ANIMALS))]
    one = article(name)
    kind = rng.randrange(5)
    if kind == 0 and young:
        if rng.random() < 0.25 and young not in _SHARED_YOUNG:
            baby = article(young)
            return f"What is {baby}?", f"{capital(baby)} is a young {name}."
        return (pick(rng, _YOUNG_ASKED).format(x=name),
                f"A young {name} is called {article(young)}.")
    if kind <= 1:
        return pick(rng, _FOOD_ASKED).format(one=one, x=name), f"{capital(one)} eats {food}."
    if kind == 2:
        return pick(rng, _HOME_ASKED).format(one=one, x=name), f"{capital(one)} lives {home}."
    if kind == 3:
        return (pick(rng, _LEGS_ASKED).format(one=one, x=name),
                f"{capital(one)} has {legs} legs.")
    answer = pick(rng, (f"{capital(one)} is an animal. It lives {home} and eats {food}.",
                        f"{capital(one)} lives {home} and eats {food}.",
                        f"{capital(one)} is an animal that lives {home}."))
    return pick(rng, _ABOUT_ASKED).format(one=one), answer


def _rhyme(rng: random.Random) -> tuple[str, str]:
    group = _RHYMES[int(rng.random() * len(_RHYMES))]
    word, first, second = rng.sample(group, 3)
    answer = f"{capital(first)} and {second} rhyme with {word}."
    return pick(rng, _RHYME_ASKED).format(x=word), answer


def _examples(rng: random.Random) -> tuple[str, str]:
    kind = pick(rng, _KIND_NAMES)
    count = rng.choice((2, 3, 3, 3, 4))
    words = rng.sample(_KINDS[kind], count)
    number = _COUNTED[count] if rng.random() < 0.7 else str(count)
    text = pick(rng, _EXAMPLES_ASKED).format(n=number, x=kind)
    if rng.random() < 0.3:
        return text, f"Here are {_COUNTED[count]} {kind}: {listed(words)}."
    if kind not in ("colours", "seasons", "numbers"):
        words = [article(word) for word in words]
    return text, capital(listed(words)) + "."


def _able(rng: random.Random) -> tuple[str, str]:
    skill, can, cannot = _ABLE[int(rng.random() * len(_ABLE))]
    if rng.random() < 0.5:
        one = article(pick(rng, can))
        return f"Can {one} {skill}?", f"Yes, {one} can {skill}."
    one = article(pick(rng, cannot))
    return f"Can {one} {skill}?", f"No, {one} cannot {skill}."


def _fixed(rng: random.Random) -> tuple[str, str]:
    asked, answer = _FIXED[int(rng.random() * len(_FIXED))]
    return pick(rng, asked), answer


def _unknown(rng: random.Random) -> tuple[str, str]:
    word = invented(rng)
    text = pick(rng, _UNKNOWN_ASKED)
    thing = article(word) if "{one}" in text or "baby" in text else word
    answer = pick(rng, _NO_IDEA).format(x=thing, X=capital(thing))
    return text.format(one=thing, x=word), answer + " " + offer(rng, instead=True)


_FORMS = (_colour, _sound, _opposite, _animal, _rhyme, _examples, _able, _fixed, _unknown)
_WEIGHTS = (14, 12, 12, 24, 8, 14, 5, 10, 8)


def exchange(rng: random.Random) -> tuple[str, str]:
    """One question about a small fact, with its answer."""
    text, answer = rng.choices(_FORMS, _WEIGHTS)[0](rng)
    return typed(rng, text), answer
