"""A case as a script of AITER's own API: what a maintainer runs on a GPU, without this project."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

from .aiter.tree.lists import LISTS
from .errors import UsageError

_POISON = -0x5EADBEEF  # kPoison (core/plan/plan.hpp)
#: Compute units of the products: a case that has another number brings its plan as words.
_UNITS = {"gfx942": 304, "gfx950": 256}
#: What AITER's decode has a counterpart of; the others must be absent from a case's full line.
_FIELDS = {"heads", "block", "arch", "cu", "dtype", "gran", "split", "causal", "layout", "data",
           "page", "planner", "lse", "origin", "sched", "qpad", "splits", "scale", "spare"}

_TEMPLATE = string.Template('''\
"""$title

AITER $commit, $arch. Exit code 1: wrong. Needs torch, AITER and a GPU of this architecture.
"""
import sys

import torch

import aiter
from aiter import dtypes
from aiter.mla import mla_decode_fwd

QO_INDPTR = $qo_indptr
KV_INDPTR = $kv_indptr  # pages
LAST_PAGE_LEN = $last_page_len
HEADS, PAGE_SIZE, FIRST_PAGE, CAUSAL = $heads, $page_size, $origin, $causal
Q_DTYPE, KV_DTYPE = $q_dtype, $kv_dtype
Q_SCALE, KV_SCALE, SM_SCALE = $q_scale, $kv_scale, 192**-0.5
MAX_QO_LEN, RETURN_LSE = $max_qo_len, $return_lse
$plan_values

def ints(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def inputs():
    """Standard normal rows in shuffled pages; the cache holds NaN where no request has a key."""
    torch.manual_seed($seed)
    rows, pages = QO_INDPTR[-1], KV_INDPTR[-1]
    q = torch.randn(rows, HEADS, 576).to(Q_DTYPE)
    indices = FIRST_PAGE + torch.randperm(pages)
    cache = torch.zeros(FIRST_PAGE + pages, PAGE_SIZE, 1, 576, dtype=torch.bfloat16).to(KV_DTYPE)
    for request, last in enumerate(LAST_PAGE_LEN):
        for page in range(KV_INDPTR[request], KV_INDPTR[request + 1]):
            held = last if page + 1 == KV_INDPTR[request + 1] else PAGE_SIZE
            row = torch.full((PAGE_SIZE, 1, 576), float("nan"))
            row[:held] = torch.randn(held, 1, 576)
            cache[indices[page]] = row.to(KV_DTYPE)
    return q, cache, indices


def reference(q, cache, indices):
    """float64 attention, and what the rounding of the probabilities may make of it, twice."""
    q, step = q.double() * Q_SCALE, $step
    outs, bounds, lses = [], [], []
    for request, last in enumerate(LAST_PAGE_LEN):
        first, end = KV_INDPTR[request], KV_INDPTR[request + 1]
        rows = range(QO_INDPTR[request], QO_INDPTR[request + 1])
        keys = cache[indices[first:end]].double().reshape(-1, 576) * KV_SCALE
        keys = keys[: max((end - first - 1) * PAGE_SIZE + last, 0) if end > first else 0]
        for row in rows:
            seen = keys[: max(len(keys) - (rows[-1] - row), 0)] if CAUSAL else keys
            scores = q[row] @ seen.T * SM_SCALE
            p = torch.softmax(scores, dim=-1)
            lses.append(torch.logsumexp(scores, dim=-1))
            outs.append(p @ seen[:, :512])
            bounds.append(2 * step * (p @ seen[:, :512].abs()) + 2**-7 * outs[-1].abs() + 1e-6)
    return torch.stack(outs), torch.stack(bounds), torch.stack(lses)


${plan_function}def wrong(name, found, expected, bound):
    """Counts the elements beyond their bound, NaN among them, and prints the first."""
    found = found.double().cpu().reshape(expected.shape)
    bad = ~((found - expected).abs() <= bound)
    print(f"{name}: {int(bad.sum())} of {bad.numel()} elements are wrong")
    if bad.any():
        at = tuple(int(i) for i in bad.nonzero()[0])
        print(f"  first: {name}{list(at)} is {float(found[at])}, expected {float(expected[at])} "
              f"+- {float(bound[at]):.2g}")
    return int(bad.sum())


def main():
    q, cache, indices = inputs()
    expected, bound, lse = reference(q, cache, indices)
    out = torch.full((len(q), HEADS, 512), float("nan"), dtype=torch.bfloat16, device="cuda")
    scale = lambda value, dtype: None if dtype == torch.bfloat16 else torch.tensor(
        [value], dtype=torch.float32, device="cuda")
    _, returned = mla_decode_fwd(
        q.cuda(), cache.cuda(), out, ints(QO_INDPTR), ints(KV_INDPTR), ints(indices.tolist()),
        ints(LAST_PAGE_LEN), MAX_QO_LEN, page_size=PAGE_SIZE, sm_scale=SM_SCALE,
        q_scale=scale(Q_SCALE, Q_DTYPE), kv_scale=scale(KV_SCALE, KV_DTYPE)$more)
    torch.cuda.synchronize()
    count = wrong("out", out, expected, bound)
    if RETURN_LSE:
        count += wrong("lse", returned, lse, 1e-3 * (1 + lse.abs()))
    return int(count > 0)


sys.exit(main())
''')

_PLANNED = string.Template('''\
def plan():
    """The planner's lists on this GPU."""
    qo, kv, last = ints(QO_INDPTR), ints(KV_INDPTR), ints(LAST_PAGE_LEN)
    sizes = aiter.get_mla_metadata_info_v1(
        len(LAST_PAGE_LEN), MAX_QO_LEN, HEADS, Q_DTYPE, KV_DTYPE, is_sparse=False, fast_mode=$fast,
        num_kv_splits=$splits_for_sizes, intra_batch_mode=$intra)
    names = ("work_meta_data", "work_indptr", "work_info_set", "reduce_indptr",
             "reduce_final_map", "reduce_partial_map")
    lists = {name: torch.empty(size, dtype=dtype, device="cuda")
             for name, (size, dtype) in zip(names, sizes)}
    aiter.get_mla_metadata_v1(
        qo, kv, last, HEADS, 1, CAUSAL, lists["work_meta_data"], lists["work_info_set"],
        lists["work_indptr"], lists["reduce_indptr"], lists["reduce_final_map"],
        lists["reduce_partial_map"], page_size=PAGE_SIZE, kv_granularity=$granularity,
        max_seqlen_qo=MAX_QO_LEN, uni_seqlen_qo=$uniform, fast_mode=$fast,
        max_split_per_batch=$most_splits, intra_batch_mode=$intra,
        dtype_q=Q_DTYPE, dtype_kv=KV_DTYPE)
    return lists


