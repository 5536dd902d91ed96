"""Makes models/demo/demo.gguf and heldout.jsonl again; run it in models/demo.

    apt-get install python3-torch python3-numpy python3-regex libopenblas0-pthread
    python3 -m recipe corpus     the texts and the tokenizer, into build/ (minutes)
    python3 -m recipe train      the weights, from the last checkpoint if there is one (hours)
    python3 -m recipe export     the GGUF file
    python3 -m recipe all        one after the other

The same commands give the same corpus, byte for byte, and the same weights up to floating-point
rounding, which differs with the processor and the number of threads.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python3 -m recipe", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("corpus", "train", "export", "all"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/demo-model",
                        help="directory of everything between (default %(default)s)")
    parser.add_argument("--texts", type=int, default=120_000, help="size of the corpus")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--gguf-py", type=pathlib.Path, default=ROOT / ".deps/llama.cpp/gguf-py",
                        help="llama.cpp's Python package (default: of the source that "
                             "`make setup` fetches)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "demo.gguf")
    parser.add_argument("--heldout", type=pathlib.Path, default=HERE / "heldout.jsonl")
    arguments = parser.parse_args()
    # Imported as they are needed: only the export needs gguf.
    if arguments.verb in ("corpus", "all"):
        from recipe import data
        data.make(arguments.work, arguments.texts, arguments.heldout)
    if arguments.verb in ("train", "all"):
        from recipe import train
        train.train(arguments.work, arguments.threads)
    if arguments.verb in ("export", "all"):
        sys.path.insert(0, str(arguments.gguf_py))
        from recipe import export
        export.export(arguments.work, arguments.out)


if __name__ == "__main__":
    main()
