"""Functions that mla_capture watches keep their own errors."""

import pytest
from mla_testbed import mla_capture


def planner(rows, block_size=1):
    return rows * block_size


def test_arguments_that_a_function_does_not_take_end_in_its_own_error_and_are_not_kept():
    seen = []
    watched = mla_capture.observed(planner, lambda arguments: seen.append(dict(arguments)))
    assert watched(2) == 2
    with pytest.raises(TypeError, match=r"planner\(\) got an unexpected keyword.*need_lse"):
        watched(2, need_lse=True)
    assert seen == [{"rows": 2, "block_size": 1}]
