"""The vLLM of this interpreter, and its platform on a machine without a GPU."""

from __future__ import annotations

import importlib.metadata
import os

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
