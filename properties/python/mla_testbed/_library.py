"""Finds and loads libmla_testbed, and calls it.

The library is looked for where MLA_TESTBED_LIBRARY says (a file), else beside this package, where
an installation puts it. It is loaded at the first call, not by the import.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import _options, _structs
from .errors import BY_STATUS, InternalError, LibraryError, MlaError, UsageError

LIBRARY_VARIABLE = "MLA_TESTBED_LIBRARY"
_FILE = "libmla_testbed.so"
_NO_MEMORY = 7

_loaded: ctypes.CDLL | None = None
_lock = threading.RLock()
# A process that is forked while another thread loads the library would wait for ever for a thread
# that it does not have.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release,
                    after_in_child=_lock.release)

#: Fields of options that are true or false.
_FLAGS = frozenset((
    "as_aiter", "compute_all_q_rope", "experimental", "fast_mode", "intra_batch_mode", "is_causal",
    "is_cp_round_robin", "is_neox", "is_nope_first", "is_sparse", "segmented"))
#: What the defaults functions of the library fill in.
_DEFAULTS: dict[str, bytes] = {}

_TENSOR = ctypes.POINTER(_structs.Tensor)
_TEXT = ctypes.POINTER(ctypes.c_char_p)


def library_path() -> pathlib.Path:
    """The file that is, or would be, loaded."""
    named = os.environ.get(LIBRARY_VARIABLE)
    return pathlib.Path(named) if named else pathlib.Path(__file__).parent / "lib" / _FILE


def load() -> ctypes.CDLL:
    """The library; LibraryError if it is missing or of another version."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _open(library_path())
    return _loaded


def _open(path: pathlib.Path) -> ctypes.CDLL:
    if not path.is_file():
        raise LibraryError(
            f"'{path}' is not there: install the package with `pip install .` in a clone of "
            f"mla-testbed, or let {LIBRARY_VARIABLE} name the file {_FILE} of a build")
    try:
        library = ctypes.CDLL(str(path))
        version = library.mla_abi_version
    except (OSError, AttributeError) as e:
        raise LibraryError(f"'{path}' cannot be used: {e}") from e
    found = version()
    if found != _structs.ABI_VERSION:
        raise LibraryError(
            f"'{path}' has version {found} of the C interface, this package needs "
            f"{_structs.ABI_VERSION}: install both together")
    for name, arguments in _PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is None:
            setattr(library, name, _missing(name, path))
            continue
        function.argtypes = arguments
        function.restype = None if name.endswith("_defaults") else ctypes.c_int
    for name in ("mla_version", "mla_last_error", "mla_last_bug", "mla_last_report", "mla_backend"):
        getattr(library, name).argtypes = []
        getattr(library, name).restype = ctypes.c_char_p
    return library


def _missing(name: str, path: pathlib.Path) -> Callable[..., Any]:
    """What stands for a function that an older library of the same version does not have."""

    def refuse(*_: Any) -> Any:
        raise LibraryError(f"'{path}' is older than this package, it has no {name}: install both "
                           "together")

    return refuse


def _pointer(struct: Any) -> Any:
    return ctypes.POINTER(struct)


#: Arguments of every function that returns a status or nothing.
_PROTOTYPES: dict[str, list[Any]] = {
    "mla_check_places": [ctypes.c_int],
    "mla_decode_size_query_defaults": [_pointer(_structs.DecodeSizeQuery)],
    "mla_decode_sizes": [_pointer(_structs.DecodeSizeQuery), _pointer(_structs.BufferSizes)],
    "mla_prefill_size_query_defaults": [_pointer(_structs.PrefillSizeQuery)],
    "mla_prefill_sizes": [_pointer(_structs.PrefillSizeQuery), _pointer(_structs.BufferSizes)],
    "mla_decode_plan_defaults": [_pointer(_structs.DecodePlanOptions)],
    "mla_plan_decode": [_pointer(_structs.DecodePlanOptions), _TENSOR, _TENSOR, _TENSOR,
                        _pointer(_structs.PlanBuffers)],
    "mla_prefill_plan_defaults": [_pointer(_structs.PrefillPlanOptions)],
    "mla_plan_prefill": [_pointer(_structs.PrefillPlanOptions), _TENSOR, _TENSOR, _TENSOR,
                         _pointer(_structs.PlanBuffers)],
    "mla_set_backend": [ctypes.c_char_p],
    "mla_set_threads": [ctypes.c_int],
    "mla_set_device": [ctypes.c_char_p],
    "mla_check_written": [ctypes.c_int],
    "mla_stage1_defaults": [_pointer(_structs.Stage1Options)],
    "mla_decode_stage1": [_pointer(_structs.Stage1Options), _pointer(_structs.Stage1Tensors),
                          ctypes.c_double],
    "mla_reduce": [ctypes.c_int64, _pointer(_structs.ReduceTensors)],
    "mla_prefill": [ctypes.c_int64, ctypes.c_int64, _pointer(_structs.PrefillTensors),
                    ctypes.c_double],
    "mla_case_canonical": [ctypes.c_char_p, _TEXT],
    "mla_case_draw": [ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, _TEXT],
    "mla_case_simpler": [ctypes.c_char_p, _TEXT],
    "mla_case_plan": [ctypes.c_char_p, ctypes.c_int64, _TEXT],
    "mla_case_time": [ctypes.c_char_p, ctypes.c_int64, _TEXT],
    "mla_time_plan": [ctypes.c_char_p, ctypes.c_int64, _TEXT],
    "mla_case_judge": [ctypes.c_char_p] * 6 + [_TEXT],
    "mla_check_plan": [ctypes.c_char_p, _TEXT],
    "mla_check_bundle": [ctypes.c_char_p, _pointer(_structs.Array), ctypes.c_int64, _TEXT],
    "mla_show_plan": [ctypes.c_char_p, _TEXT],
    "mla_reference": [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64,
                      _pointer(_structs.Stage1Tensors), ctypes.c_double,
                      _pointer(_structs.ReferenceResults)],
    "mla_concat_and_cache": [ctypes.c_int64, _TENSOR, _TENSOR, _TENSOR, _TENSOR, ctypes.c_char_p,
                             _TENSOR],
    "mla_expand_pages": [_TENSOR, _TENSOR, _TENSOR, ctypes.c_int64, _TENSOR],
    "mla_rope_and_cache": [_pointer(_structs.RopeCacheOptions),
                           _pointer(_structs.RopeCacheTensors)],
    "mla_quantise_fp8": [ctypes.c_int64, ctypes.c_int64, _TENSOR, _TENSOR, _TENSOR],
}


