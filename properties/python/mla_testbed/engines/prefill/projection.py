"""The projection of latent rows to keys and values of heads."""

from __future__ import annotations

from typing import Any

import numpy as np

LATENT, ROPE, NOPE, VALUES = 512, 64, 128, 128
KEY = NOPE + ROPE
SCALE = KEY ** -0.5


class Projection:
    """kv_b_proj: each element that it makes is one latent element or its negative, so that no
    rounding of a sum is between an engine and the reference.

    Attributes:
        index, sign: (heads * 256), what each element is made of.
    """

    def __init__(self, heads: int, seed: int) -> None:
        draw = np.random.default_rng([seed, heads])
        self.index = draw.integers(0, LATENT, heads * (NOPE + VALUES))
        self.sign = draw.choice(np.array([-1.0, 1.0], np.float32), heads * (NOPE + VALUES))
        self.heads = heads

    def __call__(self, latent: Any) -> Any:
        """(rows, 512) as (rows, heads, 256); for arrays of numpy."""
        made = latent[:, self.index] * self.sign
        return made.reshape(latent.shape[0], self.heads, NOPE + VALUES)


def heads_of(project: Projection, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Latent rows (rows, 576) as keys (rows, heads, 192) and values (rows, heads, 128)."""
    made = project(rows[:, :LATENT])
    rope = np.broadcast_to(rows[:, None, LATENT:], (*made.shape[:2], ROPE))
    return np.concatenate([made[..., :NOPE], rope], axis=-1), made[..., NOPE:]
