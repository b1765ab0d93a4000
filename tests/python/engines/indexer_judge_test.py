"""The stages of an engine's indexer: sound as the references compute them, and damaged."""

import dataclasses

import numpy as np
import pytest
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.sparse import indexer, sparse_steps_of
from mla_testbed.engines.sparse.kind import Sparse
from mla_testbed.sparse import cache, logits
from mla_testbed.sparse.case import KEY

#: Seed 40: 128 keys of a row; 44: the blocks of another layer lie between.
CASES = ["mla1:2q1s90_1q3s300;heads=16;block=16;data=normal.40",
         "mla1:1q20s300_2q2s129;heads=16;block=32;data=normal.44",
         "mla1:1q2s40_1q2s140;heads=16;block=1;arch=gfx950;data=normal.40"]


def step_of(case):
    return sparse_steps_of(str(Sparse().adapt(CaseLine.parse(case))))[0]


def sound(step, padding=2):
    """What a right indexer leaves, with rows of padding and one gather of all keys."""
    inputs = indexer.inputs_of(step)
    new = np.concatenate([step.new_slots(request) for request in range(step.requests)])
    before, after = indexer.before_step(inputs, new), cache.written(inputs)
    codes, scales = cache.gathered(inputs, after)
    exact = logits.exact_logits(inputs, logits.rows_of(inputs, after))
    rows = tuple(exact[row, :visible] for row, visible in enumerate(step.visible))
    selection = np.full((len(rows) + padding, step.topk), -1, np.int32)
    for row, values in enumerate(rows):
        chosen = np.argsort(-values, kind="stable")[:step.topk]
        selection[row, :chosen.size] = chosen
    return indexer.Indexed(
        inputs, np.concatenate([new, np.full(padding, -1)]), before, after,
        (indexer.Gather((0, step.requests), codes, scales),), rows, selection, 512)


def wrong_bytes(made, of):
    held = made.after.copy()
    of(held, cache.places(made.inputs.case, made.slots[:1]))
    return dataclasses.replace(made, after=held)


def outside(made):
    """Writes one byte of a block that no request has."""
    live = set(made.inputs.slot_mapping)
    slot = next(slot for slot in range(made.inputs.blocks * made.inputs.case.block)
                if slot not in live)
    held = made.after.copy()
    held[cache.places(made.inputs.case, np.array([slot])).values[0, 0]] ^= 1
    return dataclasses.replace(made, after=held)


def gathered(made, change):
    one = made.gathers[0]
    return dataclasses.replace(made, gathers=(dataclasses.replace(one, **change(one)),))


def last_logits(made, change):
    return dataclasses.replace(made, logits=(*made.logits[:-1], change(made.logits[-1])))


def last_selection(made, change):
    rows = made.selection.copy()
    change(rows[len(made.logits) - 1])
    return dataclasses.replace(made, selection=rows)


def drop_best(row):
    """The best key gives way to one that was not selected."""
    row[0] = np.setdiff1d(np.arange(row.size + 12), row)[-1]


DAMAGES = {
    "a byte of a foreign block": ("SP-02", outside),
    "a key that was not written": ("SP-03", lambda made: dataclasses.replace(
        made, after=made.before)),
    "the scale of a key is twice too large": ("SP-04", lambda made: wrong_bytes(
        made, lambda held, at: held.__setitem__(at.scales[0], (held[at.scales[0]].view(
            np.float32) * 2).view(np.uint8)))),
    "a gather of the next key": ("SP-05", lambda made: gathered(
        made, lambda one: {"codes": np.roll(one.codes, 1, 0)})),
    "a gather without its last key": ("SP-05", lambda made: gathered(
        made, lambda one: {"codes": one.codes[:-1], "scales": one.scales[:-1]})),
    "a scale of the next key": ("SP-05", lambda made: gathered(
        made, lambda one: {"scales": np.roll(one.scales * np.arange(1, one.scales.size + 1,
                                                                    dtype=np.float32), 1)})),
    "a logit that is off": ("SP-06", lambda made: last_logits(made, lambda row: row * 1.01)),
    "a logit too few": ("SP-06", lambda made: last_logits(made, lambda row: row[:-1])),
    "a key too few": ("SP-10", lambda made: last_selection(
        made, lambda row: row.__setitem__((row >= 0).sum() - 1, -1))),
    "a key twice": ("SP-10", lambda made: last_selection(
        made, lambda row: row.__setitem__(0, row[1]))),
    "the best key left out": ("SP-11", lambda made: last_selection(made, drop_best)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_references_compute_passes_and_is_the_selection_of_the_step(case):
    step = step_of(case)
    made = sound(step)
    assert indexer.check_indexed(step, made) == []
    chosen = indexer.selecting(step, made)
    assert [row.tolist() for row in chosen.selected] == [
        made.selection[row, :count].tolist() for row, count in enumerate(step.counts)]
    assert indexer.selecting(step, None) is step


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_stage_is_a_finding_of_its_property(name):
    step = step_of("mla1:2q1s90_1q3s140;heads=16;block=16;data=normal.40")
    expected, damage = DAMAGES[name]
    found = indexer.check_indexed(step, damage(sound(step)))
    assert [finding.property for finding in found] == [expected], found


def test_requests_with_a_common_prefix_have_the_same_keys_in_it():
    step = step_of("mla1:2q1s90;heads=16;block=16;layout=prefix.2;data=normal.40")
    slots = [step.token_slots(request) for request in range(2)]
    assert (slots[0][:32] == slots[1][:32]).all()
    inputs = indexer.inputs_of(step)
    assert inputs.keys.shape == (len(step.owned_slots), KEY)
    held = cache.written(inputs)
    first, second = (cache.stored(inputs, held, own)[0] for own in slots)
    assert (first[:32] == second[:32]).all()
    assert not (first[32:] == second[32:]).all()


def test_before_a_step_its_new_keys_are_nan_and_all_others_there():
    step = step_of(CASES[0])
    made = sound(step)
    at = cache.places(made.inputs.case, made.slots[:-2])
    assert np.isnan(made.before[at.scales].reshape(-1).view(np.float32)).all()
    changed = np.flatnonzero(made.before != made.after)
    assert set(changed) <= {*at.values.reshape(-1), *at.scales.reshape(-1)}


def test_rows_that_have_all_of_their_keys_need_no_logits():
    step = step_of("mla1:2q1s90_1q3s120;heads=16;block=16;data=normal.40")
    made = dataclasses.replace(sound(step), logits=(), scored=False)
    assert indexer.check_indexed(step, made) == []
    made.selection[1, 3] = made.selection[1, 2]
    assert [found.property for found in indexer.check_indexed(step, made)] == ["SP-10"]


def test_a_step_that_selects_without_logits_is_a_finding():
    step = step_of("mla1:2q1s90_1q3s140;heads=16;block=16;data=normal.40")
    made = dataclasses.replace(sound(step), logits=(), scored=False)
    found = indexer.check_indexed(step, made)
    assert [(one.property, one.what) for one in found] == [
        ("SP-06", "no logit was computed, and a row has 140 keys of which it selects 128")]
