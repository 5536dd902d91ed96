"""The network: Llama's (Touvron et al. 2023), small, with tied embeddings."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DIM, LAYERS, HEADS, KV_HEADS, FFN = 256, 6, 8, 4, 704
HEAD = DIM // HEADS
VOCABULARY, CONTEXT = 3072, 2048
ROPE_BASE, EPSILON = 10000.0, 1e-5


def rope_table(length: int) -> tuple[Tensor, Tensor]:
    inverse = ROPE_BASE ** (-torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD)
    angle = torch.outer(torch.arange(length, dtype=torch.float32), inverse)
    return angle.cos(), angle.sin()


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates neighbouring pairs, as llama.cpp does for this architecture."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = Norm(), Norm()
        self.query = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.key = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.value = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.output = nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.gate = nn.Linear(DIM, FFN, bias=False)
        self.up = nn.Linear(DIM, FFN, bias=False)
        self.down = nn.Linear(FFN, DIM, bias=False)

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, HEADS, HEAD).transpose(1, 2)
        key = self.key(x).view(batch, length, KV_HEADS, HEAD).transpose(1, 2)
        value = self.value(x).view(batch, length, KV_HEADS, HEAD).transpose(1, 2)
        query, key = rotated(query, cos, sin), rotated(key, cos, sin)
        # Query heads of one group share a key head: they become rows of one product.
        group = HEADS // KV_HEADS
        query = query.reshape(batch, KV_HEADS, group * length, HEAD)
        scores = (query @ key.transpose(-1, -2)).view(batch, KV_HEADS, group, length, length)
        weights = F.softmax(scores * HEAD ** -0.5 + mask.to(scores.dtype), -1)
        mixed = weights.to(value.dtype).view(batch, KV_HEADS, group * length, length) @ value
        mixed = mixed.view(batch, HEADS, length, HEAD).transpose(1, 2)
        return self.output(mixed.reshape(batch, length, HEADS * HEAD))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attend(self.attention_norm(x), cos, sin, mask)
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm()
        self.cos, self.sin = rope_table(CONTEXT)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                deviation = 0.02 if "embedding" in name else weight.shape[1] ** -0.5 / 2
                nn.init.normal_(weight, std=deviation)
        for block in self.blocks:  # Every block begins as the identity.
            nn.init.zeros_(block.output.weight)
            nn.init.zeros_(block.down.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits after each token of each row."""
        length = tokens.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        mask = torch.full((length, length), -1e9).triu(1)
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return F.linear(self.norm(x), self.embedding.weight)
