"""The attention of all ranks, against dense attention in float64."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...judging import Reference
from .. import tensors
from ..decode import result
from ..elements import check_elements
from ..findings import ATTEND, Finding
from ..step import EngineStep
from .built import Attended, RankBuilt
from .shard import Shard

#: Relative error of rounding to bf16 is 2**-8; the rest is for sums in float32.
_ROUNDING = 1.05 * 2.0 ** -8
#: exp of a difference below it is 0 in float32.
_NOTHING = -104.0
#: bf16 and both fp8 formats have it.
_LOUD = 96.0


def inputs(
    step: EngineStep, shard: Shard, order: tuple[int, ...]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Query of each rank, and the cache of `Shard.whole`."""
    q = tensors.query(shard.gathered(step), order, tensors.WIDTH, step.dtype_q)
    return (np.split(q, shard.world, axis=1),
            tensors.cache(shard.whole(step), step.dtype_kv))


def without_nan(step: EngineStep, cache: np.ndarray) -> np.ndarray:
    """The cache with a finite value, larger than any key's, where it is NaN."""
    loud = tensors.bits(np.full(1, _LOUD, np.float32), step.dtype_kv, step.arch)
    made: np.ndarray = np.where(np.isnan(tensors.values_of(cache, step.arch)), loud, cache)
    return made


def whole(step: EngineStep, shard: Shard, order: tuple[int, ...]) -> result.Part:
    """What all ranks attend together."""
    everything = shard.whole(step)
    return result.Part(order, np.cumsum([0, *(step.query_lens[i] for i in order)]),
                       [everything.token_slots(i) for i in order])


def of_share(
    step: EngineStep, shard: Shard, rank: int, order: tuple[int, ...], q: np.ndarray,
    cache: np.ndarray, *, scaled_before: bool,
) -> Reference:
    """Dense attention of each row over the keys of a rank that it sees.

    Args:
        q: (rows, world * heads, 576). cache: the rank's.
        scaled_before: scales are applied before the products, not after.
    """
    share = shard.share(step, rank)
    slots = [share.token_slots(request)[:keys] for request in order
             for keys in shard.seen(step, request, rank)]
    part = result.Part(order, np.arange(len(slots) + 1), slots)
    right = result.dense(step, part, q, cache)
    return _scaled_before(step, right, slots, q, cache) if scaled_before else right


def _scaled_before(
    step: EngineStep, right: Reference, slots: list[np.ndarray], q: np.ndarray, cache: np.ndarray
) -> Reference:
    """The bounds of a kernel that multiplies query and keys by their scales first, into bf16.

    With u = 2**-9 a product of two such roundings is off by at most 2 u + u**2 of its magnitude.
    The largest sum of these over the keys of a row is e. So each score, and with it the LSE, is
    off by at most e more; weights by a factor of exp(2 e), and values by u.
    """
    unit = 2.0 ** -9
    queries = tensors.values_of(q, step.arch).astype(np.float64) * step.q_scale
    out_bound, lse_bound = right.out_bound.copy(), right.lse_bound.copy()
    for row, own in enumerate(slots):
        if own.size == 0:
            continue
        keys = tensors.values_of(cache[own], step.arch).astype(np.float64) * step.kv_scale
        scores = queries[row] @ keys.T * result.SCALE
        size = (np.abs(queries[row]) @ np.abs(keys).T).max(axis=-1) * result.SCALE
        error = (2 * unit + unit ** 2) * size
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        values = weights @ np.abs(keys[:, :tensors.VALUES])
        lse_bound[row] += error
        out_bound[row] += (np.expm1(2 * error) + unit)[:, None] * values
    return right._replace(out_bound=out_bound, lse_bound=lse_bound)


