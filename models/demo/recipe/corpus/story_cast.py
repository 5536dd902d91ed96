"""Who and where: names, kinds of heroes and helpers, places and the pictures that go with them."""

from typing import NamedTuple


class Kind(NamedTuple):
    """One sort of hero; `group` is a letter that plots and places match against.

    l land animal, b flyer, w water animal, c child or other person, o thing that moves,
    a thing in the air, s thing that stands still.
    """

    name: str
    group: str
    went: str
    home: str
    emoji: str
    gender: str


class Place(NamedTuple):
    """A place as "in a quiet forest" at first and "in the forest" afterwards."""

    adjective: str
    noun: str
    preposition: str
    groups: str


GIRLS = (
    "Mia Nora Ada Lily Emma Ella Anna Ruby Lucy Rosa Clara Zoe Ivy Maya Luna Molly Daisy "
    "Poppy Hazel Lena Nina Tilda Greta Ida Elsie Maggie Penny Willow Olive Pia Lotte Hanna "
    "Bella Mila Tessa Sofia Juno Wilma Edith Sara "
).split()
BOYS = (
    "Leo Finn Max Tom Ben Sam Otto Theo Hugo Oscar Emil Jack Noah Eli Milo Toby Felix Henry "
    "Arthur Oliver Jonah Anton Karl Bruno Rudi Pip Barney Alfie Rory Ned Paul Ivan Oskar "
    "Hector Gus Will Adam Jasper Casper Victor "
).split()

_MAIN = """
fox l walked den 🦊; owl b flew nest 🦉; hedgehog l walked nest 🦔; rabbit l hopped burrow 🐰
mouse l ran hole 🐭; bear l walked cave 🐻; squirrel l ran nest 🐿️; cat l walked basket 🐱
dog l ran basket 🐶; duck l walked nest 🦆; frog l hopped hut 🐸; turtle l crawled hut 🐢
snail l crawled shell 🐌; elephant l walked hut 🐘; lion l walked den 🦁; tiger l walked den 🐯
monkey l climbed treehouse 🐒; penguin l waddled nest 🐧; pig l ran barn 🐷; sheep l walked barn 🐑
horse l trotted barn 🐴; cow l walked barn 🐮; deer l walked hut 🦌; mole l walked burrow ✨
badger l walked den 🦡; bee b flew hive 🐝; butterfly b flew bush 🦋; bat b flew cave 🦇
bird b flew nest 🐦; dragon b flew cave 🐉; whale w swam cave 🐳; dolphin w swam cave 🐬
fish w swam cave 🐟; octopus w swam cave 🐙; crab w crawled hole 🦀; seal w swam cave 🦭
girl c walked house 👧 f; boy c walked house 👦 m; robot o rolled shed 🤖; train o rolled shed 🚂
boat o sailed dock ⛵; car o rolled garage 🚗; cloud a drifted corner 🌥️; kite a sailed cloud 🪁
balloon a floated cloud 🎈; star a drifted cloud ⭐; snowman s moved garden ⛄
lantern s moved shelf 🏮; lighthouse s moved rock 🌊
"""
_TAIL = """
goat l walked barn 🐐; donkey l walked barn ✨; otter l ran den 🦦; beaver l walked lodge 🦫
raccoon l ran den 🦝; wolf l ran den 🐺; panda l walked hut 🐼; koala l climbed treehouse 🐨
kangaroo l hopped hut 🦘; giraffe l walked hut 🦒; zebra l trotted hut 🦓; hippo l walked hut 🦛
camel l walked hut 🐫; llama l walked barn 🦙; hamster l ran basket 🐹; puppy l ran basket 🐶
kitten l ran basket 🐱; pony l trotted barn 🐴; lamb l ran barn 🐑; chick l ran nest 🐥
hen l walked barn 🐔; goose l walked nest ✨; swan l walked nest 🦢; ant l ran hill 🐜
beetle l crawled hole 🐞; spider l crawled web 🕷️; worm l crawled hole 🌱; lizard l ran hole 🦎
crocodile l crawled hut 🐊; dinosaur l walked cave 🦕; unicorn l trotted barn 🦄
moose l walked hut ✨; lynx l walked den ✨; weasel l ran burrow ✨; toad l hopped hut 🐸
parrot b flew nest 🦜; sparrow b flew nest 🐦; robin b flew nest 🐦; crow b flew nest ✨
eagle b flew nest 🦅; pigeon b flew nest 🐦; seagull b flew nest 🐦; ladybird b flew leaf 🐞
firefly b flew bush ✨; dragonfly b flew leaf ✨; moth b flew bush ✨; fairy b flew flower 🧚
shark w swam cave 🦈; seahorse w swam cave ✨; jellyfish w swam cave ✨; starfish w crawled rock ⭐
shrimp w swam hole 🦐; princess c walked castle 👑 f; prince c walked castle 👑 m
king c walked castle 👑 m; queen c walked castle 👑 f; knight c walked castle ✨
wizard c walked tower ✨; pirate c walked cabin ✨; baker c walked bakery 🍞
gardener c walked cottage 🌷; giant c walked cave ✨; elf c walked cottage ✨
teddy o walked basket 🧸; doll o walked basket ✨; bus o rolled garage 🚌; tractor o rolled barn 🚜
bicycle o rolled shed 🚲; ship o sailed dock 🚢; toy o rolled box ✨; ball o rolled basket ⚽
teapot o rolled shelf ✨; snowflake a drifted cloud ❄️; leaf a drifted cloud 🍂
feather a drifted cloud 🪶; moon a drifted cloud 🌙; rainbow a drifted cloud 🌈
tree s moved garden 🌳; flower s moved garden 🌷; scarecrow s moved field ✨
candle s moved shelf 🕯️; clock s moved shelf ⏰; windmill s moved hill ✨; bell s moved tower 🔔
pumpkin s moved garden 🎃; mushroom s moved garden 🍄
"""


