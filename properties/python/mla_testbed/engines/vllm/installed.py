"""The vLLM of this interpreter, and its platform on a machine without a GPU."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib

from ...errors import UsageError

NEEDED = "pip install it from source, with VLLM_TARGET_DEVICE=empty (docs/use/engines.md)"


def version() -> str:
    """Such as "0.27.1". Sets the variables that vLLM reads at its import.

    Raises:
        ImportError: vLLM is not installed.
    """
    os.environ.setdefault("VLLM_ROCM_USE_AITER", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        return importlib.metadata.version("vllm").partition("+")[0]
    except importlib.metadata.PackageNotFoundError as e:
        raise ImportError(f"vLLM is not installed: {NEEDED}") from e


def expect_ranks(ranks: int) -> None:
    """Whether contexts can be shared by ranks (DCP) in the vLLM that is installed.

    Raises:
        UsageError: its MLA layer hands its builder a DCP manager, which the adapter's has not.
    """
    if ranks == 1:
        return
    try:
        found = importlib.util.find_spec("vllm.model_executor.layers.attention.mla_attention")
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None:
        return
    if "dcp_manager" in pathlib.Path(found.origin).read_text(encoding="utf-8"):
        raise UsageError(f"option dcp={ranks}: the MLA layer of vLLM {version()} has a DCP "
                         "manager, which this adapter lacks; expected dcp=1, or an older vLLM")


def platform() -> None:
    """Imports vLLM's platform, inside the surroundings of a GPU.

    Raises:
        ImportError: it is not ROCm's.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_rocm():
        raise ImportError(f"vLLM's platform is {type(current_platform).__name__}; expected "
                          f"RocmPlatform: {NEEDED}")
    # Tensors are the CPU's, so this is where its custom operations have to be registered.
    type(current_platform).dispatch_key = "CPU"
