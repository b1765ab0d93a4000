"""The structs of mla_gfx.h, field by field, and its functions."""

from __future__ import annotations

import ctypes
from typing import Any

U32, U64, I32, I64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64
TEXT, ADDRESS = ctypes.c_char_p, ctypes.c_void_p

READ, READ_WRITE = 1, 3
CHECKS = {"waits": 1, "lds_races": 2, "uninitialised": 4, "bank_conflicts": 8,
          "dropped": 16, "lanes": 32, "same_barrier": 64, "coherence": 128}
ORDERS = {"round_robin": 0, "reverse": 1, "random": 2}
ARRIVALS = {"early": 0, "late": 1, "random": 2, "after": 3}


class Properties(ctypes.Structure):
    _fields_ = [(name, U32) for name in
                ("wave_size", "lds_bytes", "compute_units", "max_threads")]


class Kernel(ctypes.Structure):
    _fields_ = [(name, U32) for name in
                ("lds_size", "scratch_size", "kernarg_size", "max_threads", "vgprs", "agprs",
                 "sgprs", "spilled_vgprs", "spilled_sgprs", "argument_count")]


class Argument(ctypes.Structure):
    _fields_ = [("offset", U32), ("size", U32), ("kind", TEXT)]


class Range(ctypes.Structure):
    _fields_ = [("address", ADDRESS), ("size", U64), ("name", TEXT), ("rights", ctypes.c_int)]


class Launch(ctypes.Structure):
    _fields_ = [
        ("checks", U32), ("kernel", TEXT), ("grid", U32 * 3), ("block", U32 * 3),
        ("kernarg", TEXT), ("kernarg_size", U64), ("ranges", ctypes.POINTER(Range)),
        ("range_count", U64), ("dynamic_lds", U32), ("fault_limit", U32),
        ("instruction_limit", U64), ("slice", U32), ("order", ctypes.c_int), ("seed", U64),
        ("threads", I32), ("fence", U64), ("arrival", ctypes.c_int), ("arrival_number", U64),
    ]


class Event(ctypes.Structure):
    _fields_ = [
        ("is_fault", I32), ("problem", TEXT), ("workgroup", U32 * 3), ("wave", U32),
        ("lane", I32), ("line", U32), ("column", U32), ("file", TEXT), ("place", TEXT),
        ("disassembly", TEXT), ("pc", U64), ("address", U64), ("range", TEXT),
        ("range_offset", I64), ("range_size", U64), ("text", TEXT), ("line_text", TEXT),
    ]


class Statistics(ctypes.Structure):
    _fields_ = [(name, U64) for name in
                ("instructions", "workgroups", "waves", "bytes_read", "bytes_written",
                 "lds_bytes_read", "lds_bytes_written", "scratch_bytes", "lds_bank_conflicts",
                 "matrix_instructions")]


def _to(kind: Any) -> Any:
    return ctypes.POINTER(kind)


#: What comes back, and the arguments.
PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "mla_gfx_open": (ctypes.c_int, [ctypes.c_int, _to(ADDRESS)]),
    "mla_gfx_close": (None, [ADDRESS]),
    "mla_gfx_properties_of": (ctypes.c_int, [ADDRESS, _to(Properties)]),
    "mla_gfx_register": (ctypes.c_int, [ADDRESS, ADDRESS, ctypes.c_size_t, TEXT, ctypes.c_int]),
    "mla_gfx_release": (ctypes.c_int, [ADDRESS, ADDRESS]),
    "mla_gfx_load": (ctypes.c_int, [ADDRESS, TEXT, ctypes.c_size_t, _to(ADDRESS)]),
    "mla_gfx_unload": (None, [ADDRESS]),
    "mla_gfx_kernel_name": (TEXT, [ADDRESS, ctypes.c_size_t]),
    "mla_gfx_kernel_of": (ctypes.c_int, [ADDRESS, TEXT, _to(Kernel)]),
    "mla_gfx_argument_of": (ctypes.c_int, [ADDRESS, TEXT, ctypes.c_size_t, _to(Argument)]),
    "mla_gfx_launch_defaults": (None, [_to(Launch)]),
    "mla_gfx_run": (ctypes.c_int, [ADDRESS, ADDRESS, _to(Launch), _to(ADDRESS)]),
    "mla_gfx_run_interruptibly": (ctypes.c_int, [ADDRESS, ADDRESS, _to(Launch), _to(ADDRESS)]),
    "mla_gfx_fault_count": (ctypes.c_size_t, [ADDRESS]),
    "mla_gfx_event_count": (ctypes.c_size_t, [ADDRESS]),
    "mla_gfx_findings_dropped": (U64, [ADDRESS]),
    "mla_gfx_event_of": (ctypes.c_int, [ADDRESS, ctypes.c_size_t, _to(Event)]),
    "mla_gfx_statistics_of": (ctypes.c_int, [ADDRESS, _to(Statistics)]),
    "mla_gfx_free": (None, [ADDRESS]),
}
