"""Batches and draft steps as ATOM's scheduler and drafter would have them; no ATOM is needed."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st
from mla_testbed.engines.atom.drafts import verified
from mla_testbed.engines.atom.runner import Limits, scheduled
from mla_testbed.engines.step import steps_of

SIZES = st.lists(st.integers(4, 90), min_size=1, max_size=5)


def step(lengths, rows=1, seed=1, block=16):
    requests = "_".join(f"1q{rows}s{keys}" for keys in lengths)
    return steps_of(f"mla1:{requests};heads=16;block={block};data=normal.{seed}")[0]


@given(lengths=SIZES, seed=st.integers(1, 99), number=st.integers(1, 3))
def test_a_draft_step_has_the_keys_of_the_verified_one_without_rejected_and_with_its_own(
    lengths, seed, number
):
    drawn = step(lengths, seed=seed)
    drafting = verified(drawn, number)
    rows = drafting.target.query_lens[0]
    keys = np.array(drafting.target.seq_lens)
    assert set(drafting.target.query_lens) == {number + 2}
    assert (keys >= rows).all()
    assert ((drafting.rejected >= 0) & (drafting.rejected < rows)).all()
    assert (keys - drafting.rejected + number == lengths).all()


@given(lengths=SIZES, rejected=st.integers(0, 4), block=st.sampled_from([1, 16, 64]))
def test_a_batch_has_a_block_of_its_own_for_each_rejected_draft_that_needs_one(
    lengths, rejected, block
):
    asked = step([keys + 1 for keys in lengths], rows=2, block=block)
    batch = scheduled(asked, np.full(len(lengths), rejected))
    for keys, table, length, last in zip(asked.seq_lens, batch.block_tables, batch.context_lens,
                                         batch.last_block_num_tokens, strict=True):
        assert length == keys + rejected
        assert len(table) == -(-length // block)
        assert 1 <= last <= block
        assert (len(table) - 1) * block + last == length
        blocks = -(-keys // block)
        assert all(more > asked.pool_blocks for more in table[blocks:])


@pytest.mark.parametrize(("exact", "keys"), [(False, 608), (True, 600)])
def test_a_server_takes_whole_blocks_unless_its_longest_request_is_meant(exact, keys):
    assert Limits.of([step([600], rows=2)], exact=exact).keys == keys


def test_a_tree_that_is_none_of_atoms_is_refused_by_its_name(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "replay", "mla1:1q1s9", "--engine", "atom"],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "ATOM_SRC": str(tmp_path)})
    assert done.returncode == 3
    assert f"ATOM_SRC is '{tmp_path}', which is no source tree of ATOM" in done.stderr
