"""Bundle: the lists, the plan and the tensors of one step, on disk as `mla-testbed` has them."""

from __future__ import annotations

import ctypes
import dataclasses
import difflib
import html
import io
import json
import math
import os
import pathlib
import reprlib
import stat
from typing import Any

import numpy as np

from . import _library
from ._tensors import refuse_mask
from .errors import FaultError, MlaError, UsageError
from .mla_bundle import FORMAT, SUMS, plain_name, write_bundle
from .mla_capture import GLOBAL_LIST, LAUNCH_LISTS, LISTS, PREFILL_LISTS, SPLITS_LIST
from .mla_scheduler import TOLD_LISTS
from .planning import POISON, PlanBuffers

#: What a bundle calls the int32 buffers of a plan, by the names of AITER's parameters.
PLAN_ARRAYS: dict[str, str] = {
    "work_indptr": "work_indptr",
    "work_info_set": "work_info",
    "reduce_indptr": "reduce_indptr",
    "reduce_final_map": "reduce_final_map",
    "reduce_partial_map": "reduce_partial_map",
}


#: Arrays that are lists of a step, which kernels read as int32.
_LISTS = frozenset((*LISTS, *PREFILL_LISTS, "kv_indices", *PLAN_ARRAYS.values(), *TOLD_LISTS,
                    *("launch_" + name for name in (*LAUNCH_LISTS.values(), "kv_indices",
                                                    SPLITS_LIST, GLOBAL_LIST,
                                                    *PLAN_ARRAYS.values()))))
#: And those that are tensors.
_TENSORS = frozenset(("q", "kv_cache_pages", "kv_cache", "out", "lse"))


