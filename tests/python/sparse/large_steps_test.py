"""Steps of a server's size: what is not done for each token, and how much memory it takes."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from mla_testbed.sparse import MODEL, Case, cache, inputs_of, judge, writing
from mla_testbed.sparse.numbers import product

#: More tokens than a case has different keys: key 0 is that of tokens 0, 32768, 65536.
MANY = "sparse1:1q1s70000;block=64;layout=shuffle;width=64+0;heads=1;qheads=1"


@pytest.mark.parametrize("layout", ["row", "shuffle"])
@pytest.mark.parametrize("gap", [0, 48])
@pytest.mark.parametrize("block", [16, 48, 256])
def test_codes_and_scales_are_put_and_found_in_the_bytes_of_their_places(block, layout, gap):
    case = Case.parse(f"sparse1:1q1s5;block={block};layout={layout};gap={gap}")
    inputs, slots = inputs_of(case), np.random.default_rng(0).permutation(4 * block)
    held, right = (np.zeros(4 * case.block_bytes - gap, np.uint8) for _ in range(2))
    codes, scales = inputs.noise(slots.size * 132).reshape(-1, 132)[:, :128], inputs.noise(
        slots.size * 4).reshape(-1, 4)
    at = cache.places(case, slots)
    right[at.values], right[at.scales] = codes, scales
    cache.put(case, held, slots, codes, scales)
    assert np.array_equal(held, right)
    found, of_scales = cache.stored(inputs, held, slots)
    assert np.array_equal(found, codes)
    assert np.array_equal(of_scales.view(np.uint8).reshape(-1, 4), scales)


@pytest.mark.parametrize(("which", "what"), [
    ("values", "element 0 in slot {slot} is"), ("scales", "the scale in slot {slot} is")])
def test_wrong_bytes_of_a_token_are_found_though_another_with_its_key_is_right(which, what):
    inputs = inputs_of(Case.parse(MANY))
    token = int(np.flatnonzero(inputs.slot_mapping >= 0)[-1])
    slot = int(inputs.slot_mapping[token])

    def write(inputs, slot_mapping, held):
        MODEL.write(inputs, slot_mapping, held)
        if (slot_mapping >= 0).any():
            at = cache.places(inputs.case, np.array([slot]))
            byte = {"values": at.values[0, 0], "scales": at.scales[0, 2]}[which]
            held[byte] ^= 1 if which == "values" else 128

    found = writing.check_write(inputs, write, (224.0,))
    assert [one.property for one in found] == ["SP-04"]
    assert what.format(slot=slot) in found[0].what
    assert "wrong are 1 of " in found[0].what


def test_a_defect_in_all_tokens_is_counted_in_all_of_them():
    inputs = inputs_of(Case.parse(MANY))

    def write(inputs, slot_mapping, held):
        double = dataclasses.replace(inputs)
        double.__dict__.update(slot_mapping=inputs.slot_mapping, keys=64 * inputs.keys)
        MODEL.write(double, slot_mapping, held)

    found = writing.check_write(inputs, write, (224.0,))
    assert found[0].property == "SP-03"
    assert "so it is with 70000 of 70000 slots" in found[0].what


def test_a_step_of_eight_requests_with_32768_keys_is_judged_in_half_a_gibibyte():
    tracemalloc.start()
    found = judge(Case.parse("sparse1:8q1s32768;k=2048;heads=4"), MODEL)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found
    assert most < 1 << 29, most


#: Processor time of all threads, as a multiple of that of the one that judges.
THREADS = """
import time
from mla_testbed.sparse import MODEL, Case, judge
case = Case.parse("sparse1:2q1s4096;k=2048")
judge(case, MODEL)
time.sleep(0.5)  # until threads of the import have stopped spinning
before = time.process_time(), time.thread_time()
assert not judge(case, MODEL)
print((time.process_time() - before[0]) / (time.thread_time() - before[1]))
"""


def test_no_other_thread_spins_while_a_step_is_judged():
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"})
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.1


@pytest.mark.parametrize(("rows", "inner", "columns"), [
    (1, 64, 20000), (16, 576, 2048), (16, 2048, 512), (64, 128, 2047), (128, 3000, 17),
    (20000, 3, 5), (3, 1, 1), (2, 0, 3), (2, 3, 0), (0, 3, 2)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_in_parts_is_the_product(rows, inner, columns, kind, turned):
    drawn = np.random.default_rng(rows + inner + columns)
    left = drawn.integers(-8, 9, (rows, inner)).astype(kind)
    right = drawn.integers(-8, 9, (columns, inner + 3) if turned else (inner, columns + 3))
    right = right.astype(kind)[:, :inner].T if turned else right.astype(kind)[:, :columns]
    found = product(left, right)
    assert found.dtype == kind
    assert np.array_equal(found, left.astype(np.int64) @ right.astype(np.int64))
