"""Training: fixed seeds, a checkpoint every so many steps, and from the last one after a stop."""

import math
import os
import pathlib
import time

import torch
import torch.nn.functional as F

from recipe.data import Batches
from recipe.lookback import give_lookback
from recipe.model import Model

BATCHES_A_STEP = 4  # Each holds texts of one length; a step sees several.
BATCH_TOKENS = 1024
ROUNDS = ((2000, 1.0), (700, 0.5))  # Steps, and share of the rate.
STEPS = sum(steps for steps, _ in ROUNDS)
WARMUP_STEPS, DECAY_SHARE = 100, 0.6  # Of each round.
RATE, MOMENTA, WEIGHT_DECAY = 1.5e-3, (0.9, 0.95), 0.05
CLIP = 1.0
REPORT_STEPS, CHECKPOINT_STEPS = 25, 100


def rate_at(step: int) -> float:
    """The learning rate: in each round up, level, then straight down to zero."""
    for steps, share in ROUNDS:
        if step < steps:
            left = (steps - step) / (steps * DECAY_SHARE)
            return RATE * share * min(1.0, (step + 1) / WARMUP_STEPS, left)
        step -= steps
    return 0.0


def loss_of(model: Model, tokens: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    """Summed over all tokens that have a following one."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1).float(), following.flatten(), ignore_index=-100,
                           reduction="sum")


def take_gradient(model: Model, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Of the mean loss over all tokens of the batches, which it gives."""
    count = sum(int((following >= 0).sum()) for _, following in batches)
    total = 0.0
    for tokens, following in batches:
        loss = loss_of(model, tokens, following) / count
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    return total


def save(path: pathlib.Path, step: int, model: Model, optimizer: torch.optim.Optimizer) -> None:
    aside = path.with_suffix(".new")
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
               aside)
    os.replace(aside, path)


def train(directory: pathlib.Path, threads: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batches, model, checkpoint = Batches(directory, BATCH_TOKENS), Model(), directory / "model.pt"
    give_lookback(model)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, MOMENTA, weight_decay=WEIGHT_DECAY)
    step = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    print(f"train: step {step} of {STEPS}, {sum(w.numel() for w in model.parameters())} weights, "
          f"{len(batches) // BATCHES_A_STEP} steps a round", flush=True)
    began, seen, losses = time.monotonic(), 0, []
    while step < STEPS:
        optimizer.param_groups[0]["lr"] = rate_at(step)
        first = step * BATCHES_A_STEP
        taken = [batches.get(first + i) for i in range(BATCHES_A_STEP)]
        losses.append(take_gradient(model, taken))
        if not math.isfinite(losses[-1]):
            raise SystemExit(f"train: the loss is not finite at step {step}")
        optimizer.step()
        optimizer.zero_grad()
        step, seen = step + 1, seen + sum(tokens.numel() for tokens, _ in taken)
        if step % REPORT_STEPS == 0 or step == STEPS:
            took = time.monotonic() - began
            print(f"step {step} loss {sum(losses) / len(losses):.4f} {seen / took:.0f} tokens/s",
                  flush=True)
            began, seen, losses = time.monotonic(), 0, []
        if step % CHECKPOINT_STEPS == 0 or step == STEPS:
            save(checkpoint, step, model, optimizer)
