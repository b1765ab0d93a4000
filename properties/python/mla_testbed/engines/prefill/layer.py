"""kv_b_proj as the layers of both engines call it, on tensors."""

from __future__ import annotations

import torch

from .projection import Projection


class KvProjection:
    """A result and no bias; engines ask for the dtype of its weights.

    Attributes:
        weight: without elements.
    """

    def __init__(self, project: Projection, device: torch.device) -> None:
        self._index = torch.from_numpy(project.index).to(device)
        self._sign = torch.from_numpy(project.sign).to(device)
        self.weight = torch.empty(0, dtype=torch.bfloat16, device=device)

    def __call__(self, latent: torch.Tensor) -> tuple[torch.Tensor, None]:
        """(..., 512) as (..., heads * 256), both bf16."""
        return (latent[..., self._index].float() * self._sign).to(torch.bfloat16), None
