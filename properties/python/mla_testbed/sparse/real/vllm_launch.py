"""What vLLM's launchers use of its warm-up: a class with a Triton kernel and a launch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


class JitKernel:
    """Stands for VllmTritonJitKernel, without its warm-up."""

    kernel: Any
    #: `launcher` launches, not what vLLM keeps from one launch to the next.
    _warming = True

    def __class_getitem__(cls, _: Any) -> type[JitKernel]:
        """The key of what it compiles is a type argument."""
        return cls


def launcher(call: Callable[..., Any]) -> Callable[..., None]:
    """Stands for kernel_launcher: `call` gives a grid and arguments; its own arguments go to the
    kernel's of the same name, or of that name with `_ptr`."""
    signature = inspect.signature(call)

    @functools.wraps(call)
    def launch(self: JitKernel, *args: Any, **kwargs: Any) -> None:
        grid, more, *_ = call(self, *args, **kwargs)
        if grid is None:
            return
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        wanted = self.kernel.arg_names
        given = {name if name in wanted else f"{name}_ptr": value
                 for name, value in bound.arguments.items()}
        given = {name: value for name, value in given.items() if name in wanted}
        own = {name: value for name, value in more.items() if not name.startswith("_")}
        self.kernel[grid](**{**given, **own})

    return launch


GIVEN = {"VllmTritonJitKernel": JitKernel, "kernel_launcher": launcher, "LaunchSpec": tuple}
