"""What differs between versions of Triton: how arguments are taken apart, what scratch there is."""

from __future__ import annotations

import functools
import importlib
from typing import Any, Protocol

from ...errors import UnsupportedError
from ..kernarg import Value

#: Minor versions with an adapter, oldest first.
KNOWN = ("3.7", "3.8", "3.9")


class Adapter(Protocol):
    """One minor version of Triton."""

    def arguments(self, signature: dict[str, Any], metadata: Any,
                  args: tuple[Any, ...]) -> list[Value]:
        """The values that the kernel takes, in its order, without the scratch pointers."""
        ...

    def scratch(self, metadata: Any, grid: tuple[int, int, int], stream: int) -> list[Value]:
        """The two pointers that follow: global scratch and profile scratch."""
        ...


def adapter_for(version: str) -> Adapter:
    """UnsupportedError for a version that was not looked at."""
    minor = ".".join(version.split(".")[:2])
    if minor not in KNOWN:
        raise UnsupportedError(
            f"Triton {version} is installed; the launch path is known for {', '.join(KNOWN)}. "
            f"Install one of them, such as `pip install triton=={KNOWN[-1]}.*`")
    module = importlib.import_module(f".v{minor.replace('.', '_')}", __name__)
    adapter: Adapter = module.ADAPTER
    return adapter


@functools.cache
def installed() -> Adapter:
    """For the Triton of this process."""
    import triton

    return adapter_for(triton.__version__)
