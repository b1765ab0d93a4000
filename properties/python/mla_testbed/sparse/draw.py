"""Random cases: each is a line, and the same for the same seed and number."""

from __future__ import annotations

import random
from typing import Any

from .case import CACHES, DATA, RATIOS, TILE, Case

#: Encodings of the architectures.
FP8 = {"gfx942": "fnuz", "gfx950": "ocp"}
_BLOCKS = (1, 16, 48, 64, 80)
#: Most keys of a drawn case: its references take a fraction of a second.
_MOST_KEYS = 2600


def drawn(seed: int, number: int, arch: str | None = None, **fixed: Any) -> Case:
    """Case `number` of a seed.

    Args:
        arch: draws its encoding alone.
        fixed: fields that are not drawn.
    """
    source = random.Random(f"{seed} {number}")
    block = fixed.get("block", source.choice(_BLOCKS))
    k = fixed.get("k", source.choice((64, 64, 64, 128, 128, 128, 256, 2048)))
    requests = fixed.get("requests") or _requests(source, k)
    least = min(keys for _, keys in requests)
    shared = block * source.randint(0, least // block) if source.random() < 0.3 else 0
    layouts = ("row", "shuffle") if block % TILE == 0 else ("row",)
    drawn_fields = {
        "requests": requests, "block": block, "layout": source.choice(layouts),
        "gap": source.choice((0, 0, 16, 176)), "heads": source.choice((32, 64)), "k": k,
        "fp8": FP8[arch] if arch else source.choice(tuple(FP8.values())),
        "scale": source.choice(("ue8m0", "ue8m0", "f32")),
        "width": source.choice(((512, 64), (512, 64), (512, 0))),
        "qheads": source.choice((16, 16, 32)), "shared": shared,
        "pad": source.choice((0, 0, 1, 5)), "holes": source.choice((0, 0, 0, 1, 7)),
        "data": source.choice(DATA), "seed": source.randrange(1 << 16),
    }
    latent = fixed.get("width", drawn_fields["width"])[0]
    cache = source.choice(("bf16", *(c for c in CACHES if not latent % CACHES[c])))
    cache = drawn_fields["cache"] = fixed.get("cache", cache)
    if cache == "v4":
        drawn_fields["width"] = (448, 64)
        drawn_fields["ratio"] = source.choice((1, *RATIOS))
        drawn_fields["window"] = source.choice((0, 16, 128))
    if fixed.get("ratio", drawn_fields.get("ratio", 1)) > 1:
        drawn_fields["shared"] = 0
    if fixed.get("dcp", 1) > 1:
        shared, turn = drawn_fields["shared"], block * fixed["dcp"]
        drawn_fields.update(shared=shared // turn * turn, ratio=1, window=0)
    return Case(**{**drawn_fields, **fixed})


def _requests(source: random.Random, k: int) -> tuple[tuple[int, int], ...]:
    """One to four; contexts below, at and past k; now and then one without rows."""
    made: list[tuple[int, int]] = []
    for _ in range(source.randint(1, 4)):
        rows = source.choice((1, 1, 1, 2, 3, 5))
        keys = source.choice((rows, k - 1, k, k + rows, k + 1, 2 * k + 3,
                              source.randint(1, 300), source.randint(1, 3 * k)))
        keys = max(rows, keys)
        if made and sum(length for _, length in made) + keys > _MOST_KEYS:
            keys = max(rows, keys % 97)
        made.append((rows if source.random() > 0.05 or not made else 0, keys))  # noqa: PLR2004
    if not any(rows for rows, _ in made):
        made.append((1, 5))
    return tuple(made)