''')

_GIVEN = '''\
def plan():
    """The plan that the planner makes on a GPU of so many compute units; the others get no work."""
    units = torch.cuda.get_device_properties(0).multi_processor_count
    lists = {name: ints(words) for name, words in PLAN.items()}
    ends = PLAN["work_indptr"]
    lists["work_indptr"] = ints(ends + ends[-1:] * (units + 1 - len(ends)))
    lists["work_info_set"] = lists["work_info_set"].view(-1, 8)
    lists["reduce_final_map"] = lists["reduce_final_map"].view(-1, 2)
    addresses = [lists[name].data_ptr() for name in ("work_indptr", "work_info_set")]
    lists["work_meta_data"] = torch.tensor(addresses, dtype=torch.uint64, device="cuda")
    return lists


'''


def fields_of(case: str) -> dict[str, str]:
    """The fields of a case's full line."""
    return dict(field.split("=", 1) for field in case.split(";")[1:])


def script(call: Mapping[str, Any], plan: Mapping[str, Sequence[int]], commit: str,
           title: str) -> str:
    """The script of one case. call: what `plan --json` says of it. plan: the words of its lists
    over the tree, for a case of other compute units than the product's.

    Raises:
        UsageError: the case has something that AITER's decode has no counterpart of.
    """
    fields = fields_of(call["name"])
    strange = sorted(fields.keys() - _FIELDS)
    if strange or not call["name"].startswith("mla1:") or "+" in call["name"]:
        raise UsageError(f"no script of AITER's API for '{call['name']}': "
                         f"{', '.join(strange) or 'a sequence'} has no counterpart there")
    arch = call["arch"]
    fp8 = call["dtype_q"] == "fp8"
    scales = fields.get("scale", "1/1").split("/")
    planned = call["decisions"]["route"] != "split"
    given = planned and call["num_cu"] != _UNITS[arch]
    more = ", return_lse=RETURN_LSE" if fields.get("lse") == "1" else ""
    more += "" if call["is_causal"] else ", causal=False"
    values, function = "", ""
    if given:
        values = _plan_values(plan, call["num_cu"]) + "\n"
        function, more = _GIVEN, more + ",\n        **plan()"
    elif planned:
        most = call["max_split_per_batch"]
        function = _PLANNED.substitute(
            fast=call["fast_mode"], intra=call["intra_batch_mode"], most_splits=most,
            splits_for_sizes=max(most, 1) if most > 0 else 0,
            granularity=call["kv_granularity"], uniform=call["uni_seqlen_qo"])
        more += ",\n        **plan()"
    elif int(fields.get("splits", "0")) > 0:
        count, last = int(fields["splits"]), (len(call["seqlens_kv_indptr"]) - 1)
        more += (f",\n        num_kv_splits={count}, "
                 f"num_kv_splits_indptr=ints(range(0, {last * count} + 1, {count}))")
    return _TEMPLATE.substitute(
        title=title, commit=commit, arch=arch, qo_indptr=call["seqlens_qo_indptr"],
        kv_indptr=call["seqlens_kv_indptr"], last_page_len=call["kv_last_page_lens"],
        heads=call["num_heads_per_head_k"], page_size=call["page_size"],
        origin=fields.get("origin", "0"), causal=call["is_causal"],
        q_dtype=_dtype(call["dtype_q"]), kv_dtype=_dtype(call["dtype_kv"]),
        q_scale=scales[0] if fp8 else "1",
        kv_scale=scales[1] if call["dtype_kv"] == "fp8" else "1",
        max_qo_len=call["max_seqlen_qo"], return_lse=fields.get("lse") == "1",
        plan_values=values, seed=fields["data"].split(".")[-1],
        step="2**-4" if fp8 else "2**-8", plan_function=function, more=more)


def _dtype(name: str) -> str:
    return "dtypes.fp8" if name == "fp8" else "torch.bfloat16"


def _plan_values(plan: Mapping[str, Sequence[int]], units: int) -> str:
    missing = [name for name in LISTS if name not in plan]
    if missing:
        raise UsageError(f"no script without the words of {missing[0]}")
    lines = [f"PLAN = {{  # of {units} compute units"]
    for name in LISTS:  # what the planner left as it was is read by nobody
        lines.append(f"    {name!r}: {[0 if word == _POISON else word for word in plan[name]]},")
    return "\n".join([*lines, "}"])
