"""How the demo model is made: a corpus from a grammar, a tokenizer, training, a GGUF file."""
