"""Functions that make tensors: `device="cuda"` and `pin_memory=True` become notes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device as torch_device

from . import fresh, notes
from .patches import Patches
from .state import State, is_gpu

# Beside torch's own list: functions and methods with a parameter `device`.
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
         "randint_like")
_METHODS = ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided")


def install(state: State, patches: Patches) -> None:
    """Replaces the factories, and what `torch.set_default_device` does with them."""
    # Asked for before anything is replaced: the set holds torch's own functions.
    constructors = torch_device._device_constructors()
    for name in sorted({function.__name__ for function in constructors} | set(_LIKE)):
        original = vars(torch).get(name)
        if original is not None:
            patches.set(torch, name, _factory(state, original))
    for name in _METHODS:
        patches.set(torch.Tensor, name, _factory(state, getattr(torch.Tensor, name)))
    patches.set(torch_device.DeviceContext, "__torch_function__", _default(state, constructors))
    patches.set(torch, "Generator", _generator(torch.Generator))


def make_on_device(state: State, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function that makes tensors; they are on the device, and so are its steps."""
    inner = getattr(state.making, "value", False)
    state.making.value = True
    try:
        return notes.note_all(function(*args, **kwargs), notes.DEVICE)
    finally:
        state.making.value = inner


def _factory(state: State, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        pinned = kwargs.pop("pin_memory", False)
        if device is None and _of_device(original, args):
            result = _on_device(state, original, args, {**kwargs, "device": "cpu"})
        elif device is None:
            # Two that keep the device of a tensor they are given, even under a default device.
            result = original(*args, **kwargs)
            if state.machine.poison and _leaves_memory(original) and notes.on_device(result):
                fresh.poison(result)
        elif is_gpu(device):
            result = _on_device(state, original, args, {**kwargs, "device": "cpu"})
        else:
            result = _own_memory(original(*args, **kwargs), args)
            notes.note(result, notes.HOST)
        return notes.note(result, notes.PINNED) if pinned else result

    return make


def _on_device(state: State, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    given = notes.tensors_in(args[:1], [])
    if given and notes.on_device(given[0]) and function.__name__ in ("as_tensor", "asarray"):
        return function(*args, **kwargs)  # already there: no copy
    made = make_on_device(state, lambda: _own_memory(function(*args, **kwargs), args))
    return fresh.poison(made) if state.machine.poison and _leaves_memory(function) else made


def _of_device(function: Callable[..., Any], args: Any) -> bool:
    """Whether this is new_tensor of a device tensor: no operation of torch, so nothing notes it."""
    return getattr(function, "__name__", "") == "new_tensor" and notes.on_device(args[0])


def _leaves_memory(function: Callable[..., Any]) -> bool:
    return getattr(function, "__name__", "") in fresh.FUNCTIONS


def _own_memory(result: torch.Tensor, args: Any) -> torch.Tensor:
    """The result, copied if it shares the memory of an argument: devices share none."""
    for argument in notes.tensors_in(args[:1], []):
        if notes.same_storage(result, argument):
            return result.clone()
    return result


def _default(state: State, constructors: Any) -> Callable[..., Any]:
    original = torch_device.DeviceContext.__torch_function__

    def torch_function(
        self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func not in constructors:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        if kwargs.get("device") is None and is_gpu(self.device):
            if not notes.tensors_in(args[:1], []):  # a tensor keeps its device
                return _on_device(state, func, args, {**kwargs, "device": "cpu"})
        elif not is_gpu(self.device):
            return original(self, func, types, args, kwargs)
        return func(*args, **kwargs)

    return torch_function


def _generator(original: Any) -> type:
    class Meta(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    class Generator(original, metaclass=Meta):  # type: ignore[misc]
        """torch.Generator on a machine with one GPU; every generator is the CPU's."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, "cpu" if is_gpu(device) else device)

    return Generator
