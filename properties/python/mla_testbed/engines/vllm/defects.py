"""A defect of vLLM that no case of the judge reaches, shown by running it.

    python -m mla_testbed.engines.vllm.defects

vllm#50064: the metadata of the sparse MLA backend lacks a field that MLAAttention reads, so that
every sparse model fails at its first step. SHOWN with the sentence, or "not here". Exit code: 0 not
here, 1 shown, 3 vLLM or AITER cannot be imported. All others have a case: see known/vllm.json.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import torch

from ..engine import Machine
from ..sparse.step import sparse_steps_of
from . import config
from .adapter import VllmEngine
from .batch import RunnerBuffers
from .sparse_config import sparse

NAME, CASE = "vllm#50064", "mla1:2q1s40;heads=16"


def sparse_metadata(engine: VllmEngine) -> Any:
    """What the builder of the sparse backend makes of a step of single rows."""
    from vllm.config import set_current_vllm_config
    from vllm.v1.attention.backends.mla import rocm_aiter_mla_sparse

    step, = sparse_steps_of(CASE)
    limits = config.Limits.of([step])
    varied = sparse(engine.base, step, limits, "mtp", rows=64)
    with set_current_vllm_config(varied):
        builder = rocm_aiter_mla_sparse.ROCMAiterMLASparseMetadataBuilder(
            engine.spec(step), [config.LAYER], varied, torch.device("cuda"))
        common = RunnerBuffers(limits, step.block_size).fill(step, step.requests, step.requests)
        return builder.build(0, common)


def run_layer(metadata: Any) -> None:
    """MLAAttention's own forward on this metadata, as far as it needs no weights."""
    from vllm.model_executor.layers.attention.mla_attention import MLAAttention

    rows, heads = 2, 16
    device = torch.device("cuda")
    layer = SimpleNamespace(
        impl=SimpleNamespace(dcp_world_size=1, is_sparse=True), use_pcp=False,
        kv_cache_dtype="auto", num_heads=heads, v_head_dim=128, prefill_backend=None)
    MLAAttention.forward_impl(
        layer, torch.zeros(rows, heads, 192, device=device), torch.zeros(rows, 512, device=device),
        torch.zeros(rows, 1, 64, device=device), torch.zeros(64, 1, 576, device=device), metadata,
        torch.zeros(rows, heads * 128, device=device))


def shown() -> str:
    """The sentence of the failure, or "" where this version does not have it.

    Raises:
        ImportError: vLLM, or something that it needs, is not installed.
    """
    engine = VllmEngine(Machine("gfx950", 256))
    metadata = sparse_metadata(engine)
    try:
        run_layer(metadata)
    except AttributeError as e:
        if e.obj is metadata:
            return f"vllm {engine.version}: MLAAttention.forward_impl: {e}"
    except Exception as e:  # noqa: BLE001 whatever comes after the fields were read
        print(f"after the metadata: {type(e).__name__}: {e}", file=sys.stderr)
    return ""


def main() -> int:
    """Runs it; returns the exit code."""
    try:
        text = shown()
    except ImportError as e:
        print(f"{NAME}: not run: {e}")
        return 3
    print(f"{NAME}: SHOWN {CASE}\n  {text}" if text else f"{NAME}: not here")
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
