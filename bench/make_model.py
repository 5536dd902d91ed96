#!/usr/bin/env python3
"""Makes random-weight Llama and Mamba models as GGUF files, for measurements and tests.

They speak gibberish, but load, tokenise and cost as real models of their shape do. The same
arguments give the same bytes. Only the standard library is needed. The file format is described in
ggml's docs/gguf.md.

  make_model.py --preset 15m --out model.gguf
  make_model.py --preset 15m --lora 8 --out adapter.gguf
"""

import argparse
import math
import os
import random
import struct
import sys
import time
from array import array
from typing import BinaryIO, NamedTuple


class Shape(NamedTuple):
    vocab: int
    dim: int
    heads: int
    kv_heads: int
    layers: int
    ffn: int
    state: int = 0  # Of a recurrent model, which has no heads; 0 = it is none.

    @property
    def architecture(self) -> str:
        return "mamba" if self.state else "llama"


# The head size is 64 throughout: other sizes can fall to scalar paths in ggml. Embeddings are tied.
PRESETS = {
    "tiny": Shape(vocab=4096, dim=128, heads=2, kv_heads=1, layers=3, ffn=256),
    "15m": Shape(vocab=32000, dim=320, heads=5, kv_heads=5, layers=6, ffn=640),
    "recurrent": Shape(vocab=4096, dim=64, heads=0, kv_heads=0, layers=2, ffn=0, state=16),
    "135m": Shape(vocab=49152, dim=576, heads=9, kv_heads=3, layers=30, ffn=1536),
}
CONTEXT = 2048
CONVOLUTION, RANK = 4, 4  # Of a recurrent model.
HEAD = 64
FIRST_PIECE = 3 + 256  # Control tokens and bytes come before it.
LOGIT_SPREAD = 6.0  # Standard deviation of the logits: enough for greedy choices without near-ties.

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5  # gguf_metadata_value_type
FILE_TYPE = {"f32": 0, "f16": 1, "q8_0": 7}  # llama_ftype
TENSOR_TYPE = {"f32": 0, "f16": 1, "q8_0": 8}  # ggml_type
ALIGNMENT = 32
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # llama_token_type

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)


