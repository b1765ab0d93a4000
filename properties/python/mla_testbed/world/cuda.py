"""torch.cuda, answered for a machine with one GPU."""

from __future__ import annotations

import types
from typing import Any

import torch

from . import graphs, streams
from .patches import Patches
from .state import State, is_gpu

HIP_VERSION = "7.2.0"


def install(state: State, patches: Patches) -> None:
    """Replaces the functions of torch.cuda that ask a driver."""
    streams.enter_default()
    for cls in (streams.Stream, streams.Event, graphs.CUDAGraph):
        patches.set(cls, "state", state)
    for name, value in {**_queries(state), **_memory(state), **_work(state)}.items():
        patches.set(torch.cuda, name, value)
    for name, value in _accelerator().items():
        patches.set(torch.accelerator, name, value)
    patches.set(torch, "Stream", streams.Stream)
    patches.set(torch, "Event", streams.AnyEvent)
    patches.set(torch.version, "hip", HIP_VERSION)
    for name, answer in {"_cuda_getCurrentRawStream": lambda index: 0, "_cuda_getDevice": lambda: 0,
                         "_cuda_getAllocatorBackend": lambda: "native"}.items():
        patches.set(torch._C, name, answer)


def _queries(state: State) -> dict[str, Any]:
    machine = state.machine
    properties = types.SimpleNamespace(
        name=machine.name, gcnArchName=f"{machine.arch}:sramecc+:xnack-",
        multi_processor_count=machine.compute_units, total_memory=machine.memory,
        major=machine.capability[0], minor=machine.capability[1], warp_size=64,
        L2_cache_size=4 << 20, shared_memory_per_block=machine.lds,
        shared_memory_per_multiprocessor=machine.lds, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=131072, is_integrated=False, is_multi_gpu_board=False)

    def of(answer: Any) -> Any:
        def query(device: Any = None) -> Any:
            if device is not None and not is_gpu(device):
                raise ValueError(f"expected a cuda device, but got: {device}")
            return answer

        return query

    return {
        "is_available": lambda: True, "is_initialized": lambda: True, "init": lambda: None,
        "_lazy_init": lambda: None, "device_count": lambda: 1, "current_device": lambda: 0,
        "set_device": lambda device: is_gpu(device) and None, "device": _device_context,
        "get_device_properties": of(properties), "get_device_name": of(machine.name),
        "get_device_capability": of(machine.capability),
        "get_arch_list": lambda: [machine.arch], "is_bf16_supported": lambda *_, **__: True,
    }


def _memory(state: State) -> dict[str, Any]:
    total = state.machine.memory
    answers: dict[str, Any] = {
        "mem_get_info": lambda device=None: (total, total),
        "memory_stats": lambda device=None: {},
        "empty_cache": lambda: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "reset_max_memory_allocated": lambda device=None: None,
        "ipc_collect": lambda: None,
    }
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved",
                 "max_memory_reserved"):
        answers[name] = lambda device=None: 0
    return answers


def _work(state: State) -> dict[str, Any]:
    def synchronize(device: Any = None) -> None:
        state.refuse_while_capturing("torch.cuda.synchronize()")
        state.late.wait()

    return {
        "synchronize": synchronize, "current_stream": streams.current,
        "default_stream": streams.default, "set_stream": streams.choose,
        "stream": streams.StreamContext, "StreamContext": streams.StreamContext,
        "Stream": streams.Stream, "Event": streams.Event,
        "CUDAGraph": graphs.CUDAGraph, "graph": graphs.graph,
        "graph_pool_handle": lambda: (0, 0),
        "is_current_stream_capturing": lambda: state.capture is not None,
        "manual_seed": lambda seed: None, "manual_seed_all": lambda seed: None,
    }


def _accelerator() -> dict[str, Any]:
    """torch.accelerator, by the functions of torch.cuda."""
    cuda = torch.cuda
    answers = {name: getattr(cuda, name) for name in (
        "is_available", "device_count", "current_stream", "set_stream", "synchronize",
        "empty_cache", "memory_stats", "memory_allocated", "max_memory_allocated",
        "memory_reserved", "max_memory_reserved", "reset_peak_memory_stats")}
    return {**answers, "current_device_index": cuda.current_device,
            "empty_host_cache": lambda: None,
            "set_device_index": cuda.set_device, "get_memory_info": cuda.mem_get_info,
            "current_accelerator": lambda check_available=False: torch.device("cuda"),
            "device_index": cuda.device}


class _device_context:
    """`with torch.cuda.device(0):`"""

    def __init__(self, device: Any) -> None:
        is_gpu(device)  # refuses a second GPU
        self.idx = 0

    def __enter__(self) -> _device_context:
        return self

    def __exit__(self, *_: Any) -> None:
        return None
