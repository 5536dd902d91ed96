"""The shape of a plot.

Every text is a template. `[a|b]` picks one of the words; `{N}` is the hero's name, `{k}` the
kind, `{he} {him} {his} {himself}` the pronouns (capital first letter for a capital), `{H} {hk}`
and `{hhe} {hhim} {hhis}` the same for the helper, `{ahk}` "an old turtle", `{place}` "the
forest", `{in}` "in the forest", `{home}` where the hero lives, `{went}` how the hero moves and
`{spot}` something to stand beside. The plot's own slots come on top.
"""

from dataclasses import dataclass, field

Beat = tuple[str, ...]


@dataclass(frozen=True)
class Plot:
    """A chain of beats from a problem to its answer, and what one can ask about it afterwards.

    The beat ("@meet",) brings in the helper with a line from the shared bank. `problem` and `did`
    are predicates in the past tense, `end` is a clause, `why` follows "because".
    """

    key: str
    fits: str
    emoji: str
    asks: Beat
    topics: Beat
    feel: str
    problem: str
    why: str
    did: str
    end: str
    moral: Beat
    titles: Beat
    begin: tuple[Beat, ...]
    meet: tuple[Beat, ...]
    turn: tuple[Beat, ...]
    close: tuple[Beat, ...]
    slots: dict[str, Beat] = field(default_factory=dict)
    scene: bool = True
