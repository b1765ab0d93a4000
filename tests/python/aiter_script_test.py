"""The script that a report brings: it has the case's values, it compiles, and it tells a right
decode from a wrong one. aiter_report_test.py runs it over AITER itself."""

import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="the script needs torch, which is not installed")

from mla_testbed import aiter_script  # noqa: E402
from mla_testbed.errors import UsageError  # noqa: E402

LISTS = {"work_indptr": [0, 1, 2], "work_info_set": [0, -1, 0, 1, 0, 5, 0, 0] * 2,
         "reduce_indptr": [0, 0], "reduce_final_map": [-0x5EADBEEF] * 2,
         "reduce_partial_map": [0, 7]}


@pytest.fixture(scope="module")
def call_of():
    """What `plan --json` says of a case."""
    command = os.environ.get("MLA_TESTBED_COMMAND")
    if command is None:
        command = pathlib.Path(os.environ["MLA_TESTBED_LIBRARY"]).parents[1] / "mla-testbed"
    if not pathlib.Path(command).is_file():
        pytest.skip("the command mla-testbed is not built")
    return lambda case: json.loads(subprocess.run(
        [command, "plan", case, "--json"], check=True, capture_output=True, text=True).stdout)


def text(call):
    return aiter_script.script(call, LISTS, "0123456789", "What is wrong.")


def values(source):
    """The constants at the top."""
    top = source[source.index("QO_INDPTR"):source.index("def ints")]
    fp8 = types.SimpleNamespace(fp8="fp8")
    space = {"torch": types.SimpleNamespace(bfloat16="bf16"), "dtypes": fp8}
    exec(top, space)  # noqa: S102
    return space


def test_a_case_of_a_whole_gpu_has_its_values_and_asks_the_planner(call_of):
    source = text(call_of("mla1:2q2s300_1q2s64;heads=32;dtype=fp8/fp8;scale=0.5/0.75;lse=1;"
                          "arch=gfx950;origin=9;page=16;block=16;split=4"))
    compile(source, "script", "exec")
    told = values(source)
    assert told["QO_INDPTR"] == [0, 2, 4, 6]
    assert told["KV_INDPTR"] == [0, 19, 38, 42]
    assert told["LAST_PAGE_LEN"] == [12, 12, 16]
    assert [told[name] for name in ("HEADS", "PAGE_SIZE", "FIRST_PAGE", "CAUSAL")] == [
        32, 16, 9, True]
    assert [told[name] for name in ("Q_DTYPE", "KV_DTYPE", "Q_SCALE", "KV_SCALE")] == [
        "fp8", "fp8", 0.5, 0.75]
    assert (told["MAX_QO_LEN"], told["RETURN_LSE"]) == (2, True)
    assert "What is wrong.\n\nAITER 0123456789, gfx950." in source
    assert "aiter.get_mla_metadata_v1(" in source
    assert "max_split_per_batch=4" in source
    assert "return_lse=RETURN_LSE" in source
    assert "PLAN = " not in source


def test_a_case_of_fewer_compute_units_brings_its_plan_without_poison(call_of):
    source = text(call_of("mla1:1q1s300;heads=16;cu=2;gran=1;causal=0"))
    compile(source, "script", "exec")
    told = values(source)["PLAN"]
    assert told == {**LISTS, "reduce_final_map": [0, 0]}
    assert "get_mla_metadata_v1(" not in source
    assert "causal=False" in source


def test_a_case_without_a_plan_has_its_splits(call_of):
    source = text(call_of("mla1:3q1s300;heads=16;planner=none;splits=4"))
    compile(source, "script", "exec")
    assert "num_kv_splits=4, num_kv_splits_indptr=ints(range(0, 12 + 1, 4))" in source
    assert "plan()" not in source


@pytest.mark.parametrize(("case", "why"), [
    ("mla1:1q1s300;rope=0", "rope"), ("mla1:1q1s300+1q1s64", "a sequence"),
    ("mla1:3q1s300;pad=2", "pad")])
def test_what_the_api_has_no_counterpart_of_is_named(call_of, case, why):
    with pytest.raises(UsageError, match=f"{why} has no counterpart"):
        text(call_of(case))


def decode(wrong):
    """A decode in float64, without its own mask for the first row if it is to be wrong."""

    def mla_decode_fwd(q, cache, out, qo, kv, indices, last, _, *, page_size, sm_scale, q_scale,
                       kv_scale, return_lse=False, causal=True, **__):
        lse = torch.zeros(len(q), q.shape[1])
        q_scale, kv_scale = (1.0 if s is None else float(s) for s in (q_scale, kv_scale))
        for r in range(len(last)):
            keys = cache[indices[kv[r]:kv[r + 1]].long()].double().reshape(-1, 576)
            keys = keys[:len(keys) - page_size + int(last[r])] * kv_scale
            for row in range(int(qo[r]), int(qo[r + 1])):
                hidden = int(qo[r + 1]) - 1 - row if causal and not (wrong and row == 0) else 0
                seen = keys[:len(keys) - hidden]
                scores = q[row].double() * q_scale @ seen.T * sm_scale
                out[row] = (torch.softmax(scores, -1) @ seen[:, :512]).to(out.dtype)
                lse[row] = torch.logsumexp(scores, -1)
        return None, lse if return_lse else None

    return mla_decode_fwd


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("case", [
    "mla1:2q2s40;heads=16;planner=none", "mla1:1q2s33;heads=16;arch=gfx950;lse=1",
    "mla1:1q2s6;heads=16;page=16;block=16;dtype=fp8/fp8;scale=0.5/0.75;planner=none"])
def test_a_right_decode_ends_with_0_and_one_without_a_mask_with_1(
        call_of, monkeypatch, capsys, case, wrong):
    source = text(call_of(case)).replace('"cuda"', '"cpu"').replace(".cuda()", ".cpu()")
    fake = types.ModuleType("aiter")
    fake.dtypes = types.SimpleNamespace(fp8=torch.float8_e4m3fnuz)
    fake.get_mla_metadata_info_v1 = lambda *_, **__: [((2,), torch.int32)] * 6
    fake.get_mla_metadata_v1 = lambda *_, **__: None
    mla = types.ModuleType("aiter.mla")
    mla.mla_decode_fwd = decode(wrong)
    monkeypatch.setitem(sys.modules, "aiter", fake)
    monkeypatch.setitem(sys.modules, "aiter.mla", mla)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    with pytest.raises(SystemExit) as end:
        exec(compile(source, "script", "exec"), {"__name__": "__main__"})  # noqa: S102
    assert end.value.code == int(wrong)
    said = capsys.readouterr().out
    assert ("out: 0 of " in said) == (not wrong)
    assert ("first: out[0, 0, " in said) == wrong
