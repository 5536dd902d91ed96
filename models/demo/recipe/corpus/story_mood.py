"""Shared beats: openings, weather, meetings, and what a mood adds to any plot."""

from .story_plot import Beat

OPENINGS: Beat = (
    "Once upon a time, {a_place}, there lived {ak} named {N}.",
    "Once upon a time there was {ak} named {N}, who lived {a_place}.",
    "Once upon a time, {ak} named {N} lived {a_place}.",
    "Once upon a time there was {ak} called {N}, and {his} home was {a_place}.",
)
OTHER_OPENINGS: Beat = (
    "{A_place} there lived {ak} named {N}.",
    "{N} was {ak} who lived {a_place}.",
    "Far away, {a_place}, there lived {ak} called {N}.",
    "There once was {ak} named {N}. {His} home was {a_place}.",
    "Not so long ago, {ak} called {N} lived {a_place}.",
)

MEETINGS: Beat = (
    "Just then {ahk} named {H} came by.",
    "At that moment {ahk} called {H} came along.",
    "Before long {ahk} named {H} came by.",
    "After a while {ahk} named {H} came along.",
    "Then {ahk} called {H} stopped beside {him}.",
    "{Ahk} named {H} was just passing by.",
    "Then {he} noticed {ahk} named {H}.",
    "Soon {ahk} called {H} came around the corner.",
)

SCENES: dict[str, Beat] = {
    "land": (
        "It was [spring|summer|autumn], and the air smelled of [rain|warm earth|apples|honey].",
        "A soft wind [played|danced] around {place}.",
        "The [birds|bees|crickets] were busy, and the sky was wide and [blue|clear].",
        "{In} it was [quiet|peaceful], and every day was a little different.",
        "Everyone {in} knew everyone else.",
    ),
    "water": (
        "The water was [clear|green|blue], and little bubbles rose to the top.",
        "The waves [rocked|rolled] softly, and sunlight danced in the water.",
        "Shells and shiny stones lay all around {his} {home}.",
        "{In} there was always something new to see.",
    ),
    "air": (
        "From up there {he} could see roofs, rivers and tiny roads.",
        "The wind was {his} neighbour, and the swallows said hello every morning.",
        "Up there it was [quiet|peaceful], and the sky was very big.",
    ),
}

# What is added after the opening, at the turning point, and at the end.
MOOD_START: dict[str, Beat] = {
    "happy": ("{N} was happy most of the time and loved to hum.",
              "The sun liked to shine there, and {N} liked to smile back.",
              "Nearly every day was a happy day for {him}."),
    "funny": ("{N} always wore {his} hat the wrong way round, and nobody knew why.",
              "{N} was so funny that even the stones seemed to giggle.",
              "{N} sneezed whenever {he} heard the word \"pudding\", which was very funny.",
              "{His} laugh sounded like a hiccup, and that made everyone else laugh too."),
    "sad": ("It was a grey time, and {N} often felt sad.",
            "Sometimes {N} was sad and did not quite know why.",
            "The days were long and sad that year."),
    "exciting": ("What {he} did not know was that a great adventure was about to begin.",
                 "{N} had no idea how exciting this story would become.",
                 "{N} was always ready for an adventure."),
    "cosy": ("{His} {home} was warm and cosy.",
             "Everything there was soft and quiet.",
             "In the evening the world was calm, and {his} {home} was the cosiest place of all."),
}
MOOD_MIDDLE: dict[str, Beat] = {
    "happy": ("A warm, happy feeling spread through {N}.", "{N} began to smile.",
              "Suddenly everything seemed a little brighter."),
    "funny": ("{H} laughed so hard that {hhe} got the hiccups. Hic!",
              "Then {N} sneezed, \"Atchoo!\", and {H} nearly fell over.",
              "{H} tried to look very serious, but {hhe} had jam on {hhis} nose.",
              "\"Is there cake?\" asked {H}, because {hhe} always asked that."),
    "sad": ("A small tear fell, and {H} waited until it was dry.",
            "{N} was still sad, but there was a little hope in {his} heart.",
            "\"It is all right to be sad,\" said {H} softly."),
    "exciting": ("{N} felt {his} heart beat faster.", "Would it end well? {N} held {his} breath.",
                 "Now it became really exciting."),
    "cosy": ("{H} had a soft and gentle voice.", "{H} spoke slowly, and that made {him} calm."),
}
MOOD_CLOSE: dict[str, Beat] = {
    "happy": ("And {N} was happy all day long.", "It was the happiest day of the whole year.",
              "{N} went to bed with a happy smile."),
    "funny": ("And whenever they thought of it, {N} and {H} had to laugh.",
              "And if they have not stopped laughing, they are laughing still.",
              "It was the funniest day that {place} had ever seen.",
              "Then {H} asked if there was any cake, and everybody laughed."),
    "sad": ("{N} was still a little sad sometimes, but now {he} had hope.",
            "The sad days were not all gone, but the first warm light had come back.",
            "And even on sad days, {N} remembered that tomorrow could be bright."),
    "exciting": ("What an adventure that was!", "And that was only the first of many adventures.",
                 "\"What shall we do tomorrow?\" asked {N}, for {he} was ready for the next "
                 "adventure."),
    "cosy": ("The moon rose over {place}, and soon everyone was asleep. Good night, {N}.",
             "The stars came out one by one. Good night, {N}, and sleep well.",
             "And now it is quiet {in}. Close your eyes and dream of {N}.",
             "{N} curled up in {his} {home}, warm and cosy, and dreamed sweet dreams."),
}
PLAIN_CLOSE: Beat = (
    "It had been a very good day.",
    "{N} and {H} stayed friends for a long, long time.",
    "And that is the story of {N} and {H}.",
    "{N} had never felt so glad.",
    "{H} smiled, and {N} smiled too.",
    "Sometimes, when the wind is still, people {in} tell this story.",
)
MORAL_LINES: Beat = (
    "{N} had learned something: {moral}",
    "And {N} never forgot it: {moral}",
    "\"You see,\" said {H}, \"{moral}\"",
)

MOOD_WORDS: dict[str, Beat] = {
    "happy": ("happy", "cheerful", "joyful"),
    "funny": ("funny", "silly", "very funny"),
    "sad": ("sad", "sad but hopeful", "quiet and sad"),
    "exciting": ("exciting", "thrilling", "adventurous"),
    "cosy": ("bedtime", "cosy", "calm bedtime", "good-night", "gentle bedtime"),
}
MOOD_EMOJI = {"happy": "😊", "funny": "😄", "sad": "💧", "exciting": "🎉", "cosy": "🌙", "": "✨"}
