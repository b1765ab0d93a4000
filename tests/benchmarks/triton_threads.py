"""Triton kernels of many programs on one thread of the host and on several, in turns.

    MLA_TESTBED_LIBRARY=BUILD/lib/libmla_testbed.so PYTHONPATH=properties/python \\
        BUILD/venv-triton/bin/python tests/benchmarks/triton_threads.py [--checks all]

BUILD/venv-triton is the environment of tests/python/triton_kernels/run.sh. Prints the median time
of a launch, the least and the most, and how many times faster the threads are. Exit 1 where the
bits differ.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from collections.abc import Callable

import mla_testbed.triton
import torch
import triton
import triton.language as tl


@triton.jit
def _matmul(a, b, c, SIZE: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, SIZE, STEP):
        k = start + tl.arange(0, STEP)
        acc = tl.dot(tl.load(a + i[:, None] * SIZE + k[None, :]),
                     tl.load(b + k[:, None] * SIZE + j[None, :]), acc)
    tl.store(c + i[:, None] * SIZE + j[None, :], acc.to(tl.float16))


@triton.jit
def _attention(q, k, v, out, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    d = tl.arange(0, D)
    head = tl.program_id(1) * n * D
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        score = tl.dot(query, tl.load(k + head + j[None, :] * D + d[:, None])) * scale
        new = tl.maximum(top, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        old = tl.exp2(top - new)
        values = tl.load(v + head + j[:, None] * D + d[None, :])
        acc = acc * old[:, None] + tl.dot(p.to(values.dtype), values)
        total, top = total * old + tl.sum(p, 1), new
    tl.store(out + head + i[:, None] * D + d[None, :], acc / total[:, None])


@triton.jit
def _layer_norm(x, weight, bias, y, n, COLUMNS: tl.constexpr):
    i = tl.arange(0, COLUMNS)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    centred = tl.where(i < n, row - tl.sum(row, 0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + 1e-5)
    w, b = tl.load(weight + i, mask=i < n), tl.load(bias + i, mask=i < n)
    tl.store(y + tl.program_id(0) * n + i, centred * scale * w + b, mask=i < n)


def works() -> list[tuple[str, Callable[[], object], torch.Tensor]]:
    """Name, a launch, and what it writes."""
    a, b, c = (torch.randn(512, 512).half() for _ in range(3))
    q, k, v, out = (torch.randn(4, 512, 64).half() for _ in range(4))
    x, weight, bias, y = torch.randn(1024, 1000), torch.randn(1000), torch.randn(1000), \
        torch.zeros(1024, 1000)
    return [
        ("matmul 512x512x512, f16",
         lambda: _matmul[(8, 8)](a, b, c, SIZE=512, BLOCK=64, STEP=32), c),
        ("attention 4x512x64, f16",
         lambda: _attention[(8, 4)](q, k, v, out, 512, 0.18, D=64, BLOCK=64), out),
        ("layer norm 1024x1000, f32",
         lambda: _layer_norm[(1024,)](x, weight, bias, y, 1000, COLUMNS=1024), y),
    ]


def main() -> int:
    """Prints a line for each kernel and architecture; 1 where the bits differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--checks", default="")
    asked = parser.parse_args()
    differ = 0
    for arch in ("gfx942", "gfx950"):
        for name, launch, out in works():
            times: dict[int, list[float]] = {1: [], asked.threads: []}
            bits = set()
            with mla_testbed.triton.emulated(arch):
                launch()  # compiles
                for _ in range(asked.repetitions):
                    for threads, taken in times.items():
                        out.zero_()
                        with mla_testbed.triton.options(threads=threads, checks=asked.checks):
                            begin = time.perf_counter()
                            launch()
                            taken.append(1e3 * (time.perf_counter() - begin))
                        bits.add(hashlib.sha256(out.numpy().tobytes()).hexdigest())
            differ += len(bits) != 1
            text = "; ".join(f"{n} thread{'s' * (n > 1)} {statistics.median(t):.1f} ms "
                             f"({min(t):.1f} to {max(t):.1f})" for n, t in times.items())
            gain = statistics.median(times[1]) / statistics.median(times[asked.threads])
            print(f"{arch} {name}: {text}; {gain:.2f} times"
                  + ("" if len(bits) == 1 else "; THE BITS DIFFER"), flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
