"""llama.cpp's own server at its best: which settings those are is searched for once, for each model
and kind of load, and kept in build/bench."""

import dataclasses
import json
import os
import pathlib
import subprocess

import machine
from common import OUT, say
from table import BUSY

MARGIN = 0.03  # Less than that is no improvement, but chance.


@dataclasses.dataclass(frozen=True)
class Settings:
    slots_max: int = 0  # Others wait; 0 = as many slots as there are streams.
    unified: bool = False
    batch: int = 2048
    ubatch: int = 512
    backend_sampling: bool = False

    def slots(self, streams):
        return min(streams, self.slots_max or streams)

    def flags(self):
        kv = "--kv-unified" if self.unified else "--no-kv-unified"
        return (kv, "-b", str(self.batch), "-ub", str(self.ubatch),
                *(("--backend-sampling",) if self.backend_sampling else ()))

    def __str__(self):
        return f"-np {self.slots_max or 'STREAMS'} {' '.join(self.flags())}"


# Each is climbed from what is best before it, until a step does not improve.
SLOTS = [{"slots_max": 32}, {"slots_max": 16}, {"slots_max": 8}, {"slots_max": 4}]
UNIFIED = [{"unified": True}]
LARGER_BATCH = [{"ubatch": 2048}]
SMALLER_BATCH = [{"batch": 512, "ubatch": 512}, {"batch": 512, "ubatch": 128}]
BACKEND_SAMPLING = [{"backend_sampling": True}]
EVERYTHING = [SLOTS, UNIFIED, LARGER_BATCH, SMALLER_BATCH, BACKEND_SAMPLING]


def climb(start, ladders, score):
    """The settings with the highest score that are found from there, and all that were tried."""
    best, tried = start, [(start, score(start))]
    highest = tried[0][1]
    for ladder in ladders:
        base = best
        for step in ladder:
            other = dataclasses.replace(base, **step)
            tried.append((other, score(other)))
            if tried[-1][1] <= highest * (1 + MARGIN):
                break
            best, highest = tried[-1]
    return best, tried


class Chosen:
    """What was found for one model, by kind of load. What was found while others used the machine
    is searched for again the next time."""

    def __init__(self, binaries, file, threads, again=False):
        self.path = OUT / f"peer-{pathlib.Path(file).stem}.json"
        self.of = {"server": machine.first_line("sha256sum", binaries.llama_server),
                   "model_bytes": os.path.getsize(file), "threads": threads}
        kept = json.loads(self.path.read_text()) if self.path.exists() and not again else {}
        kinds = kept["kinds"] if kept.get("of") == self.of else {}
        self.kinds = {kind: found for kind, found in kinds.items() if found.get("others", 1) < BUSY}

    def best(self, kind):
        """What is best for this kind, once it was searched for."""
        return Settings(**self.kinds[kind]["settings"]) if kind in self.kinds else Settings()

    def search(self, kind, start, ladders, score):
        """`score` measures once: the higher the better."""
        if kind not in self.kinds:
            def told(settings):
                try:
                    value = score(settings)
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    say(f"  llama-server, {kind}: fails with {settings}: {error}")
                    return 0
                say(f"  llama-server, {kind}: {value:10.1f} with {settings}")
                return value

            watch = machine.Watch()
            best, tried = climb(start, ladders, told)
            self.kinds[kind] = {"settings": dataclasses.asdict(best), "others": watch.others(),
                                "tried": [[str(each), value] for each, value in tried]}
            OUT.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"of": self.of, "kinds": self.kinds}, indent=1) + "\n")
        say(f"  llama-server, {kind}: {self.best(kind)}")