def declare(prototypes: dict[str, list[Any]]) -> None:
    """Adds functions to those that a load declares; for the other modules of this package."""
    _PROTOTYPES.update(prototypes)
    if _loaded is not None:
        for name, arguments in prototypes.items():
            function = getattr(_loaded, name)
            function.argtypes = arguments
            function.restype = None if name.endswith("_defaults") else ctypes.c_int


def filled(struct: Any, defaults: str, **values: int) -> Any:
    """A struct as its defaults function fills it, then with these values."""
    start = _DEFAULTS.get(defaults)
    if start is None:
        options = struct()
        getattr(load(), defaults)(ctypes.byref(options))
        start = _DEFAULTS[defaults] = bytes(options)
    options = struct.from_buffer_copy(start)
    for field, value in values.items():
        setattr(options, field, _options.flag(value, field) if field in _FLAGS else
                _options.number(value, field))
    return options


def check(status: int) -> None:
    """Raises what the status of a call stands for; nothing for 0."""
    if status == 0:
        return
    library = load()
    message = library.mla_last_error().decode("utf-8", "replace")
    if status == _NO_MEMORY:
        raise MemoryError(message)
    error: type[MlaError] = BY_STATUS.get(status, InternalError)
    raise error(message, bug=library.mla_last_bug().decode(),
                report=library.mla_last_report().decode("utf-8", "replace"))


@contextlib.contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Errors of the block speak of parameters by the caller's names, which `names` has by those of
    the library. Whole words alone are replaced."""
    try:
        yield
    except MlaError as e:
        words = "|".join(re.escape(name) for name in names)
        text = re.sub(rf"(?<![\w-])({words})(?!\w)", lambda m: names[m[1]], str(e))
        e.args = (text, *e.args[1:])
        raise


def version() -> str:
    """The version of the loaded library, such as "0.1.0"."""
    text: bytes = load().mla_version()
    return text.decode()


def backend() -> str:
    """What executes the calls of `mla_testbed.kernels`: "cpu", "aiter" or "hip"."""
    text: bytes = load().mla_backend()
    return text.decode()


def set_backend(name: str, device: str = "") -> None:
    """Chooses the backend of `mla_testbed.kernels` for the whole process.

    Args:
        name: "cpu", the emulator; "aiter", AITER's own code objects in the gfx emulator, from the
            directory hsa that AITER_HSA in the environment names; "hip", this project's kernels on
            a device. Until this is called, MLA_TESTBED_BACKEND in the environment decides, else
            "cpu".
        device: of backend "hip": "hip:0", "emulated:gfx942", ... Empty: MLA_TESTBED_DEVICE in the
            environment, else the emulated device of each call's architecture.

    Raises:
        UsageError: another name, or no text; an unknown device is one at the first call.
    """
    names = _options.text(name, "backend"), _options.text(device, "device")
    if device and name != "hip":
        raise UsageError(f"device is '{device}'; backend '{name}' takes none")
    check(load().mla_set_backend(names[0]))
    check(load().mla_set_device(names[1]))


def set_threads(threads: int) -> int:
    """Threads of a call of `mla_testbed.kernels`; 0: all. Returns what held before.

    Raises:
        UsageError: no number, or one that is negative or no int32.
    """
    most = (1 << 31) - 1
    return int(load().mla_set_threads(_options.number(threads, "threads", 0, most)))


def check_places(on: bool) -> bool:
    """Whether tensors in the wrong place (host, device) are refused; returns what held before.

    All memory is host memory here. A caller who knows where a tensor would lie on a machine with a
    GPU (see `tensors.set_place`) switches this on for the whole process.

    Raises:
        UsageError: `on` is no bool.
    """
    return bool(load().mla_check_places(_options.flag(on, "on")))


def check_written(on: bool) -> bool:
    """Whether calls of `mla_testbed.kernels` answer for their outputs; returns what held before.

    Then a row of a request with keys that no work covers, a row that a work names and the backend
    did not write, and a piece of a reduce that holds `mla_testbed.POISON_F32` are each a line of a
    FaultError's report. Rows of requests without keys, rows that see no key and rows beyond the
    requests may stay unwritten. For the whole process.

    Raises:
        UsageError: `on` is no bool.
    """
    return bool(load().mla_check_written(_options.flag(on, "on")))
