"""Rows of measured figures, what is wanted of them, and the table that they make."""

import dataclasses
import operator
import statistics

SIGNS = {">=": operator.ge, "<=": operator.le}
BUSY = 0.05  # Of the CPUs, that others take: from here on the figures are not to be believed.
COLUMNS = {"criterion": "--:", "model": ":--", "what": ":--", "Seedance": "--:", "peer": "--:",
           "ratio": "--:", "wanted": ":--", "verdict": ":--", "others' CPU": "--:",
           "beside": ":--"}


class Samples:
    """What the repetitions gave, by whose it is and what it is."""

    def __init__(self):
        self.values = {}

    def add(self, whose, **numbers):
        for name, number in numbers.items():
            if number is not None:
                self.values.setdefault((whose, name), []).append(number)

    def of(self, whose, name):
        return self.values.get((whose, name), [])


@dataclasses.dataclass
class Row:
    """One figure, with a peer's where there is one to compare it with."""

    criterion: str
    model: str
    what: str
    ours: list = dataclasses.field(default_factory=list)
    peer: list = dataclasses.field(default_factory=list)
    wanted: str = ""  # As in '>= 1.1': of the ratio, or where there is no peer, of the figure.
    beside: str = ""
    others: list = dataclasses.field(default_factory=list)  # The share of the CPUs they took.

    def ratio(self):
        """Of the medians."""
        if not self.ours or not self.peer or statistics.median(self.peer) == 0:
            return None
        return statistics.median(self.ours) / statistics.median(self.peer)

    def verdict(self):
        if not self.wanted:
            return ""
        judged = self.ratio() if self.peer else middle(self.ours)
        if judged is None:
            return "no figure"
        sign, bound = self.wanted.split()
        return "met" if SIGNS[sign](judged, float(bound)) else "not met"

    def busy(self):
        return max(self.others, default=0) >= BUSY

    def cells(self):
        ratio = self.ratio()
        others = f"{100 * max(self.others):.0f} %" if self.others else ""
        return [self.criterion, self.model, self.what, figure(self.ours), figure(self.peer),
                "" if ratio is None else f"{ratio:.2f}", self.wanted, self.verdict(),
                others + (" (!)" if self.busy() else ""), self.beside]

    def as_json(self):
        return {**dataclasses.asdict(self), "median": middle(self.ours),
                "peer_median": middle(self.peer), "ratio": self.ratio(),
                "verdict": self.verdict()}


def middle(values):
    return statistics.median(values) if values else None


def number(value):
    """Three digits that count, and no exponent."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def figure(values):
    """The median, and from where to where all of them lie."""
    if not values:
        return "-"
    spread = f" [{number(min(values))} {number(max(values))}]" if len(values) > 1 else ""
    return number(statistics.median(values)) + spread


def markdown(rows):
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'|'.join(COLUMNS.values())}|"]
    return "\n".join(lines + [f"| {' | '.join(row.cells())} |" for row in rows])


def summary(rows):
    """A sentence that counts the verdicts, and one that warns where they are worth little."""
    verdicts = [row.verdict() for row in rows]
    counted = ", ".join(f"{verdicts.count(each)} {each}" for each in ("met", "not met", "no figure")
                        if each in verdicts)
    busy = sum(row.busy() for row in rows)
    warning = (f" (!) Others took {100 * BUSY:.0f} % of the CPUs or more while {busy} of "
               f"{len(rows)} rows were measured: measure those again on a quiet machine.")
    return f"{counted or 'Nothing was judged'}.{warning if busy else ''}"
