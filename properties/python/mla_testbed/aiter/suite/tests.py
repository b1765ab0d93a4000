"""Which of AITER's tests are run, and with what grids.

The small grids keep every path of a test (dtypes, heads, several rows, folding, ranks) at short
contexts; the original grid is the test's own.
"""

from __future__ import annotations

import dataclasses
import pathlib

from .. import reduce_grid


@dataclasses.dataclass(frozen=True)
class AiterTest:
    """One test and its grids.

    name: how the table calls it. file: under op_tests. archs: where AITER runs it. small,
    small_aiter: arguments of the small grid, by backend; None: this backend adds nothing to it.
    pytest: the file is run by pytest. driver: a module of ours that calls the functions of the
    file on a small grid, where its own arguments cannot make it small. triton: it launches Triton
    kernels. always_persistent: AITER's CI turns the choice of another path at large batches off.
    smallest: the small grid is the smallest case of each function of the file. keyword: the
    functions of the file that pytest chooses by it. modules: AITER's own modules without which the
    test says nothing of what it is for; where one of them did not run, it is inconclusive.
    environment: variables of its process.
    """

    name: str
    file: str
    archs: tuple[str, ...] = ("gfx942", "gfx950")
    small: tuple[str, ...] = ()
    small_aiter: tuple[str, ...] | None = None
    pytest: bool = False
    driver: str | None = None
    triton: bool = False
    always_persistent: bool = False
    smallest: bool = False
    keyword: str | None = None
    modules: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def path(self, tree: pathlib.Path) -> pathlib.Path:
        """The file in a source tree."""
        return tree / "op_tests" / self.file


def words(text: str) -> tuple[str, ...]:
    """Arguments, as a shell splits them where nothing is quoted."""
    return tuple(text.split())


TESTS = (
    AiterTest("ps_metadata_sizing", "test_ps_metadata_sizing.py", pytest=True),
    AiterTest("mla_decode_gate", "test_mla_decode_gate.py", archs=("gfx950",), pytest=True),
    AiterTest("mla_reduce", "test_mla_reduce.py", driver=reduce_grid.__name__),
    AiterTest("mla_persistent", "test_mla_persistent.py", always_persistent=True,
              small=words("-c 64 200 -b 3 -n 16,1 16,2 16,4 48,1 128,2 --varlen"),
              small_aiter=words("-c 64 -b 2 -n 16,1 16,2 16,4 48,1 128,2")),
    AiterTest("mla_persistent_lse", "test_mla_persistent.py", archs=("gfx950",),
              always_persistent=True,
              small=words("-c 200 -b 3 -n 16,1 16,4 -d bf16 -kvd bf16 -lse"),
              small_aiter=words("-c 200 -b 2 -n 16,1 16,4 -d bf16 -kvd bf16 -lse")),
    AiterTest("mla_persistent_page64", "test_mla_persistent.py", always_persistent=True,
              small=words("-c 200 -b 3 -n 16,1 -d fp8 -kvd fp8 -blk 64"),
              small_aiter=words("-c 200 -b 2 -n 16,1 -d fp8 -kvd fp8 -blk 64")),
    AiterTest("mla_round_robin", "test_mla_persistent_round_robin.py", archs=("gfx950",),
              always_persistent=True,
              small=words("-c 13 200 -b 2 -n 16,4 32,3 64,2 -cpw 2 3"),
              small_aiter=words("-c 200 -b 1 -n 16,4 -cpw 2")),
    # Up to 16384 keys the test also runs prefill, over a latent cache and in FlyDSL.
    AiterTest("mla", "test_mla.py", triton=True,
              small=words("-c 16385 -b 1 -n 16,1 16,2 -d bf16 -kvd bf16 -splits 3")),
    AiterTest("mla_prefill_ps", "test_mla_prefill_ps.py", archs=("gfx950",),
              small=words("-c 21 300 -b 1 3 -n 1 16"),
              small_aiter=words("-c 21 300 -b 2 -n 1 --causal true false")),
    AiterTest("mla_sparse", "test_mla_sparse.py", archs=("gfx950",), triton=True,
              small=words("-c 64 -b 1 -n 16,2 -d bf16 -kvd bf16")),
    AiterTest("concat_cache_mla", "test_concat_cache_mla.py",
              small=words("-t 4 64 -c normal")),
    AiterTest("rope_cache_mla", "test_concat_cache_mla.py",
              small=words("-t 4 -c fused_qk -ql contiguous strided")),
)