@dataclasses.dataclass(repr=False)
class Bundle:
    """One step: its planner call, its plan, and its tensors if it has any.

    Attributes:
        scalars: numbers and texts by the names of AITER's parameters (`num_heads_per_head_k`,
            `page_size`, ...), with `arch`, `num_cu` and `buffer_sizes`.
        arrays: one-dimensional arrays by name: `seqlens_qo_indptr`, `seqlens_kv_indptr`,
            `kv_last_page_lens`, `kv_indices`, then the buffers of the plan, all int32 (POISON in
            unwritten places), then the tensors `q`, `kv_cache_pages`, `kv_cache`, `out` and `lse`.
    """

    scalars: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def name(self) -> str:
        """The case or the step that it is about."""
        return str(self.scalars.get("name", "bundle"))

    def __repr__(self) -> str:
        """One line: the name, and each array with its number of elements."""
        sizes = ", ".join(f"{key}[{np.size(array)}]" for key, array in self.arrays.items())
        return f"<Bundle {self.name!r}: {sizes or 'no arrays'}>"

    def _repr_html_(self) -> str | None:
        """The pictures of `mla-testbed show`, for a notebook; None: there is no plan to draw."""
        page = ctypes.c_char_p()
        try:
            library = _library.load()
            _library.check(library.mla_show_plan(self.document().encode(), ctypes.byref(page)))
        except MlaError:
            return None
        text = html.escape((page.value or b"").decode("utf-8"))
        # A frame of its own: the page's styles stay inside, and it may load nothing.
        return (f'<iframe title="{html.escape(self.name)}" sandbox="allow-scripts" '
                f'style="width: 100%; height: 640px; border: 0" srcdoc="{text}"></iframe>')

    @property
    def buffers(self) -> PlanBuffers:
        """The six buffers of the plan; the first one is made up from the other addresses.

        Raises:
            UsageError: the bundle has no plan, or something else than arrays in its place.
        """
        missing = [name for name in PLAN_ARRAYS.values() if name not in self.arrays]
        if missing:
            raise UsageError(f"bundle '{self.name}' has no {', '.join(missing)}")
        words = {ours: self._array(theirs) for ours, theirs in PLAN_ARRAYS.items()}
        words["work_info_set"] = words["work_info_set"].reshape(-1, 8)
        words["reduce_final_map"] = words["reduce_final_map"].reshape(-1, 2)
        meta = np.array([words["work_indptr"].ctypes.data, words["work_info_set"].ctypes.data],
                        np.uint64)
        return PlanBuffers(meta, **words)

    @classmethod
    def load(cls, folder: str | pathlib.Path, *, changed: bool = False) -> Bundle:
        """Reads a bundle from its folder.

        Args:
            folder: where `manifest.json` lies.
            changed: also take arrays that were changed after the bundle was written, whose sums
                are no longer those of the manifest. `save` writes them with new sums.

        Raises:
            UsageError: there is no manifest, or it is one of another format, has a key twice or a
                key that is an array as well; an array has no plain name, is missing, lies in
                another folder, cannot be read, is no regular file, was changed after the bundle was
                written (without `changed`), or is no array as kernels read it: little-endian, in
                C's order, and int32 if it is a list.
        """
        path = pathlib.Path(folder) / "manifest.json"
        try:
            manifest: dict[str, Any] = json.loads(_read_file(path).decode(),
                                                  object_pairs_hook=_once)
        except (OSError, ValueError, RecursionError) as e:
            raise UsageError(f"'{path}' cannot be read: {e}") from e
        found = manifest.get("format") if isinstance(manifest, dict) else None
        if found != FORMAT:
            raise UsageError(f"'{path}' has format {found!r}; expected {FORMAT!r}")
        files = manifest.pop("arrays", None)
        if not isinstance(files, dict):
            raise UsageError(f"'{path}' has no object \"arrays\"")
        for key in files.keys() & manifest.keys():
            raise UsageError(f"'{path}' has array '{key}' and a value of this name, "
                             f"{reprlib.repr(manifest[key])}")
        return cls(manifest, {key: _load_array(path, key, entry, changed)
                              for key, entry in files.items()})

    def save(self, folder: str | pathlib.Path) -> None:
        """Writes the bundle into a folder, for `mla-testbed check` and `mla-testbed replay`.

        Lists of other integers, which `check` refuses, become int32, as AITER has them. A bundle
        that is there is replaced as a whole.

        Raises:
            UsageError: an array is of no known name or no array of numpy, a list has a number that
                is no int32, or a scalar is nothing that JSON has, such as NaN. Nothing is written
                then.
            FaultError: a file cannot be written, such as on a full disk. A bundle that was there
                stays.
        """
        scalars = {key: value for key, value in self._plain_scalars().items() if key != "name"}
        arrays = {key: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
                  for key, array in ((k, self._int32(k, a)) for k, a in self._known().items())}
        try:
            write_bundle(str(folder), self.name, scalars, arrays)
        except OSError as e:
            raise FaultError(f"the bundle '{folder}' cannot be written: {e}") from e

    def _array(self, key: str) -> np.ndarray:
        """An array by its name; a caller may have put anything there."""
        array: Any = self.arrays[key]
        if not isinstance(array, np.ndarray):
            raise UsageError(f"array '{key}' of bundle '{self.name}' is of type "
                             f"{type(array).__name__}; expected an array of numpy")
        refuse_mask(array, f"array '{key}' of bundle '{self.name}'")
        return array

    def _known(self) -> dict[str, np.ndarray]:
        """All arrays: one of another name would not be read, and names become those of files."""
        for key in self.arrays:
            if key not in _LISTS and key not in _TENSORS:
                near = difflib.get_close_matches(str(key), _LISTS | _TENSORS, 1)
                raise UsageError(f"array '{key}' of bundle '{self.name}' has an unknown name"
                                 + "".join(f"; did you mean '{name}'?" for name in near))
        return {key: self._array(key) for key in self.arrays}

    def _int32(self, key: str, array: np.ndarray) -> np.ndarray:
        """A list as int32; tensors as they are."""
        if key not in _LISTS or array.dtype == np.int32:
            return array
        if array.dtype.kind not in "iu":
            raise UsageError(f"array '{key}' of bundle '{self.name}' is of {array.dtype}; "
                             "expected integers")
        info = np.iinfo(np.int32)
        if array.size and not (info.min <= int(array.min()) and int(array.max()) <= info.max):
            raise UsageError(f"array '{key}' of bundle '{self.name}' has a number that is no int32")
        return array.astype(np.int32)

    def document(self) -> str:
        """Planner call and plan as the JSON that `mla-testbed check` reads; no tensors.

        Raises:
            UsageError: an array is of no known name or no array of numpy, a list has other elements
                than int32, or a scalar is nothing that JSON has, such as NaN.
        """
        found = {key: array for key, array in self._known().items() if key in _LISTS}
        for key, array in found.items():
            if array.dtype != np.int32:
                raise UsageError(f"array '{key}' of bundle '{self.name}' is of {array.dtype}: "
                                 "kernels read int32")
        lists = {key: [None if v == POISON else v for v in array.reshape(-1).tolist()]
                 if key in PLAN_ARRAYS.values() else array.reshape(-1).tolist()
                 for key, array in found.items()}
        return json.dumps({**self._plain_scalars(), **lists})

    def tensors(self) -> dict[str, np.ndarray]:
        """The tensors as they lie in files: little-endian, in C's order.

        Raises:
            UsageError: one is no array of numpy, or of elements that are no numbers.
        """
        found = {key: array for key, array in self._known().items() if key in _TENSORS}
        for key, array in found.items():
            if array.dtype.kind not in "iufV":
                raise UsageError(f"array '{key}' of bundle '{self.name}' is of {array.dtype}; "
                                 "expected numbers")
        return {key: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
                for key, array in found.items()}

    def _plain_scalars(self) -> dict[str, Any]:
        """The scalars of a manifest, those of numpy as Python's."""
        plain: dict[str, Any] = {}
        for key, value in self.scalars.items():
            try:
                plain[key] = _plain(value)
            except TypeError as e:
                raise UsageError(f"scalar '{key}' of bundle '{self.name}' is {value!r}; expected "
                                 "numbers that are finite, and texts") from e
        plain.pop("format", None)
        return plain


