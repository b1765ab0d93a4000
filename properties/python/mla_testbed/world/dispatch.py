"""Every operation of torch passes here: where its results are, and whether its operands may meet.

An operation with an operand on the device makes its results there. Operands on both sides are
refused as on a GPU, but for scalars, copies and host indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import notes
from .state import State

# Operations that move between the two memories, or only change what a tensor refers to.
_ACROSS = {"copy_", "set_", "resize_", "_copy_from", "is_set_to"}
# The host index of a device tensor is copied to the device.
_INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index",
            "_unsafe_index_put"}
# The host waits for a value.
_WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2",
            "unique_dim", "unique_consecutive"}



class _Operation(NamedTuple):
    """What matters of an operation, looked up once."""

    library: str
    name: str
    across: bool
    waits: bool
    indexes: bool
    opened: bool


def _operation(func: Any, opened: set[str]) -> _Operation:
    library, name = func._schema.name.split("::", 1)
    aten = library == "aten"
    return _Operation(library, name, aten and name in _ACROSS, aten and name in _WAITING,
                      aten and name in _INDEXED, func._schema.name in opened)


class Dispatch(TorchDispatchMode):
    """Notes the results of operations and refuses operands of two devices."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self._operations: dict[Any, _Operation] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the wrapper that this would add imports the compiler at the first call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = notes.tensors_in(args, [])
        if kwargs:
            notes.tensors_in(kwargs.values(), tensors)
        device = [tensor for tensor in tensors if notes.on_device(tensor)]
        if not device and not getattr(self._state.making, "value", False):
            return func(*args, **kwargs)
        operation = self._operations.get(func)
        if operation is None:
            operation = self._operations[func] = _operation(
                func, self._state.opened)
        if device:
            self._before(operation, device, tensors)
        capture = self._state.capture
        if operation.opened:
            capture = None  # its body passes here, operation by operation
        if capture is not None:
            capture.before(_written(func, args, kwargs))
        result = func(*args, **kwargs)
        if not operation.across:  # what they return has a place already
            notes.note_all(result, notes.DEVICE)
        if capture is not None and not (operation.across and len(device) != len(tensors)):
            capture.record(func, args, kwargs, result)
        return result

    def _before(
        self, operation: _Operation, device: list[torch.Tensor], tensors: list[torch.Tensor]
    ) -> None:
        state = self._state
        if operation.waits:
            state.refuse_while_capturing(operation.name)
            state.late.wait()
        elif operation.library == "aten":
            state.late.before_work_on(device)
        else:
            state.late.before_launch()
        if len(device) == len(tensors) or operation.library != "aten" or operation.across:
            return
        if operation.indexes and notes.on_device(tensors[0]):
            return
        for tensor in tensors:
            if tensor.dim() > 0 and not notes.on_device(tensor):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, cuda:0 and cpu! (operation {operation.library}::{operation.name}, "
                    f"a host operand of shape {list(tensor.shape)})"
                )


def _written(func: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The operands that an operation writes, by its schema."""
    values = []
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[index] if index < len(args) else kwargs.get(argument.name)
            values.append(given)
    return [tensor for tensor in notes.tensors_in(values, []) if notes.on_device(tensor)]
