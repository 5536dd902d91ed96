"""The trained weights and the tokenizer as one GGUF file, weights in Q8_0."""

import pathlib

import gguf
import torch

from recipe import data, model
from recipe.bpe import END_OF_TEXT, END_OF_TURN, SPECIAL

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n'"
    " + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
NAMES = {
    "attention_norm": "attn_norm", "ffn_norm": "ffn_norm", "query": "attn_q", "key": "attn_k",
    "value": "attn_v", "output": "attn_output", "gate": "ffn_gate", "up": "ffn_up",
    "down": "ffn_down",
}


def gguf_name(name: str) -> str:
    if name == "embedding.weight":
        return "token_embd.weight"
    if name == "norm.weight":
        return "output_norm.weight"
    _, layer, part, _ = name.split(".")
    return f"blk.{layer}.{NAMES[part]}.weight"


def write_metadata(writer: gguf.GGUFWriter) -> None:
    writer.add_name("Seedance demo")
    writer.add_basename("seedance-demo")
    writer.add_version("1")
    writer.add_size_label("5M")
    writer.add_license("apache-2.0")
    writer.add_description("Seedance's demo model: tells short stories, counts, and knows little "
                           "else. Trained on invented texts only.")
    writer.add_languages(["en", "zh"])
    writer.add_context_length(model.CONTEXT)
    writer.add_embedding_length(model.DIM)
    writer.add_block_count(model.LAYERS)
    writer.add_feed_forward_length(model.FFN)
    writer.add_head_count(model.HEADS)
    writer.add_head_count_kv(model.KV_HEADS)
    writer.add_rope_dimension_count(model.HEAD)
    writer.add_rope_freq_base(model.ROPE_BASE)
    writer.add_layer_norm_rms_eps(model.EPSILON)
    writer.add_vocab_size(model.VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def write_tokenizer(writer: gguf.GGUFWriter, tokenizer) -> None:
    tokens = tokenizer.tokens
    unused = [f"<|unused_{i}|>" for i in range(model.VOCABULARY - len(tokens))]
    kinds = [gguf.TokenType.CONTROL] * len(SPECIAL)
    kinds += [gguf.TokenType.NORMAL] * (len(tokens) - len(SPECIAL))
    kinds += [gguf.TokenType.UNUSED] * len(unused)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens + unused)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in tokenizer.merges])
    writer.add_bos_token_id(tokens.index(END_OF_TEXT))
    writer.add_eos_token_id(tokens.index(END_OF_TURN))
    writer.add_eot_token_id(tokens.index(END_OF_TURN))
    writer.add_pad_token_id(tokens.index(END_OF_TEXT))
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)


def export(directory: pathlib.Path, out: pathlib.Path) -> None:
    weights = torch.load(directory / "model.pt")["model"]
    writer = gguf.GGUFWriter(out, "llama")
    write_metadata(writer)
    write_tokenizer(writer, data.load_tokenizer(directory))
    for name, weight in weights.items():
        values, kind = weight.float().numpy(), gguf.GGMLQuantizationType.F32
        if values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            values = gguf.quants.quantize(values, kind)
        writer.add_tensor(gguf_name(name), values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"export: {out}, {out.stat().st_size} bytes")
