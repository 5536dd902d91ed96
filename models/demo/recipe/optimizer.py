"""Muon (Jordan et al. 2024) for matrices: momentum, made orthogonal before it is applied."""

import torch
from torch import Tensor


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """About the nearest orthogonal matrix, by a quintic Newton-Schulz iteration."""
    a, b, c = 3.4445, -4.7750, 2.0315
    wide = matrix.shape[0] <= matrix.shape[1]
    x = (matrix if wide else matrix.T).bfloat16()
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x if wide else x.T).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices: list[Tensor], lr: float, momentum: float, decay: float):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(weight)
                momentum = state["momentum"]
                momentum.lerp_(weight.grad, 1 - group["momentum"])
                update = orthogonal(weight.grad.lerp(momentum, group["momentum"]))
                scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.mul_(1 - group["lr"] * group["decay"])
                weight.add_(update, alpha=-group["lr"] * scale)
