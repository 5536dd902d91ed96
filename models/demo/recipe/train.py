"""Training: fixed seeds, a checkpoint every so many steps, and from the last one after a stop."""

import math
import os
import pathlib
import time

import torch
import torch.nn.functional as F

from recipe.data import Batches
from recipe.model import Model
from recipe.optimizer import Muon

BATCH_TOKENS = 4096
WARMUP_STEPS, DECAY_SHARE = 100, 0.35
MUON_RATE, ADAM_RATE, MOMENTUM, WEIGHT_DECAY = 0.015, 0.003, 0.95, 0.02
CLIP = 1.0
REPORT_STEPS, CHECKPOINT_STEPS = 25, 200


def rate_at(step: int, steps: int) -> float:
    """Share of the full learning rate: up, level, then straight down to zero."""
    left = (steps - step) / (steps * DECAY_SHARE)
    return min(1.0, (step + 1) / WARMUP_STEPS, left)


def optimizers(model: Model) -> list[torch.optim.Optimizer]:
    matrices = [w for name, w in model.named_parameters() if w.dim() == 2 and "embed" not in name]
    others = [w for name, w in model.named_parameters() if w.dim() != 2 or "embed" in name]
    return [Muon(matrices, MUON_RATE, MOMENTUM, WEIGHT_DECAY),
            torch.optim.AdamW(others, ADAM_RATE, (0.9, 0.95), weight_decay=0.0)]


def loss_of(model: Model, tokens: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1).float(), following.flatten(), ignore_index=-100)


def save(path: pathlib.Path, step: int, model: Model, parts: list) -> None:
    aside = path.with_suffix(".new")
    torch.save({"step": step, "model": model.state_dict(),
                "optimizers": [part.state_dict() for part in parts]}, aside)
    os.replace(aside, path)


def train(directory: pathlib.Path, steps: int, threads: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batches, model, checkpoint = Batches(directory, BATCH_TOKENS), Model(), directory / "model.pt"
    parts, step = optimizers(model), 0
    full = [[group["lr"] for group in part.param_groups] for part in parts]
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        for part, saved in zip(parts, state["optimizers"]):
            part.load_state_dict(saved)
        step = state["step"]
    print(f"train: step {step} of {steps}, {sum(w.numel() for w in model.parameters())} weights, "
          f"{len(batches)} batches a round", flush=True)
    began, seen, sum_of_losses = time.monotonic(), 0, 0.0
    while step < steps:
        for part, rates in zip(parts, full):
            for group, rate in zip(part.param_groups, rates):
                group["lr"] = rate * rate_at(step, steps)
        tokens, following = batches.get(step)
        loss = loss_of(model, tokens, following)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for part in parts:
            part.step()
            part.zero_grad()
        step, seen, sum_of_losses = step + 1, seen + tokens.numel(), sum_of_losses + loss.item()
        if not math.isfinite(sum_of_losses):
            raise SystemExit(f"train: the loss is not finite at step {step}")
        if step % REPORT_STEPS == 0 or step == steps:
            took = time.monotonic() - began
            print(f"step {step} loss {sum_of_losses / REPORT_STEPS:.4f} "
                  f"{seen / took:.0f} tokens/s", flush=True)
            began, seen, sum_of_losses = time.monotonic(), 0, 0.0
        if step % CHECKPOINT_STEPS == 0 or step == steps:
            save(checkpoint, step, model, parts)
