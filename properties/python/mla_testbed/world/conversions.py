"""What a tensor answers about its device, and how it moves between devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import notes
from .patches import Patches
from .state import State, is_gpu

_TO_NAMES = ("device", "dtype", "non_blocking", "copy", "memory_format")


def install(state: State, patches: Patches) -> None:
    """Replaces the methods of torch.Tensor that look at the device."""
    tensor = torch.Tensor
    device = tensor.device
    patches.set(tensor, "device", property(
        lambda self: state.device if notes.on_device(self) else device.__get__(self)))
    patches.set(tensor, "is_cuda", property(notes.on_device))
    patches.set(tensor, "is_cpu", property(lambda self: not notes.on_device(self)))
    patches.set(tensor, "get_device", lambda self: 0 if notes.on_device(self) else -1)
    patches.set(tensor, "is_pinned",
                lambda self, device=None: notes.place(self) == notes.PINNED)
    patches.set(tensor, "pin_memory", _pin_memory)
    # What is queued keeps its tensors: no memory is given away before.
    patches.set(tensor, "record_stream", lambda self, stream: None)
    patches.set(tensor, "to", _to(state, tensor.to))
    patches.set(tensor, "cuda", lambda self, device=None, non_blocking=False, memory_format=None:
                move(state, self, notes.DEVICE, non_blocking=non_blocking))
    patches.set(tensor, "cpu", lambda self, memory_format=None: move(state, self, notes.HOST))
    patches.set(tensor, "copy_", _copy_into(state, tensor.copy_))
    for name in ("numpy", "__array__", "__dlpack__"):
        patches.set(tensor, name, _host_only(name, getattr(tensor, name)))
    for name in ("tolist", "__repr__"):  # neither passes the dispatcher
        patches.set(tensor, name, _waiting(state, name, getattr(tensor, name)))
    patches.set(tensor, "__deepcopy__", _deep_copy(tensor.__deepcopy__))


def move(
    state: State, source: torch.Tensor, where: str, *, non_blocking: bool = False,
    dtype: torch.dtype | None = None, copy: bool = False,
) -> torch.Tensor:
    """A tensor on the other side: a copy, as between two memories; the same tensor if it is there.

    A copy from pinned memory, or to the host, that does not block may happen late (late.py).
    """
    there = notes.on_device(source) == (where == notes.DEVICE)
    if there and not copy and dtype in (None, source.dtype):
        return source
    if there:
        result = torch.empty_like(source, dtype=dtype or source.dtype)
        return result.copy_(source)
    if where == notes.DEVICE:
        result = torch.empty_like(source, dtype=dtype or source.dtype, device="cuda")
        return result.copy_(source, non_blocking=non_blocking)
    result = torch.empty_like(source, dtype=dtype or source.dtype, device="cpu")
    if non_blocking:
        notes.note(result, notes.PINNED)  # as torch does: the copy could not be late otherwise
    return result.copy_(source, non_blocking=non_blocking)


def _to(state: State, original: Callable[..., Any]) -> Callable[..., Any]:
    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        device, dtype, non_blocking, copy = _parse_to(args, kwargs)
        if device is None:
            return original(self, *args, **kwargs)
        if not is_gpu(device) and torch.device(device).type != "cpu":
            return original(self, *args, **kwargs)  # meta
        where = notes.DEVICE if is_gpu(device) else notes.HOST
        return move(state, self, where, non_blocking=non_blocking, dtype=dtype, copy=copy)

    return to


def _parse_to(args: Any, kwargs: Any) -> tuple[Any, Any, bool, bool]:
    """(device or None, dtype or None, non_blocking, copy) of the three forms of Tensor.to."""
    given = dict(kwargs)
    other = given.pop("other", None)
    rest = list(args)
    if rest and isinstance(rest[0], torch.Tensor):
        other = rest.pop(0)
        names = ["non_blocking", "copy"]
    elif rest and isinstance(rest[0], torch.dtype):
        names = ["dtype", "non_blocking", "copy"]
    else:
        names = ["device", "dtype", "non_blocking", "copy"]
    given.update(zip(names, rest, strict=False))
    if other is not None:
        given.setdefault("device", other.device)
        given.setdefault("dtype", other.dtype)
    return (given.get("device"), given.get("dtype"), bool(given.get("non_blocking", False)),
            bool(given.get("copy", False)))


def _copy_into(state: State, original: Callable[..., Any]) -> Callable[..., Any]:
    def copy_(self: torch.Tensor, src: Any, non_blocking: bool = False) -> torch.Tensor:
        if not isinstance(src, torch.Tensor):
            return original(self, src)
        to_device = notes.on_device(self) and not notes.on_device(src)
        to_host = notes.on_device(src) and not notes.on_device(self)
        host = src if to_device else self
        if not (to_device or to_host):
            return original(self, src, non_blocking)
        if not (non_blocking and notes.place(host) == notes.PINNED):
            state.refuse_while_capturing("a copy between host and device that blocks")
            state.late.wait()
            return original(self, src)
        if state.capture is not None:
            state.capture.add(lambda: copy_(self, src, True))
        if to_device:
            state.late.add(self, lambda: original(self, src), to_host=False,
                           source=src)
            return self
        state.late.before_work_on([src])
        if not state.late.enabled:
            return original(self, src)
        then = src.clone()  # what the stream reads when it gets there
        state.late.add(src, lambda: original(self, then), to_host=True)
        return self

    return copy_


def _pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    if notes.place(self) == notes.PINNED:
        return self
    if notes.on_device(self):
        raise RuntimeError(
            "cannot pin 'torch.cuda.FloatTensor': only dense CPU tensors can be pinned"
        )
    return notes.note(self.clone(), notes.PINNED)


def _host_only(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if notes.on_device(self):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                f"tensor to host memory first ({name})."
            )
        return original(self, *args, **kwargs)

    return method


def _deep_copy(original: Callable[..., Any]) -> Callable[..., Any]:
    def deep_copy(self: torch.Tensor, memo: Any) -> Any:
        return notes.note(original(self, memo), notes.place(self))

    return deep_copy


def _waiting(state: State, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if notes.on_device(self):
            state.refuse_while_capturing(f"Tensor.{name}()")
            state.late.wait()
        return original(self, *args, **kwargs)

    return method
