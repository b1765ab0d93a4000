"""DeepSeek-V4's compressor: reference, bound, and SP-20.

Token at position p has a state: values and scores + ape[p mod r], each twice as wide where groups
overlap (r = 4). The last token of a group, (p + 1) mod r = 0, makes a compressed key of the states
of its group, or of its group's second halves and the first halves of the group before: for each
element a softmax of the scores over these tokens, and the weighted sum of their values. A token
before position 0 has no weight. Then an RMS norm, a rotation of the rope part at the position of
the group's first token, pairs interleaved, and a packed row (rows.py, encoding OCP on each
architecture) in the slot of key p // r.

The bound. u = 2^-24, s_i the scores, m their maximum, n tokens, D elements. A weight has the error
e^d_i, |d_i| <= u |s_i| + gamma(3) |s_i - m| + 4u. With A = e^(2 max d_i) (1 + gamma(2n + 8)) - 1
an element c of the sum is off by E <= A sum p_i |v_i|. The root of the mean square plus eps is the
length of (c / sqrt D, sqrt eps), which changes no more than its argument: relatively by
R <= |E| / (sqrt D rms) + gamma(D + 8), its inverse by Q = R / (1 - R) + gamma(8). An element of the
norm, x = c w / rms, is off by F <= |w| (1 + Q) E / rms + |x| Q, a rotated one by
|cos| F + |sin| F' + gamma(3) (|x cos| + |x' sin|). Both are rounded to bf16, 2^-8; the latent ones
then to fp8: 2^-4 of the value, or half of the least step of the scale.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from . import rows
from .cache import scale_limits
from .case import Case
from .findings import Finding, Sentences, first
from .inputs import Inputs
from .numbers import OCP, U32, UBF16, gamma, of_bf16

STAGE = "compress"
EPS = 1e-6
#: A step: (request, first position, position after the last).
Step = Sequence[tuple[int, int, int]]


@dataclasses.dataclass(frozen=True)
class Source:
    """What a compressor gets of a batch.

    Attributes:
        inputs: of the batch; its case names ratio and rows.
        kv, score: of each request (keys, halves * width) float32.
        ape: (ratio, halves * width) float32. weight: (width,) float32, of the norm.
        turns: (positions, rope) float32: cosines, then sines.
    """

    inputs: Inputs
    kv: tuple[np.ndarray, ...]
    score: tuple[np.ndarray, ...]
    ape: np.ndarray
    weight: np.ndarray
    turns: np.ndarray

    @property
    def ratio(self) -> int:
        """Tokens of a group."""
        return self.inputs.case.ratio

    @property
    def halves(self) -> int:
        """2 where groups overlap."""
        return 2 if self.ratio == 4 else 1  # noqa: PLR2004

    @property
    def width(self) -> int:
        """Elements of a compressed key."""
        return self.inputs.case.row_width

    def steps(self) -> tuple[Step, Step]:
        """Everything before the rows of the batch, then those."""
        made = [(number, keys - count, keys)
                for number, (count, keys) in enumerate(self.inputs.case.requests)]
        return [(number, 0, begin) for number, begin, _ in made], made

    def slots(self, request: int) -> np.ndarray:
        """(groups,) int64: where the compressed keys of a request lie."""
        return self.inputs.slots(request)[:int(self.inputs.lengths[request]) // self.ratio]

    def states(self, request: int, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and scores (tokens, width) float64 of a group; the scores are -inf where there is
        no token."""
        width, r = self.width, self.ratio
        at = np.arange((group + 1 - self.halves) * r, (group + 1) * r)
        half = (np.arange(at.size) >= r).astype(int) if self.halves > 1 else np.zeros(r, int)
        there = at >= 0
        row = np.maximum(at, 0)
        columns = half[:, None] * width + np.arange(width)
        score = np.take_along_axis(self.score[request][row], columns, 1).astype(np.float64)
        score += np.take_along_axis(self.ape[row % r], columns, 1)
        score[~there] = -np.inf
        values = np.take_along_axis(self.kv[request][row], columns, 1).astype(np.float64)
        return values, score


