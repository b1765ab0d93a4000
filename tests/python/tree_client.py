"""The process of an AITER tree, asked for plans in lists of given sizes, under checks."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from mla_testbed.aiter.tree import wire
from mla_testbed.aiter.tree.lists import LISTS
from mla_testbed.aiter.tree.wire import Array, Message
from mla_testbed.errors import DeviceError, FaultError, MlaError


class Tree:
    """One process, over one tree and one architecture; a context manager.

    Raises:
        DeviceError: the tree cannot be imported.
    """

    def __init__(self, tree: pathlib.Path, arch: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mla_testbed.aiter.tree", "--aiter", str(tree), "--arch", arch],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        hello = self._read()
        if "error" in hello.head:
            self.close()
            raise DeviceError(f"the AITER of '{tree}' cannot be imported: {hello.head['error']}")

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def ask(self, message: Message) -> Message:
        """The answer. FaultError: a kernel did something illegal. MlaError: what AITER raised."""
        assert self._process.stdin is not None
        wire.write(self._process.stdin, message)
        answer = self._read()
        if "ended" in answer.head:
            raise DeviceError(f"an AITER tree ended by signal {answer.head['ended']}")
        if "fault" in answer.head:
            raise FaultError(answer.head["fault"], report=answer.head["fault"])
        if "error" in answer.head:
            raise MlaError(answer.head["error"])
        return answer

    def plan(self, call: dict[str, Any], words: Sequence[int], run: dict[str, str]) \
            -> dict[str, Array]:
        """The five lists of a planner call as `mla-testbed plan --json` writes it.

        words: of each list, in the order of LISTS. run: how the planner's kernels run.
        """
        lists = {name: np.asarray(call[of], np.int32) for name, of in (
            ("qo_indptr", "seqlens_qo_indptr"), ("kv_indptr", "seqlens_kv_indptr"),
            ("last_page_len", "kv_last_page_lens"))}
        made = self.ask(Message({
            "call": "plan", "run": run, "compute_units": call["num_cu"],
            "heads": call["num_heads_per_head_k"], "q_dtype": call["dtype_q"],
            "kv_dtype": call["dtype_kv"], "max_seqlen_qo": call["max_seqlen_qo"],
            "fast_mode": call["fast_mode"], "intra_batch_mode": call["intra_batch_mode"],
            "max_split_per_batch": call["max_split_per_batch"], "words": list(words),
            "uniform_qo_len": call["uni_seqlen_qo"], "causal": call["is_causal"],
            "page_size": call["page_size"], "kv_granularity": call["kv_granularity"],
            "topk": call["topk"], "cp_round_robin": call["is_cp_round_robin"]}, lists))
        return {name: made.arrays[name] for name in LISTS}

    def _read(self) -> Message:
        assert self._process.stdout is not None
        answer = wire.read(self._process.stdout)
        if answer is None:
            raise DeviceError(f"the process of an AITER tree ended with {self._process.wait()}")
        return answer
