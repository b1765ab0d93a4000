"""Releases of vLLM that whole runs serve, and what differs between them: nothing else asks for one.

Other releases are tried: what they lack is named by moved.MovedError. All releases serve through
model runner V2, and absorb the projections of MLA in bf16, as the newest does by itself.
"""

from __future__ import annotations

import os

#: Those that scenarios passed on, oldest first (docs/use/engines.md).
SERVED = ("0.30.0", "0.31.0", "0.32.0", "0.33.0")
SUPPORTED = f"vLLM {SERVED[0]} to {SERVED[-1]}"


def settle(modules: str) -> None:
    """Sets what vLLM reads at its import, for this process; `modules` of AITER's C++."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # the core in this process
    # Its compiled module has no port.
    os.environ["VLLM_ROCM_USE_AITER_RMSNORM"] = "1" if modules == "own" else "0"
    os.environ["VLLM_ROCM_USE_AITER_LINEAR"] = "0"
    # On in 0.32 and before: weights rounded to fp8 or fp4, which the reference does not know, and
    # a thousand kernels that are compiled while the model is loaded.
    os.environ["VLLM_ROCM_USE_AITER_FP8BMM"] = "0"
    os.environ["VLLM_ROCM_USE_AITER_FP4BMM"] = "0"
    os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "1"  # runs are watched in this one
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