def _plain(value: Any) -> Any:
    """What JSON has for a value; TypeError if it has nothing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise TypeError(f"{value!r} is nothing that JSON has")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, none of whose keys stands there twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key '{key}' stands there twice, with {reprlib.repr(found[key])} and "
                             f"{reprlib.repr(value)}")
        found[key] = value
    return found


def _read_file(path: pathlib.Path) -> bytes:
    """The bytes of a file from anywhere. A named pipe would wait for a writer who never comes, and
    a device may give bytes without end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"'{path}' is not a regular file")
        return file.read()


def _load_array(manifest: pathlib.Path, key: str, entry: Any, changed: bool) -> np.ndarray:
    """The array that an entry of a manifest names."""
    if not plain_name(key):
        raise UsageError(f"'{manifest}' has an array {key!r}; expected the name of a file of its "
                         "folder")
    name = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise UsageError(f"'{manifest}' names no file for array '{key}'")
    if not plain_name(name):
        raise UsageError(f"'{manifest}' names the file {name!r} for array '{key}'; expected one of "
                         "its folder")
    path = manifest.parent / name
    try:
        data = _read_file(path)
        array: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    except (OSError, ValueError, EOFError) as e:
        raise UsageError(f"'{path}' cannot be read: {e}") from e
    kind = next((name for name in SUMS if name in entry), None)
    if not changed and kind and (found := SUMS[kind](data)) != entry[kind]:
        raise UsageError(f"'{path}' was changed after the bundle was written ({kind} {found}, "
                         f"the manifest says {entry[kind]}); Bundle.load(folder, changed=True)"
                         " takes it as it is, and save() writes it with a new sum")
    _check_layout(path, key, array)
    return array


def _check_layout(path: pathlib.Path, key: str, array: np.ndarray) -> None:
    """Elements as kernels read them, without a look at a dtype."""
    if key in _LISTS and array.dtype.str != "<i4":
        raise UsageError(f"'{path}' has elements of {array.dtype.str} for list '{key}': kernels "
                         "read little-endian int32, <i4")
    if array.dtype.str.startswith(">"):
        raise UsageError(f"'{path}' has big-endian elements, {array.dtype.str}, for array '{key}'")
    if not array.flags.c_contiguous:
        raise UsageError(f"'{path}' has array '{key}' of shape {array.shape} in the order of "
                         "Fortran, not in C's")


def from_document(document: dict[str, Any]) -> Bundle:
    """A bundle from the JSON object of a planned step; unwritten elements become POISON."""
    scalars: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    sizes = document.get("buffer_sizes", {})
    for key, value in document.items():
        if key in _LISTS and isinstance(value, list):
            arrays[key] = np.array([POISON if v is None else v for v in value], np.int32)
        else:
            scalars[key] = value
    for parameter, key in PLAN_ARRAYS.items():
        if key in arrays and parameter in sizes:
            # The unwritten tail is cut off in a document.
            full = np.full(int(np.prod(sizes[parameter])), POISON, np.int32)
            full[:arrays[key].size] = arrays[key]
            arrays[key] = full
    return Bundle(scalars, arrays)
