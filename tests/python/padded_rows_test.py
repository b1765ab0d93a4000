"""Rows of Q after those of the requests, as a captured launch has them."""

import mla_testbed as mla
import numpy as np
import pytest
from steps import Step, decode_with_plan, make_step


def padded(step: Step, rows: int) -> Step:
    more = rows - step.q.shape[0]
    zeros = np.zeros((more, *step.q.shape[1:]), step.q.dtype)
    return step._replace(q=np.concatenate([step.q, zeros]))


@pytest.mark.parametrize(("requests", "rows", "heads", "arch"), [
    (4, 8, 16, "gfx942"), (3, 8, 16, "gfx942"), (2, 14, 16, "gfx950"), (4, 8, 128, "gfx950")])
def test_rows_behind_the_requests_are_padding(
    requests: int, rows: int, heads: int, arch: str
) -> None:
    step = make_step([300 - 60 * r for r in range(requests)], 1, heads, arch=arch)
    alone, _ = decode_with_plan(step, arch=arch)
    together, _ = decode_with_plan(padded(step, rows), arch=arch)
    assert np.array_equal(together[:requests], alone)
    assert np.isnan(together[requests:]).all()


def test_padding_makes_no_kernel_of_more_heads() -> None:
    step = make_step([100, 100, 100, 100], 1, 8, arch="gfx950")
    with pytest.raises(mla.UnsupportedError, match="no persistent kernel takes gfx950, .* 8 heads"):
        decode_with_plan(padded(step, 8), arch="gfx950", heads=16)


def test_fewer_rows_than_the_requests_have_are_refused() -> None:
    step = make_step([100, 100], 2, 16)
    with pytest.raises(mla.UsageError, match="q has 3 rows, the requests of qo_indptr have 4"):
        decode_with_plan(step._replace(q=step.q[:3]))