def _kinds(table: str) -> tuple[Kind, ...]:
    rows = (row.split() for row in table.replace("\n", ";").split(";") if row.strip())
    return tuple(Kind(*row[:5], row[5] if len(row) > 5 else "") for row in rows)


MAIN_KINDS = _kinds(_MAIN)
TAIL_KINDS = _kinds(_TAIL)

HELPERS = {
    "land": tuple(
        "owl turtle hedgehog mouse rabbit squirrel robin badger fox frog deer bear snail crow mole "
        "cat dog beaver butterfly sparrow bee duck otter donkey".split()
    ),
    "water": tuple(
        "turtle seal dolphin crab seagull whale fish octopus starfish seahorse otter "
        "penguin".split()
    ),
    "air": tuple("owl robin crow sparrow butterfly swallow seagull goose bee bat".split()),
    "person": tuple("owl cat dog robin fox turtle mouse donkey hedgehog rabbit duck goat".split()),
}
HELPER_ADJECTIVES = ("old", "kind", "wise", "friendly", "cheerful", "gentle", "clever", "patient")

TRAITS = (
    "curious", "shy", "cheerful", "clever", "playful", "quiet", "friendly", "gentle", "dreamy",
    "kind", "brave", "lazy", "grumpy", "silly", "proud",
)

PLACES = (
    Place("quiet", "forest", "in", "lbca"),
    Place("deep green", "wood", "in", "lbca"),
    Place("sunny", "meadow", "in", "lbcoa"),
    Place("small", "village", "in", "lbcoas"),
    Place("green", "valley", "in", "lbcoas"),
    Place("wild", "garden", "in", "lbcos"),
    Place("busy", "farm", "on", "lbcoas"),
    Place("round", "hill", "on", "lbcoas"),
    Place("tall", "mountain", "on", "lbca"),
    Place("big", "park", "in", "lbcoas"),
    Place("little", "town", "in", "lbcoas"),
    Place("slow", "river", "by", "lbco"),
    Place("clear", "lake", "by", "lbcoa"),
    Place("old", "orchard", "in", "lbcoa"),
    Place("small", "island", "on", "lbcoas"),
    Place("sandy", "beach", "on", "lbco"),
    Place("warm", "jungle", "in", "lb"),
    Place("grey", "castle", "in", "lbcos"),
    Place("noisy", "city", "in", "lbcoa"),
    Place("warm", "barn", "in", "lbos"),
    Place("wide", "field", "in", "lbcoas"),
    Place("snowy", "land", "in", "lbcoas"),
    Place("old", "mill", "by", "lbco"),
    Place("busy", "harbour", "by", "lbcoas"),
    Place("narrow", "street", "in", "lco"),
    Place("rocky", "coast", "on", "lbcs"),
    Place("calm", "bay", "in", "w"),
    Place("quiet", "pond", "in", "w"),
    Place("clear", "lake", "in", "w"),
    Place("wide", "river", "in", "w"),
    Place("bright", "reef", "near", "w"),
    Place("deep blue", "sea", "in", "w"),
    Place("cold", "ocean", "in", "w"),
    Place("warm", "lagoon", "in", "w"),
)

# Kinds, places and traits that a plot does not go with, and the only places some kinds stand in.
UNFIT: dict[str, tuple[str, ...]] = {
    "sea": ("beach", "harbour", "coast", "island", "seagull", "pirate", "boat", "ship", "penguin"),
    "snow": ("jungle", "beach", "penguin"),
    "boat": ("boat", "ship"),
    "water": ("boat", "ship", "duck", "penguin", "frog", "toad", "swan", "turtle", "otter",
              "hippo", "crocodile", "beaver", "goose", "pirate", "seagull"),
    "star": ("star", "moon", "lighthouse"),
    "moon": ("moon",),
    "cake": ("baker",),
    "seed": ("gardener",),
    "grumpy": ("cheerful", "friendly", "playful", "silly"),
    "share": ("kind", "friendly", "gentle"),
    "dark": ("brave",),
    "thunder": ("brave",),
    "dance": ("brave", "proud"),
    "friend": ("proud",),
    "school": ("brave",),
    "magic": ("wizard", "fairy"),
    "firstflight": ("bee", "fairy"),
}
ONLY_IN: dict[str, tuple[str, ...]] = {
    "lighthouse": ("coast", "island", "harbour", "hill"),
    "windmill": ("hill", "valley", "field", "village"),
    "snowman": ("land", "village", "park", "garden", "valley", "field"),
    "whale": ("sea", "ocean", "bay"), "shark": ("sea", "ocean", "reef"),
    "dolphin": ("sea", "ocean", "bay", "lagoon"), "boat": ("river", "lake", "harbour", "island"),
    "ship": ("harbour", "island"),
}

SPOTS = {
    "land": ("a big old tree", "a mossy stone", "a wooden bridge", "a thick bush"),
    "water": ("a big grey rock", "a forest of seaweed", "an old anchor", "a pink coral"),
    "air": ("a tall hill", "an old tower", "a high tree", "a red roof"),
    "person": ("a big old tree", "a wooden fence", "a wooden bridge", "a garden gate"),
}


def realm(kind: Kind) -> str:
    """The bank of helpers and spots that suits a hero of this kind."""
    return {"w": "water", "a": "air", "c": "person"}.get(kind.group, "land")


def with_article(words: str) -> str:
    """The words with the right indefinite article in front."""
    if words.startswith(("unicorn", "useful")):
        return "a " + words
    return ("an " if words[0] in "aeiou" else "a ") + words
