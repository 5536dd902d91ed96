"""Questions about a story that has just been told, their answers, and stories of a few lines."""

from random import Random

from .story_build import Story, capital, summary, title
from .story_mood import OPENINGS, OTHER_OPENINGS

# Each entry holds questions and answers; slots are the story's words and its three clauses.
_QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "happened": (
        ("What happened to {N}?", "What happened to {N} in the story?", "what happened to {N}"),
        ("{N} {problem}. Then {H} {did}, and in the end {end}.",
         "{N} {problem}, but {H} the {hk} {did}. In the end {end}."),
    ),
    "brief": (
        ("Say it more briefly.", "Say that in one sentence.", "Can you make it shorter?",
         "Shorter, please.", "Sum it up.", "Summarise the story.",
         "Tell it again, but much shorter."),
        ("{N} the {k} {problem}. {H} the {hk} {did}, and in the end {end}.",
         "{N}, {ak}, {problem}, until {H} {did}. After that, {end}.",
         "It is about {ak} named {N} who {problem}. {H} {did}, and {end}."),
    ),
    "who": (
        ("Who helped {N}?", "Who helped {him}?", "Who came to help {N}?", "who helped {N}"),
        ("{H} the {hk} helped {N}. {hHe} {did}.", "It was {H}, {ahk}, who helped {him}.",
         "{N} got help from {H} the {hk}, who {did}."),
    ),
    "where": (
        ("Where did {N} live?", "Where does the story take place?", "Where was {N} at home?",
         "where does {N} live"),
        ("{N} lived {a_place}.", "{N} lived {a_place}, and that is where the story takes place.",
         "The story takes place {a_place}, where {N} lived."),
    ),
    "why": (
        ("Why was {N} {feel}?", "Why was {he} {feel}?", "Why did {N} feel {feel}?"),
        ("{N} was {feel} because {why}.", "Because {why}.",
         "{N} felt {feel} because {why}, but that changed later."),
    ),
    "end": (
        ("How did it end?", "How does the story end?", "What happened in the end?",
         "Did it end well?"),
        ("It ended well: {end}.", "In the end {end}.",
         "{H} {did_n}, and so it ended well: {end}."),
    ),
    "name": (
        ("What was the name of the {k}?", "What is the {k} called?", "What was the {k}'s name?"),
        ("The {k} was called {N}.", "The name of the {k} was {N}.", "{His} name was {N}."),
    ),
    "helper_name": (
        ("What was the name of the {hk}?", "What is the {hk} called?"),
        ("The {hk} was called {H}.", "The name of the {hk} was {H}.",
         "{H} was the name of the {hk}."),
    ),
    "kind": (
        ("What is {N}?", "Who is {N}?", "What kind of hero is {N}?"),
        ("{N} is {ak}.", "{N} is {ak} who lives {a_place}."),
    ),
    "moral": (
        ("What is the moral?", "What is the moral of the story?", "What can we learn from it?",
         "What did {N} learn?", "What is the lesson?"),
        ("{Moral}", "The moral is: {moral}", "{N} learned this: {moral}"),
    ),
    "title": (
        ("Give it a title.", "What would be a good title?", "What is the story called?",
         "Can you give the story a name?", "Find a title for it."),
        ("\"{title}\"", "A good title would be \"{title}\".", "I would call it \"{title}\".",
         "The story is called \"{title}\"."),
    ),
    "helper": (
        ("Tell me more about {H}.", "Who is {H}?", "Who was {H}?", "What about {H}?"),
        ("{H} was {ahk} who lived near {N}. {hHe} {trait}. When {hhe} met {N}, {hhe} {did}.",
         "{H} is the {hk} in the story. {hHe} {trait}. It was {H} who {did_n}.",
         "{H} was {ahk}. {hHe} {trait}, and {hhe} was always there when {N} needed a friend."),
    ),
    "how": (
        ("How did {H} help {N}?", "What did {H} do?", "How did {H} help?"),
        ("{H} {did_n}.", "{H} the {hk} {did_n}, and so {end}."),
    ),
    "problem": (
        ("What was the problem?", "What was {his} problem?", "What is the story about?"),
        ("{N} {problem}.", "The story is about {N} the {k}, who {problem}.",
         "The trouble was that {he} {problem}."),
    ),
    "friends": (
        ("Did {N} and {H} stay friends?", "Were {N} and {H} friends?", "Are they still friends?"),
        ("Yes, {N} and {H} stayed friends for many years.",
         "Yes. {N} and {H} saw each other almost every day.",
         "Of course! {N} never forgot what {H} had done."),
    ),
    "thanks": (
        ("Thank you!", "Thanks!", "Thank you, that was lovely.", "thanks", "That was nice.",
         "I like this story.", "What a nice story!"),
        ("You are welcome! I am glad that you liked the story of {N}.",
         "You are very welcome. {N} and {H} say hello!", "I am happy that you liked it!",
         "Thank you for listening!", "With pleasure! Come back whenever you want another story.",
         "You are welcome! Sweet dreams."),
    ),
    "like": (
        ("Did you like it?", "Do you like this story?", "Is it a good story?"),
        ("Yes, I like how {H} helped {N}.",
         "Yes, very much. My favourite part is the end, when {end}.",
         "Yes! I think {N} is a lovely {k}."),
    ),
    "favourite": (
        ("What is the best part?", "What is your favourite part?"),
        ("The best part is the end, when {end}.", "My favourite part is when {H} {did_n}.",),
    ),
    "bye": (
        ("Good night!", "Goodbye!", "Bye!"),
        ("Good night, and sweet dreams!", "Goodbye! {N} and {H} wave to you.",
         "Bye! Come back soon for another story."),
    ),
}
_HELPER_TRAITS = (
    "knew every corner of {place}", "liked to listen more than to talk",
    "had a warm heart and a lot of patience", "loved long walks and warm tea",
    "was never in a hurry", "always had a good idea", "collected funny stories",
    "hummed a little song wherever {hhe} went",
)


