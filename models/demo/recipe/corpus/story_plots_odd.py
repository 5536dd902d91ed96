"""Plots around a thing: a favourite food, a magic find, a rocket to the moon."""

from .story_plot import Plot

MEET = ("@meet",)

PLOTS = (
    Plot(
        key="food", fits="lbwco", emoji="😋",
        asks=("loves {food}", "likes {food} more than anything", "is always hungry for {food}"),
        topics=("{food}",),
        feel="sad", problem="loved {food}, but one day there were none left",
        why="there were no {food} left", did="showed {him} how to make {food}",
        end="there were {food} for everyone",
        moral=("What you can make yourself, you can also give away.",
               "Food tastes best at a full table."),
        titles=("{N} and the {Food}", "No More {Food}?", "{Food} for Everyone"),
        slots={"food": ("pancakes", "cookies", "strawberries", "dumplings", "waffles", "noodles",
                        "cheese rolls", "honey cakes", "plums", "carrots", "pretzels", "pies",
                        "sandwiches", "biscuits", "blueberries", "cupcakes", "tomatoes",
                        "muffins")},
        begin=(
            ("{N} loved {food} more than anything else in the world.",
             "What {N} loved most of all was {food}.",
             "{N} loved {food} and wanted to eat them every single day."),
            ("{He} ate them in the morning, at noon, and once more before bed.",
             "\"I could eat a hundred,\" {he} often said.",
             "{He} even dreamed about them at night."),
        ),
        meet=(
            ("But one day the cupboard was empty. There were no {food} left.",
             "Then one morning {he} opened the box, and not a single one was left.",),
            ("{N} asked everyone {in}, but nobody had any.",
             "{N} sat beside {spot} with a growling tummy."),
            MEET,
        ),
        turn=(
            ("\"No {food}?\" said {H}. \"Then we have to make some ourselves.\"",
             "\"I know where they come from,\" said {H}. \"Come, I will show you.\""),
            ("{N} had only ever eaten them, so {he} watched very carefully.",
             "It was not easy, and it took the whole afternoon."),
            ("The first ones were a little odd, but the next ones were wonderful.",
             "Soon there was a big heap, and it smelled so good that all the neighbours came."),
        ),
        close=(
            ("There were {food} for everyone {in}, and {N} served them {himself}.",
             "{N} ate only three, because it was so much nicer to share the rest.",
             "Since that day {N} makes {food} every Sunday, and {H} always comes to help."),
        ),
    ),
    Plot(
        key="magic", fits="lbwco", emoji="🪄",
        asks=("finds a magic {find}", "has a magic {find}", "discovers a magic {find}"),
        topics=("a magic {find}", "magic"),
        feel="sorry", problem="found a magic {find} and wished for too much",
        why="the wishes went wrong", did="told {him} to make one wish for somebody else",
        end="the magic {find} made everyone glad",
        moral=("The best wish is one for somebody else.", "Too much of a good thing is too much."),
        titles=("The Magic {Find}", "{N} and the Magic {Find}", "Three Wishes"),
        slots={"find": ("stone", "hat", "spoon", "umbrella", "mirror", "pencil", "ring", "bottle",
                        "book", "shoe", "carpet", "button", "whistle", "lamp", "key", "box"),
               "wonder": ("a garden full of flowers", "a swing for everyone",
                          "a warm summer evening with music",
                          "a fountain of sweet lemonade")},
        begin=(
            ("One day {N} found a magic {find} beside {spot}.",
             "One morning something shone near {spot}, and {N} found a magic {find}.",),
            ("\"Three wishes for you,\" said a tiny voice, \"but choose them well.\"",
             "It hummed softly and said, \"You may make three wishes.\""),
        ),
        meet=(
            ("\"I want a mountain of cake!\" said {N}. Plop! There was so much cake that nobody "
             "could get past.",
             "First {N} wished for a hundred balloons. They came, and they carried {his} bed away.",
             "First {N} wished for snow in summer, and soon everyone {in} was freezing."),
            ("\"Make it go away!\" cried {N}. It worked, but now two wishes were gone.",
             "{N} had to use the second wish to put everything right again."),
            MEET,
        ),
        turn=(
            ("\"One wish is left,\" said {N}, \"and I am afraid of it.\"",
             "\"What shall I do with my last wish?\" asked {N}."),
            ("\"Make it a wish for somebody else,\" said {H}.",
             "{H} thought for a while. \"Who needs something more than you do?\" {hhe} asked."),
            ("{N} thought of all the neighbours, and then {he} wished for {wonder}.",
             "Then {N} held the {find} tightly and wished for {wonder}."),
        ),
        close=(
            ("Everyone {in} came to see it, and the magic {find} shone one last time.",
             "It was the best wish of the three, for it was for everybody.",
             "The {find} was never magic again, but {N} kept it, because it was a good story."),
        ),
    ),
    Plot(
        key="moon", fits="lbco", emoji="🚀", scene=False,
        asks=("wants to fly to the moon", "travels to the moon", "builds a rocket"),
        topics=("a trip to the moon", "a rocket", "space", "a journey through space"),
        feel="curious", problem="wanted to fly to the moon",
        why="{he} wanted to know who lived on the moon",
        did="helped {him} to build a rocket out of {stuff}", end="they danced on the moon",
        moral=("Great journeys begin with a small idea.", "Even the moon is nearer with a friend."),
        titles=("{N} and the Moon", "The Rocket", "A Trip to the Moon"),
        slots={"stuff": ("an old bathtub", "three barrels", "a big tin box", "boxes and string")},
        begin=(
            ("{N} wanted to fly to the moon.",
             "Every evening {N} looked up, because {he} wanted to fly to the moon.",
             "{N} dreamed of space, and most of all {he} wanted to fly to the moon."),
            ("\"I want to know who lives up there,\" {he} told everyone {in}.",
             "{He} had read every book about stars and drawn a map of the sky."),
        ),
        meet=(
            ("But a rocket is not easy to build, and the first one fell over with a bang.",
             "{He} built a rocket out of paper, but it only flew as far as {spot}.",),
            MEET,
            ("\"Where do you want to go?\" asked {H}. \"To the moon,\" said {N}.",
             "\"Is there room for two?\" asked {H}. {N} was surprised, but {he} nodded."),
        ),
        turn=(
            ("Together they built a new rocket out of {stuff} and painted it red.",
             "{H} knew what was missing. They built a strong rocket out of {stuff}."),
            ("Three, two, one, zero! With a great whoosh they flew up, past clouds and stars.",
             "The rocket shook and roared, and then {place} was only a tiny dot below."),
            ("They landed softly in silver dust. Each step was a jump, and so they danced.",
             "On the moon everything was light and quiet, and they danced with long slow jumps."),
        ),
        close=(
            ("\"Nobody lives here,\" said {N}, \"but now it has had visitors.\" Then they flew "
             "home.",
             "They waved to the Earth, took one silver stone along, and were home before "
             "breakfast.",
             "Since then, when the moon is full, {N} and {H} look up and smile."),
        ),
    ),
)