def vocabulary(size: int) -> tuple[list[str], list[float], list[int]]:
    """A SentencePiece vocabulary of invented words. Bytes stand for whatever has no piece."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    pieces = ["\u2581"] + [chr(code) for code in range(0x21, 0x7F)] + list("äéöüßñçøшдя中文字あ한🌱")
    syllables = [consonant + vowel for vowel in "aeiou" for consonant in "bcdfghjklmnprstvwyz"]
    pieces += syllables
    words = ["\u2581" + syllable for syllable in syllables]
    pieces += words
    # Every piece is an earlier one and one syllable, so that pairwise merging reaches all of them.
    for word in words:
        if len(tokens) + len(pieces) >= size:
            break
        longer = [word + syllable for syllable in syllables]
        pieces += longer
        words += longer
    tokens += pieces[: size - len(tokens)]
    scores = [float(min(0, FIRST_PIECE - i)) for i in range(size)]  # Earlier pieces merge first.
    types += [NORMAL] * (size - FIRST_PIECE)
    return tokens, scores, types


def weights(kind: str, count: int, deviation: float, rng: random.Random) -> bytes:
    """`count` random weights of zero mean and about the given standard deviation."""
    if kind == "q8_0":  # Blocks of one half-precision scale and 32 signed bytes.
        scale = struct.pack("<e", deviation / 73.9)
        raw, blocks = rng.randbytes(count), count // 32
        out = bytearray(34 * blocks)
        out[0::34], out[1::34] = scale[:1] * blocks, scale[1:] * blocks
        for i in range(32):
            out[2 + i :: 34] = raw[i::32]
        return bytes(out)
    # Random sign and mantissa under one exponent: values in ±[1, 2)·2^e deviate by 1.53·2^e.
    exponent = round(math.log2(deviation / 1.53))
    if kind == "f16":
        high = bytes((byte & 0x83) | ((exponent + 15) << 2) for byte in range(256))
        out = bytearray(rng.randbytes(2 * count))
        out[1::2] = out[1::2].translate(high)
        return bytes(out)
    biased = exponent + 127
    high = bytes((byte & 0x80) | (biased >> 1) for byte in range(256))
    low = bytes((byte & 0x7F) | ((biased & 1) << 7) for byte in range(256))
    out = bytearray(rng.randbytes(4 * count))
    out[3::4] = out[3::4].translate(high)
    out[2::4] = out[2::4].translate(low)
    return bytes(out)


def row_bytes(kind: str, columns: int) -> int:
    return {"f32": 4 * columns, "f16": 2 * columns, "q8_0": columns // 32 * 34}[kind]


Table = list[tuple[str, str, tuple[int, ...], float]]


def tensors(shape: Shape, kind: str, say: float = 1) -> Table:
    """(name, type, dimensions with the row first, deviation). Those of one dimension, and of a
    negative deviation, are that number throughout.

    `say` scales what the layers add to a token's embedding.
    """
    dim, kv, unit = shape.dim, shape.kv_heads * HEAD, 1 / math.sqrt(shape.dim)
    embedding = 0.02
    gain = LOGIT_SPREAD / (embedding * math.sqrt(dim))
    out = [("token_embd.weight", kind, (dim, shape.vocab), embedding)]
    for i in range(shape.layers):
        if shape.state:
            inner = 2 * dim
            out += [
                (f"blk.{i}.attn_norm.weight", "f32", (dim,), 1.0),
                (f"blk.{i}.ssm_in.weight", kind, (dim, 2 * inner), unit),
                (f"blk.{i}.ssm_conv1d.weight", "f32", (CONVOLUTION, inner), 0.5),
                (f"blk.{i}.ssm_conv1d.bias", "f32", (inner,), 0.0),
                (f"blk.{i}.ssm_x.weight", kind, (inner, RANK + 2 * shape.state), unit),
                (f"blk.{i}.ssm_dt.weight", "f32", (RANK, inner), 0.5),
                (f"blk.{i}.ssm_dt.bias", "f32", (inner,), -2.0),
                (f"blk.{i}.ssm_a", "f32", (shape.state, inner), -1.0),  # It decays.
                (f"blk.{i}.ssm_d", "f32", (inner,), 1.0),
                (f"blk.{i}.ssm_out.weight", kind, (inner, dim), unit),
            ]
            continue
        out += [
            (f"blk.{i}.attn_norm.weight", "f32", (dim,), 1.0),
            (f"blk.{i}.attn_q.weight", kind, (dim, dim), unit),
            (f"blk.{i}.attn_k.weight", kind, (dim, kv), unit),
            (f"blk.{i}.attn_v.weight", kind, (dim, kv), unit),
            (f"blk.{i}.attn_output.weight", kind, (dim, dim), say * unit),
            (f"blk.{i}.ffn_norm.weight", "f32", (dim,), 1.0),
            (f"blk.{i}.ffn_gate.weight", kind, (dim, shape.ffn), unit),
            (f"blk.{i}.ffn_up.weight", kind, (dim, shape.ffn), unit),
            (f"blk.{i}.ffn_down.weight", kind, (shape.ffn, dim), say / math.sqrt(shape.ffn)),
        ]
    return out + [("output_norm.weight", "f32", (dim,), gain)]


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, value: bytes) -> bytes:
    return string(key) + struct.pack("<I", kind) + value


def array_entry(key: str, kind: int, count: int, values: bytes) -> bytes:
    return entry(key, ARRAY, struct.pack("<IQ", kind, count) + values)


def metadata(preset: str, shape: Shape, kind: str) -> list[bytes]:
    tokens, scores, types = vocabulary(shape.vocab)
    of = shape.architecture
    recurrent = {
        "mamba.ssm.conv_kernel": CONVOLUTION,
        "mamba.ssm.inner_size": 2 * shape.dim,
        "mamba.ssm.state_size": shape.state,
        "mamba.ssm.time_step_rank": RANK,
    }
    numbers = {
        "general.file_type": FILE_TYPE[kind],
        "general.quantization_version": 2,
        f"{of}.vocab_size": shape.vocab,
        f"{of}.context_length": CONTEXT,
        f"{of}.embedding_length": shape.dim,
        f"{of}.block_count": shape.layers,
        f"{of}.feed_forward_length": shape.ffn,
        f"{of}.attention.head_count": shape.heads,
        f"{of}.attention.head_count_kv": shape.kv_heads,
        **(recurrent if shape.state else {"llama.rope.dimension_count": HEAD}),
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    return [
        entry("general.architecture", STRING, string(of)),
        entry("general.name", STRING, string(f"random-{preset}")),
        *(entry(key, U32, struct.pack("<I", value)) for key, value in numbers.items()),
        entry(f"{of}.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        entry(f"{of}.rope.freq_base", F32, struct.pack("<f", 10000.0)),
        entry("tokenizer.ggml.model", STRING, string("llama")),
        entry("tokenizer.ggml.pre", STRING, string("default")),
        entry("tokenizer.ggml.add_bos_token", BOOL, b"\x01"),
        array_entry("tokenizer.ggml.tokens", STRING, len(tokens), b"".join(map(string, tokens))),
        array_entry("tokenizer.ggml.scores", F32, len(scores), array("f", scores).tobytes()),
        array_entry("tokenizer.ggml.token_type", I32, len(types), array("i", types).tobytes()),
        entry("tokenizer.chat_template", STRING, string(CHAT_TEMPLATE)),
    ]


def pad(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % ALIGNMENT))


def write_head(file: BinaryIO, table: list, entries: list[bytes]) -> None:
    """What comes before the weights."""
    file.write(b"GGUF" + struct.pack("<IQQ", 3, len(table), len(entries)) + b"".join(entries))
    offset = 0
    for name, of, dims, _ in table:
        head = struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TENSOR_TYPE[of], offset)
        file.write(string(name) + head)
        offset += row_bytes(of, dims[0]) * math.prod(dims[1:])
        offset += -offset % ALIGNMENT


def write_model(file: BinaryIO, preset: str, shape: Shape, kind: str, seed: int,
                echo: bool) -> int:
    """Writes the whole file and returns the number of parameters."""
    table = tensors(shape, kind, 1e-4 if echo else 1)
    entries = metadata(preset, shape, kind)
    write_head(file, table, entries)
    for name, of, dims, deviation in table:
        pad(file)
        count = math.prod(dims)
        if len(dims) == 1 or deviation < 0:
            file.write(array("f", [deviation] * count).tobytes())
            continue
        data = weights(of, count, deviation, random.Random(f"{seed}/{name}"))
        if name == "token_embd.weight":
            # Logits of exactly 0 for control and byte tokens: greedy output neither ends early
            # nor breaks a character, because some of thousands of random logits is above 0.
            silent = FIRST_PIECE * row_bytes(of, dims[0])
            data = bytes(silent) + data[silent:]
        file.write(data)
    return sum(math.prod(dims) for _, _, dims, _ in table)


def write_adapter(file: BinaryIO, preset: str, rank: int, seed: int) -> int:
    """Likewise, of a LoRA adapter of that rank: its changes are as large as the weights."""
    table = []
    for name, _, dims, deviation in tensors(PRESETS[preset], "f32"):
        if not name.startswith("blk.") or len(dims) == 1:
            continue
        table.append((f"{name}.lora_a", "f32", (dims[0], rank), deviation))
        table.append((f"{name}.lora_b", "f32", (rank, dims[1]), 1 / math.sqrt(rank)))
    write_head(file, table, [
        entry("general.architecture", STRING, string("llama")),
        entry("general.type", STRING, string("adapter")),
        entry("adapter.type", STRING, string("lora")),
        entry("adapter.lora.alpha", F32, struct.pack("<f", rank)),
    ])
    for name, of, dims, deviation in table:
        pad(file)
        file.write(weights(of, math.prod(dims), deviation, random.Random(f"{seed}/{name}")))
    return sum(math.prod(dims) for _, _, dims, _ in table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=PRESETS, default="15m")
    parser.add_argument("--tiny", action="store_const", const="tiny", dest="preset",
                        help="the same as --preset tiny: about 1M parameters, made in an instant")
    parser.add_argument("--type", choices=TENSOR_TYPE, default="q8_0")
    parser.add_argument("--lora", type=int, metavar="RANK",
                        help="make an adapter for such a model instead, in f32")
    parser.add_argument("--vocab", type=int, metavar="TOKENS",
                        help="another size of vocabulary: a draft has that of its model")
    parser.add_argument("--echo", action="store_true",
                        help="the layers change nothing: the best token is always the last one "
                             "again, and any two such models agree")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    if sys.byteorder != "little":
        parser.error("needs a little-endian machine")
    began = time.monotonic()
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    partial = f"{args.out}.partial.{os.getpid()}"
    with open(partial, "wb") as file:
        if args.lora:
            args.type = "f32"
            count = write_adapter(file, args.preset, args.lora, args.seed)
        else:
            shape = PRESETS[args.preset]
            if args.vocab:
                shape = shape._replace(vocab=args.vocab)
            count = write_model(file, args.preset, shape, args.type, args.seed, args.echo)
        size = file.tell()
    os.replace(partial, args.out)
    print(f"{args.out}: {count / 1e6:.1f}M parameters, {args.type}, {size / 1e6:.1f} MB, "
          f"{time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
