"""Planning, checking and judging in one call: what people use first."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _library, _options, _structs
from ._cases import _text
from ._tensors import describe, refuse_mask
from .bundle import Bundle, from_document
from .errors import BY_STATUS, TensorError, UnsupportedError, UsageError
from .planning import PLAN_DEFAULTS, allocate, decode_sizes, plan_decode

if TYPE_CHECKING:
    import numpy.typing as npt

    from .array_types import Array

_LISTS = ("seqlens_qo_indptr", "seqlens_kv_indptr", "kv_last_page_lens")
#: What planners and size query call the arguments of `plan`.
_PLAN_NAMES = {"compute_units": "num_cu", "q_dtype": "dtype_q", "kv_dtype": "dtype_kv",
               "num_head_qo": "num_heads_per_head_k * num_heads_k",
               "batch_size": "the batch of seqlens_kv_indptr"}
#: Options of the command that messages of `run` would speak of.
_RUN_NAMES = {"--property": "properties:", "--device": "device", "--aiter-hsa DIR": "aiter_hsa",
              "--aiter-hsa": "aiter_hsa", "plants --list": "`mla-testbed plants --list`"}
_SCALES = ("softmax_scale", "q_scale", "kv_scale")


def plan(case_or_lists: str | Mapping[str, Any], *, as_aiter: bool = False) -> Bundle:
    """Plans a step.

    Args:
        case_or_lists: a case such as "mla1:2q1s900;heads=16", or the arguments of AITER's
            `get_mla_metadata_v1` by name: `seqlens_qo_indptr` and `seqlens_kv_indptr` (batch + 1,
            rows and pages), `kv_last_page_lens` (batch, tokens; may be left out for pages of 1
            token), and what differs from the defaults, such as `num_heads_per_head_k`, `page_size`,
            `max_seqlen_qo` (the longest request's rows if left out), `dtype_q`, `arch`, `num_cu`.
        as_aiter: repeat the original planner where it is broken, instead of refusing.

    Returns:
        Lists, decisions and plan; `Bundle.buffers` has the six buffers.

    Raises:
        UsageError: no case, or an argument that no planner can digest.
        UnsupportedError: what AITER refuses.
        RefusedError: what AITER takes and gets wrong, such as a plan that `check` would call
            broken; with `bug` where the defect has a number.
    """
    if isinstance(case_or_lists, str):
        return from_document(json.loads(
            _text("mla_case_plan", _options.text(case_or_lists, "case"),
                  _options.flag(as_aiter, "as_aiter"))))
    if not isinstance(case_or_lists, Mapping):
        raise UsageError(f"plan() got {case_or_lists!r}; expected a case or arguments by name")
    return _plan_lists(dict(case_or_lists), as_aiter)


def _list_of(name: str, value: Any) -> np.ndarray:
    """A list of numbers as the planner takes it: int32, nothing rounded or cut."""
    refuse_mask(value, name)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as e:
        raise UsageError(f"{name} is no list of numbers: {e}") from e
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise UsageError(f"{name} is an array of {array.dtype} with {array.ndim} dimensions; "
                         "expected a list of whole numbers")
    limits = np.iinfo(np.int32)
    for number in array[(array < limits.min) | (array > limits.max)][:1]:
        raise UsageError(f"{name} has {number}; expected {limits.min} to {limits.max}")
    return np.ascontiguousarray(array, np.int32)


def _option(name: str, value: Any) -> Any:
    """An option of a planner call as a bundle has it: numbers and dtypes of numpy and torch become
    plain ones."""
    if name == "arch":
        _options.arch_number(value)
        return value
    if name in ("dtype_q", "dtype_kv"):
        return _options.dtype_text(value, name)
    if isinstance(PLAN_DEFAULTS[name], bool):
        return bool(_options.flag(value, name))
    return None if name == "num_cu" and value is None else int(_options.number(value, name))


def _plan_lists(call: dict[str, Any], as_aiter: bool) -> Bundle:
    unknown = set(call) - set(PLAN_DEFAULTS) - set(_LISTS)
    if unknown:
        raise UsageError(f"plan() does not know {', '.join(sorted(map(str, unknown)))}; expected "
                         f"{', '.join((*_LISTS, *PLAN_DEFAULTS))}")
    for name in _LISTS[:2]:
        if name not in call:
            raise UsageError(f"plan() needs {name}, a list of batch + 1 numbers")
    lists = {name: _list_of(name, call.pop(name)) for name in _LISTS if name in call}
    call = {name: _option(name, value) for name, value in call.items()}
    batch = lists["seqlens_kv_indptr"].size - 1
    options = {**PLAN_DEFAULTS, **call}
    if "kv_last_page_lens" not in lists and options["page_size"] > 1:
        raise UsageError("plan() needs kv_last_page_lens, the tokens in the last page of each "
                         f"request: page_size is {options['page_size']}")
    lists.setdefault("kv_last_page_lens", np.ones(max(batch, 0), np.int32))
    rows = np.diff(lists["seqlens_qo_indptr"])
    longest = int(rows.max(initial=1))
    if "max_seqlen_qo" not in call:
        options["max_seqlen_qo"] = longest
    # Buffers are asked for with the longest query there can be, as `plan --input` does.
    told = options["topk"] < 0 and options["max_seqlen_qo"] > 0
    arch, units = options.pop("arch"), options.pop("num_cu")
    units = _options.compute_units_of(arch, units)
    heads, kv_heads = options.pop("num_heads_per_head_k"), options.pop("num_heads_k")
    causal = options.pop("is_causal")
    with _library.named(_PLAN_NAMES):
        sizes = decode_sizes(
            max(batch, 0), options["max_seqlen_qo"] if told else longest, heads * kv_heads,
            options["dtype_q"], options["dtype_kv"], is_sparse=options["topk"] >= 0,
            fast_mode=options["fast_mode"], intra_batch_mode=options["intra_batch_mode"],
            max_split_per_batch=options["max_split_per_batch"], arch=arch, compute_units=units)
        buffers = allocate(sizes)
        plan_decode(lists["seqlens_qo_indptr"], lists["seqlens_kv_indptr"],
                    lists["kv_last_page_lens"], heads, kv_heads, causal, buffers, arch=arch,
                    compute_units=units, as_aiter=as_aiter, **options)
    shapes = {name: list(shape) for name, shape in sizes.shapes().items()}
    shapes["work_metadata_ptrs"] = shapes.pop("work_meta_data")
    scalars = {"name": "plan", "arch": arch, "num_cu": units, "num_heads_per_head_k": heads,
               "num_heads_k": kv_heads, "is_causal": causal, **options, "buffer_sizes": shapes}
    arrays = {**lists, "work_indptr": buffers.work_indptr,
              "work_info": buffers.work_info_set.reshape(-1),
              "reduce_indptr": buffers.reduce_indptr,
              "reduce_final_map": buffers.reduce_final_map.reshape(-1),
              "reduce_partial_map": buffers.reduce_partial_map}
    bundle = Bundle(scalars, arrays)
    if not as_aiter:
        found = json.loads(_text("mla_check_plan", bundle.document().encode()))
        if found["refusal"]:
            raise BY_STATUS[found["refusal_status"]](found["refusal"], found["bug"])
    return bundle


class Violation(NamedTuple):
    """One violated invariant of a plan.

    Attributes:
        rule: its name (docs/reference/contracts, and `mla-testbed check`).
        what: a sentence with the values.
        work: index in work_info_set, or -1.
    """

    rule: str
    what: str
    work: int


@dataclasses.dataclass(frozen=True)
class Answer:
    """What `check` found.

    Attributes:
        valid: whether the plan is right for its batch.
        violations: what is wrong with it.
        at_fault: what made it wrong, such as "the builder" or "the planner"; "" if it is valid.
        diagnosis: why, in a sentence.
        notes: what is no violation and worth knowing.
    """

    valid: bool
    violations: tuple[Violation, ...]
    at_fault: str
    diagnosis: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        notes = [f"note: {note}" for note in self.notes]
        if self.valid:
            return "\n".join(["valid", *notes])
        lines = [f"{v.rule}: {v.what}" for v in self.violations]
        return "\n".join([*lines, *notes, f"at fault: {self.at_fault}: {self.diagnosis}"])


def check(bundle: Bundle) -> Answer:
    """Whether the plan of a bundle is valid for its batch, and what made it wrong if not.

    Its tensors are looked at as `mla-testbed check` does: rows and heads of `q`, `out` and `lse`
    against the lists, page ids against the cache.

    Args:
        bundle: from `plan`, `Bundle.load` or `capture`.

    Raises:
        UsageError: no bundle, or an array or a scalar cannot be read; the message names it.
        UnsupportedError: a plan of a kind that cannot be checked, such as a sparse one.
    """
    if not isinstance(bundle, Bundle):
        raise UsageError(f"check() got {bundle!r}; expected a Bundle")
    tensors = bundle.tensors()
    found = json.loads(_text("mla_check_bundle", bundle.document().encode(),
                             _arrays_of(tensors), len(tensors)))
    if not found["checked"]:
        raise UnsupportedError(f"bundle '{bundle.name}' cannot be checked: {found['reason']}")
    violations = tuple(Violation(**v) for v in found["violations"])
    return Answer(not violations, violations, found["at_fault"], found["diagnosis"],
                  (*found["notes"], *_notes_of_scales(bundle)))


def _arrays_of(tensors: Mapping[str, np.ndarray]) -> Any:
    """Tensors as the library takes them; they stay the caller's."""
    arrays = (_structs.Array * len(tensors))()
    for place, (name, tensor) in zip(arrays, tensors.items(), strict=True):
        shape = (ctypes.c_int64 * tensor.ndim)(*tensor.shape)
        place.name, place.data = name.encode(), tensor.ctypes.data
        place.kind, place.element_bytes = "iufV".index(tensor.dtype.kind), tensor.dtype.itemsize
        place.dims, place.shape = tensor.ndim, shape
    return arrays


def _notes_of_scales(bundle: Bundle) -> list[str]:
    """Of scales that mla_capture has as texts: no plan is wrong by them, and every result is."""
    return [f"{key} is {bundle.scalars[key]}: no result that it multiplies can be right"
            for key in _SCALES if isinstance(bundle.scalars.get(key), str)]


class PropertyResult(NamedTuple):
    """What one property says about a case.

    Attributes:
        id, name: such as "P05", "plan_coverage".
        verdict: "pass", "fail", "skip", "not-applicable" or "inconclusive".
        message: a sentence with the values.
        details: worst elements with coordinates, guilty works.
    """

    id: str
    name: str
    verdict: str
    message: str
    details: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What `run` found.

    Attributes:
        case: the canonical case.
        backend: what executed it.
        verdict: "pass", "fail", "skip" (refused, or nothing to say) or "inconclusive".
        refused: why a stage refuses the case, or "".
        properties: one result for each property asked.
        launches: what ran, such as "cpu on avx512: decode 2 (stage 1 2)".
        failure_block: the failure as `mla-testbed` prints it, with a line that reproduces it.
    """

    case: str
    backend: str
    verdict: str
    refused: str
    properties: tuple[PropertyResult, ...]
    launches: tuple[str, ...]
    failure_block: str

    @property
    def passed(self) -> bool:
        """Whether something ran and every property that says something held."""
        return self.verdict == "pass"

    def __str__(self) -> str:
        if self.failure_block:
            return self.failure_block
        held = sum(p.verdict == "pass" for p in self.properties)
        reasons = {p.message.removeprefix("the case is refused: ") for p in self.properties
                   if p.verdict == "skip"} if self.verdict == "skip" else set()
        reason = self.refused or (reasons.pop() if len(reasons) == 1 else "")
        why = f": {reason}" if reason else ""
        return f"{self.verdict}{why} ({held} of {len(self.properties)} properties held) {self.case}"


def run(case: str, *, backend: str = "cpu", device: str = "auto",
        properties: Sequence[str] = (), plant: str = "", aiter_hsa: str | None = None) -> Verdict:
    """Judges a case: plans it, executes it, compares it with dense attention.

    Args:
        case: one line, such as "mla1:2q1s900;heads=16".
        backend: "cpu", "hip" (our kernels on a device) or "aiter" (AITER's code objects).
        device: of hip and aiter: "auto", "hip:0", "emulated:gfx942", "emulated:gfx950".
        properties: ids such as "P05"; empty: all.
        plant: a known defect to plant first, such as "SEED-qo-arange"; "" for none.
        aiter_hsa: directory hsa of an AITER installation; None: AITER_HSA in the environment.

    Raises:
        UsageError: no case, an unknown backend, property or plant.
        DeviceError: a device or an installation that is not there.
        FaultError: too little memory, or a launch that did something illegal.
    """
    hsa = os.environ.get("AITER_HSA", "") if aiter_hsa is None else aiter_hsa
    texts = (("case", case), ("properties", _ids(properties)), ("backend", backend),
             ("device", device), ("aiter_hsa", hsa), ("plant", plant))
    given = [_options.text(value, name) for name, value in texts]
    with _library.named(_RUN_NAMES):
        found = json.loads(_text("mla_case_judge", *given))
    results = tuple(PropertyResult(p["id"], p["name"], p["verdict"], p["message"],
                                   tuple(p["details"])) for p in found["properties"])
    return Verdict(found["case"], found["backend"], found["verdict"], found["refused"], results,
                   tuple(found["launches"]), found["failure_block"])


def _ids(properties: Sequence[str]) -> str:
    """Ids as the library takes them; an empty text is all of them."""
    if isinstance(properties, str) or not isinstance(properties, Iterable):
        raise UsageError(f"properties is {properties!r}; expected a list of ids")
    ids = list(properties)
    for one in ids:
        if not isinstance(one, str) or not one.strip() or "," in one:
            raise UsageError(f"properties has {one!r}; expected ids such as 'P05'")
    return ",".join(ids)


class Reference(NamedTuple):
    """Dense attention, and how far a right result may be from it.

    Attributes:
        out, out_bound: (rows, heads, value_width) float64.
        lse, lse_bound: (rows, heads) float64, natural logarithm.
    """

    out: npt.NDArray[np.float64]
    out_bound: npt.NDArray[np.float64]
    lse: npt.NDArray[np.float64]
    lse_bound: npt.NDArray[np.float64]


def reference(
    q: Array,
    kv: Array,
    qo_indptr: Array,
    kv_indptr: Array,
    kv_page_indices: Array,
    kv_last_page_lens: Array,
    softmax_scale: float,
    *,
    page_size: int = 1,
    causal: bool = True,
    q_scale: Array | None = None,
    kv_scale: Array | None = None,
    arch: str = "gfx942",
    value_width: int = 512,
) -> Reference:
    """Attention in float64 over a paged cache, without a plan, with a bound for each element.

    Args: as in `kernels.decode_stage1`, with the heads and rows of the model. Every request has no
    key or at least as many as rows. Rows of q and kv may have any width up to 576; the value of a
    key is its first `value_width` elements.

    Raises:
        UsageError: lists that contradict each other or lead out of the cache.
        TensorError: an array of another dtype, shape or layout.
    """
    encoding = _options.fp8_encoding(arch)
    given = {"q": q, "kv": kv, "qo_indptr": qo_indptr, "kv_indptr": kv_indptr,
             "kv_page_indices": kv_page_indices, "kv_last_page_lens": kv_last_page_lens,
             "q_scale": q_scale, "kv_scale": kv_scale}
    alive = {name: describe(tensor, name, fp8=encoding if name in ("q", "kv") else None)
             for name, tensor in given.items() if tensor is not None}
    tensors = _structs.Stage1Tensors(**{name: ctypes.pointer(d) for name, d in alive.items()})
    if "q" not in alive or alive["q"].ndim != 3:
        found = f"shape {tuple(q.shape)}" if "q" in alive else "None"
        raise TensorError(f"q: expected an array of 3 dimensions, found {found}")
    rows, heads = alive["q"].shape[:2]
    width = _options.number(value_width, "value_width")
    values = describe(np.zeros((1, 1, max(0, width)), np.float32), "value_width")
    tensors.output = ctypes.pointer(values)
    out = Reference(np.zeros((rows, heads, max(0, width))), np.zeros((rows, heads, max(0, width))),
                    np.zeros((rows, heads)), np.zeros((rows, heads)))
    results = _structs.ReferenceResults(*(array.ctypes.data for array in out))
    _library.check(_library.load().mla_reference(
        _options.arch_number(arch), _options.number(page_size, "page_size"),
        _options.flag(causal, "causal"), ctypes.byref(tensors),
        _options.real(softmax_scale, "softmax_scale"), ctypes.byref(results)))
    return out