def source_of(inputs: Inputs) -> Source:
    """The same for the same line."""
    case, draw = inputs.case, np.random.default_rng([inputs.case.seed, 10])
    wide = (2 if case.ratio == 4 else 1) * case.row_width  # noqa: PLR2004
    size = {"wide": 8.0, "equal": 0.0}.get(case.data, 1.0)
    longest = int(inputs.lengths.max())
    angles = np.arange(longest)[:, None] * 10000.0 ** (
        -np.arange(case.width[1] // 2) / max(1, case.width[1] // 2))
    return Source(
        inputs,
        tuple((draw.standard_normal((keys, wide)) * (case.data != "zero")).astype(np.float32)
              for _, keys in case.requests),
        tuple((size * draw.standard_normal((keys, wide))).astype(np.float32)
              for _, keys in case.requests),
        (size * draw.standard_normal((case.ratio, wide))).astype(np.float32),
        (1 + draw.standard_normal(case.row_width) / 4).astype(np.float32),
        np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))


@dataclasses.dataclass(frozen=True)
class Compressed:
    """value, bound: (width,) float64, before any rounding to bf16."""

    value: np.ndarray
    bound: np.ndarray


def compressed(source: Source, request: int, group: int) -> Compressed:
    """The compressed key of a group."""
    values, score = source.states(request, group)
    top = score.max(axis=0)
    p = np.exp(score - top)
    p /= p.sum(axis=0)
    there = np.isfinite(score)
    d = np.where(there, U32 * np.abs(np.where(there, score, 0))
                 + gamma(3) * np.abs(np.where(there, score - top, 0)) + 4 * U32, 0)
    a = np.exp(2 * d.max(axis=0)) * (1 + gamma(2 * len(score) + 8)) - 1
    c, e = (p * values).sum(axis=0), a * (p * np.abs(values)).sum(axis=0)
    rms = np.sqrt((c ** 2).mean() + EPS)
    r = float(np.sqrt((e ** 2).mean()) / rms + gamma(source.width + 8))
    q = r / (1 - r) + gamma(8)
    weight = source.weight.astype(np.float64)
    x = c * weight / rms
    f = np.abs(weight) * (1 + q) * e / rms + np.abs(x) * q
    latent = source.inputs.case.width[0]
    half = source.inputs.case.width[1] // 2
    cos, sin = (source.turns[group * source.ratio, side * half:(side + 1) * half].astype(float)
                for side in (0, 1))
    even, odd, fe, fo = x[latent::2], x[latent + 1::2], f[latent::2], f[latent + 1::2]
    turned, bound = x.copy(), f.copy()
    turned[latent::2], turned[latent + 1::2] = even * cos - odd * sin, odd * cos + even * sin
    for at, (one, other, f1, f2) in ((latent, (even, odd, fe, fo)),
                                     (latent + 1, (odd, even, fo, fe))):
        bound[at::2] = (np.abs(cos) * f1 + np.abs(sin) * f2
                        + gamma(3) * (np.abs(one * cos) + np.abs(other * sin)))
    return Compressed(turned, bound)


#: compress(source, steps, cache): runs the steps one after the other.
Compress = Callable[[Source, Sequence[Step], np.ndarray], None]


def check_compress(source: Source, compress: Compress) -> list[Finding]:
    """SP-20: of all tokens in one step, and of two steps."""
    before, after = source.steps()
    whole = [(number, 0, end) for number, _, end in after]
    right = [[compressed(source, request, group) for group in range(source.slots(request).size)]
             for request in range(len(source.kv))]
    return first(STAGE, (_run(source, right, compress, steps, named) for steps, named in (
        ([whole], "in one step"), ([before, after], "in two steps"))))


def _run(source: Source, right: list[list[Compressed]], compress: Compress,
         steps: Sequence[Step], named: str) -> Sentences:
    inputs = source.inputs
    held = inputs.noise(inputs.packed.size)
    found = held.copy()
    compress(source, steps, found)
    case = dataclasses.replace(inputs.case, fp8=OCP.name)
    slots = [source.slots(request) for request in range(len(inputs.lengths))]
    at = rows.places(case, np.concatenate(slots))
    allowed = np.zeros(held.size, bool)
    for part in (at.values, at.scales, at.rope, at.spare):
        allowed[part] = True
    changed = np.flatnonzero((found != held) & ~allowed)
    if changed.size:
        block, inner = divmod(int(changed[0]), rows.Layout(case).block_bytes)
        yield "SP-20", (f"{named}: {changed.size} bytes that belong to no group that is whole "
                        f"changed, the first of them byte {inner} of block {block}")
    for request, own in enumerate(slots):
        stored = rows.stored(case, found, own)
        latent = stored.latent(case)
        for group in range(own.size):
            what = _wrong(case, right[request][group], latent[group], stored.scales[group],
                          of_bf16(stored.rope[group]))
            if what:
                yield "SP-20", (f"{named}: group {group} of request {request} (slot {own[group]}), "
                                f"which ends at position {(group + 1) * source.ratio - 1}: {what}")
                return


def _wrong(case: Case, right: Compressed, latent: np.ndarray, scales: np.ndarray,
           rope: np.ndarray) -> str:
    width, size = case.width[0], rows.Layout(case).tile
    room = right.bound + UBF16 * (np.abs(right.value) + right.bound)
    tiles = np.abs(right.value[:width]).reshape(-1, size)
    off = room[:width].reshape(-1, size)
    low, _ = scale_limits(np.maximum(tiles - off, 0), OCP.most, "ue8m0")
    _, high = scale_limits(tiles + off, OCP.most, "ue8m0")
    wrong = ~((low <= scales) & (scales <= high) & (np.frexp(scales)[0] == 0.5))  # noqa: PLR2004
    for tile in np.flatnonzero(wrong)[:1]:
        return (f"the scale of tile {tile} is {scales[tile]:.6g}; amax {tiles[tile].max():.6g} "
                f"over {OCP.most:g} allows {low[tile]:.6g} to {high[tile]:.6g}")
    code = np.maximum((np.abs(right.value) + room)[:width] / 16,
                      (scales * 2.0 ** -10).repeat(size))
    allowed = np.concatenate([room[:width] + code, room[width:]])
    found = np.concatenate([latent, rope])
    away = np.abs(found - right.value)
    for d in np.flatnonzero(~(away <= allowed + 2.0 ** -126))[:1]:
        return (f"element {d} is {found[d]:.6g}; the reference has {right.value[d]:.6g} and allows "
                f"{allowed[d]:.3g}; wrong are {int((~(away <= allowed)).sum())} of {found.size}")
    return ""
