"""Every operation of torch passes here: where its results are, and whether its operands may meet.

An operation with an operand on the device makes its results there. Operands on both sides are
refused as on a GPU, but for scalars, copies and host indices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import notes
from .state import State

# Operations that move between the two memories, or only change what a tensor refers to.
_ACROSS = {"copy_", "_to_copy", "set_", "resize_", "_copy_from", "is_set_to"}
# The host index of a device tensor is copied to the device.
_INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index",
            "_unsafe_index_put"}
# The host waits for a value.
_WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2",
            "unique_dim", "unique_consecutive"}


class Dispatch(TorchDispatchMode):
    """Notes the results of operations and refuses operands of two devices."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the wrapper that this would add imports the compiler at the first call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = notes.tensors_in(args, [])
        if kwargs:
            notes.tensors_in(kwargs.values(), tensors)
        device = [tensor for tensor in tensors if notes.on_device(tensor)]
        making = getattr(self._state.making, "value", False)
        if not device and not making:
            return func(*args, **kwargs)
        name = func._schema.name.split("::", 1)
        if device:
            self._before(name, device, tensors)
        if self._state.capture is not None:
            self._state.capture.before(_written(func, args, kwargs))
        result = func(*args, **kwargs)
        across = name[1] in _ACROSS
        if not across:
            notes.note_all(result, notes.DEVICE)
        capture = self._state.capture
        if capture is not None and not (across and len(device) != len(tensors)):
            capture.record(func, args, kwargs, result)
        return result

    def _before(
        self, name: list[str], device: list[torch.Tensor], tensors: list[torch.Tensor]
    ) -> None:
        state = self._state
        library, operation = name[0], name[1]
        if operation in _WAITING:
            state.refuse_while_capturing(operation)
            state.late.wait()
        elif library == "aten":
            state.late.before_work_on(device)
        else:
            state.late.before_launch()
        if library != "aten" or operation in _ACROSS or len(device) == len(tensors):
            return
        if operation in _INDEXED and notes.on_device(tensors[0]):
            return
        for tensor in tensors:
            if tensor.dim() > 0 and not notes.on_device(tensor):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, cuda:0 and cpu! (operation {library}::{operation}, a host operand "
                    f"of shape {list(tensor.shape)})"
                )


def _written(func: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The operands that an operation writes, by its schema."""
    values = []
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[index] if index < len(args) else kwargs.get(argument.name)
            values.append(given)
    return [tensor for tensor in notes.tensors_in(values, []) if notes.on_device(tensor)]
