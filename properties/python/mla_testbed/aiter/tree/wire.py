"""Messages between the command line and a tree's process: a line of JSON, then the arrays' bytes.

The counterpart is hip_backend/aiter_tree/message.cpp.
"""

from __future__ import annotations

import dataclasses
import json
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclasses.dataclass
class Message:
    """head: JSON. arrays: by name, in the order in which they are sent."""

    head: dict[str, Any]
    arrays: dict[str, Array] = dataclasses.field(default_factory=dict)


def read(stream: IO[bytes]) -> Message | None:
    """The next message; None at the end of the stream.

    Raises:
        EOFError: the stream ends inside a message.
    """
    line = stream.readline()
    if not line:
        return None
    head: dict[str, Any] = json.loads(line)
    arrays: dict[str, Array] = {}
    for name, dtype, shape in head.pop("arrays", []):
        count = int(np.prod(shape, dtype=np.int64))
        size = count * np.dtype(dtype).itemsize
        data = stream.read(size)
        if len(data) != size:
            raise EOFError(f"array '{name}' has {len(data)} of {size} bytes")
        arrays[name] = np.frombuffer(data, dtype=dtype).reshape(shape)
    return Message(head, arrays)


def write(stream: IO[bytes], message: Message) -> None:
    """Sends a message."""
    named = [[name, array.dtype.name, list(array.shape)] for name, array in message.arrays.items()]
    stream.write(json.dumps({**message.head, "arrays": named}).encode() + b"\n")
    for array in message.arrays.values():
        stream.write(np.ascontiguousarray(array).tobytes())
    stream.flush()