def bound_of_merge(shares: list[Reference]) -> np.ndarray:
    """How far a merged element may be from dense attention.

    Rank k's part weighs w_k = exp(lse_k - L). An error of all LSE of at most e changes a weight by
    a factor of at most g = exp(2 e), since L changes by no more than e. So the sum of w_k o_k is
    off by the sum of w_k (g b_k + (g - 1) |o_k|) with b_k the bound of o_k. Each product is
    rounded to bf16, and so is each of the world - 1 sums, which is not above the sum of
    w_k |o_k|; once more for a result that is stored again.
    """
    lse = np.stack([one.lse for one in shares])
    top = np.where(np.isfinite(lse.max(axis=0)), lse.max(axis=0), 0.0)
    weights = np.exp(lse - top)
    weights = weights / np.maximum(weights.sum(axis=0), 1e-300)
    errors = np.where(weights > 0, np.stack([one.lse_bound for one in shares]), 0.0).max(axis=0)
    grown = np.exp(2 * errors)[..., None]
    bound = np.zeros_like(shares[0].out)
    size = np.zeros_like(bound)
    for one, weight in zip(shares, weights, strict=True):
        part = weight[..., None] * (np.abs(one.out) + one.out_bound)
        size += grown * part
        bound += weight[..., None] * (grown * one.out_bound + (grown - 1) * np.abs(one.out))
    made: np.ndarray = bound + _ROUNDING * (len(shares) + 1) * size + 1e-6
    return made


def check(
    step: EngineStep, built: RankBuilt, attended: Attended, q: np.ndarray, cache: np.ndarray
) -> list[Finding]:
    """P05 and P24: out and LSE of each rank over its own keys, and what is merged of them.

    Args:
        q: (rows, world * heads, 576). cache: the one of `Shard.whole`.
    """
    shard, order = built.shard, built.live
    early = step.dtype_kv == "fp8" and any(part.rows is not None for part in built.parts)
    shares = [of_share(step, shard, rank, order, q, shard.cache(step, cache, rank),
                       scaled_before=early) for rank in range(shard.world)]
    found: list[Finding] = []
    for rank, right in enumerate(shares):
        found += _of_rank(step, built, rank, attended, right)
    if found:
        return found
    right = result.dense(shard.gathered(step), whole(step, shard, order), q, cache)
    bound, heads = bound_of_merge(shares), step.heads
    for rank, merged in enumerate(attended.merged):
        own = slice(rank * heads, (rank + 1) * heads)
        wrong = check_elements(step, order, merged, right.out[:, own], bound[:, own],
                               f"request {{}} merged on rank {rank}".format)
        found += [dataclasses.replace(one, property="P24") for one in wrong]
    return found


def _of_rank(
    step: EngineStep, built: RankBuilt, rank: int, attended: Attended, right: Reference
) -> list[Finding]:
    """Rows that see keys of this rank; of the others, whose keys are elsewhere, the LSE."""
    shard, order = built.shard, built.live
    seen = np.concatenate([shard.seen(step, request, rank) for request in order])
    held = np.concatenate([np.full(step.query_lens[i], shard.length(step.seq_lens[i], rank))
                           for i in order])
    out, lse = attended.out[rank], attended.lse[rank]
    if lse.shape != right.lse.shape:
        return [Finding("P24", step.number, f"rank {rank}: the LSE has shape {lse.shape}; expected "
                        f"{right.lse.shape}", stage=ATTEND)]
    sees = seen[:, None, None] > 0
    if out.shape == right.out.shape:
        out = np.where(sees, out, right.out)
    found = check_elements(step, order, out, right.out, right.out_bound,
                           f"request {{}} on rank {rank}".format)
    away = np.abs(lse.astype(np.float64) - np.where(sees[..., 0], right.lse, 0.0))
    # A share without keys is masked by request. A row without any, in a share that has some, has
    # no weight by its own LSE; merging takes NaN and infinity for that too.
    empty = ~np.isfinite(lse) | (lse < _NOTHING)
    wrong = np.where(sees[..., 0], ~(away <= right.lse_bound),
                     (held[:, None] > 0) & ~empty)
    if not found and wrong.any():
        row, head = (int(n) for n in np.argwhere(wrong)[0])
        means = (f"the reference has {right.lse[row, head]:.6g} and allows "
                 f"{right.lse_bound[row, head]:.3g}" if seen[row]
                 else "the row sees no key of this rank, so it has no weight")
        found.append(Finding(
            "P24", step.number, f"rank {rank}: the LSE of row {row} head {head} is "
            f"{lse[row, head]:.6g}; {means}; wrong are {int(wrong.sum())} of {wrong.size}",
            stage=ATTEND))
    return found