def follow_up(rng: Random, story: Story, asked: list[str]) -> tuple[str, str, str]:
    """A question that has not been asked yet: its key, its words and the answer."""
    keys = [key for key in _QUESTIONS if key not in asked]
    key = rng.choice(keys)
    questions, answers = _QUESTIONS[key]
    words = _facts(rng, story)
    question = rng.choice(questions)
    answer = capital(rng.choice(answers).format_map(words))
    if key == "bye":
        question, answer = _farewell(rng, question, answer)
    question = question.format_map(words)
    if rng.random() < 0.1:
        question = question.lower().rstrip(".?!")
    if story.emoji and key in ("thanks", "title", "bye"):
        answer += " " + story.kind.emoji
    return key, question, answer


def _farewell(rng: Random, question: str, answer: str) -> tuple[str, str]:
    if question.startswith("Good night"):
        return question, rng.choice(("Good night, and sweet dreams!", "Good night! Sleep well."))
    return question, "Goodbye! Come back soon." if answer.startswith("Good night") else answer


def _facts(rng: Random, story: Story) -> dict[str, str]:
    problem, did, end = summary(story)
    words = story.words
    moral = rng.choice(story.plot.moral).format_map(words)
    trait = rng.choice(_HELPER_TRAITS).format_map(words)
    named = words | {"him": words["N"]}
    return words | {
        "did_n": story.plot.did.format_map(named), "problem": problem, "did": did, "end": end,
        "feel": story.plot.feel, "trait": trait,
        "why": story.plot.why.format_map(words), "title": title(rng, story),
        "Moral": moral, "moral": moral[0].lower() + moral[1:],
    }


def opening_line(rng: Random, story: Story, helper: bool, problem: bool) -> str:
    """The first sentence of a story, naming the helper or the problem when they were asked for."""
    words = story.words
    if helper:
        pair = "{ak} named {N} and {ahk} named {H}"
        return f"Once upon a time {pair} lived {{a_place}}.".format_map(words)
    line = rng.choice(OPENINGS[:3]).format_map(words)
    if problem or rng.random() < 0.4:
        return f"{line[:-1]}, and {words['he']} {summary(story)[0]}."
    return line


def tiny(rng: Random, story: Story, way: str) -> str:
    """A story in three or four sentences, in two, or in one."""
    problem, did, end = summary(story)
    words = story.words
    first = rng.choice(OPENINGS + OTHER_OPENINGS[:3]).format_map(words)
    helper = rng.choice((f"{words['H']} the {words['hk']}", f"{words['ahk']} named {words['H']}"))
    if way == "one sentence":
        joint = rng.choice(("until", "but then"))
        return capital(f"{words['ak']} named {words['N']} {problem}, {joint} {helper} {did}.")
    if way == "two sentences":
        hero = f"{words['ak']} named {words['N']}, who lived {words['a_place']},"
        return capital(f"{hero} {problem}. Then {helper} {did}, and {end}.")
    last = rng.choice((f"In the end {end}.", f"And so {end}."))
    lines = [first, f"{capital(words['he'])} {problem}.", f"Then {helper} {did}.", last]
    if rng.random() < 0.4:
        lines[2:] = [f"Then {helper} {did}, and in the end {end}."]
    return " ".join(lines)
