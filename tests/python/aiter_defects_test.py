"""Defects of AITER's Python, shown by running it unmodified. Needs AITER_SRC, a source tree.

Each is what a script of a few lines sees; when AITER fixes one, its test says so by failing.
"""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
pytest.importorskip("triton", reason="AITER's Python needs Triton, which is not installed")

TREE = pathlib.Path(os.environ.get("AITER_SRC", ""))
pytestmark = pytest.mark.skipif(not (TREE / "aiter" / "mla.py").is_file(),
                                reason="AITER_SRC names no source tree of AITER")

STEP = """
import torch, aiter
from aiter import dtypes
torch.set_default_device("cuda")
BATCH, HEADS, ROWS, KEYS = 2, {heads}, {rows}, 100
q = torch.randn(BATCH * ROWS, HEADS, 576).to({dtype})
kv = torch.randn(BATCH * KEYS, 1, 1, 576).to({dtype})
out = torch.zeros(BATCH * ROWS, HEADS, 512, dtype=torch.bfloat16)
one = torch.ones(1)
qo = torch.arange(BATCH + 1, dtype=torch.int32) * ROWS
kv_indptr = torch.arange(BATCH + 1, dtype=torch.int32) * KEYS
pages = torch.arange(BATCH * KEYS, dtype=torch.int32)
last = torch.ones(BATCH, dtype=torch.int32)

def plan(splits=-1):
    info = aiter.get_mla_metadata_info_v1(
        BATCH, ROWS, HEADS, q.dtype, kv.dtype, is_sparse=False, max_split_per_batch=splits)
    meta, indptr, works, r_indptr, r_final, r_partial = (
        torch.zeros(shape, dtype=dtype) for shape, dtype in info)
    aiter.get_mla_metadata_v1(
        qo, kv_indptr, last, HEADS, 1, True, meta, works, indptr, r_indptr, r_final, r_partial,
        max_seqlen_qo=ROWS, uni_seqlen_qo=ROWS, max_split_per_batch=splits,
        dtype_q=q.dtype, dtype_kv=kv.dtype)
    return dict(work_meta_data=meta, work_indptr=indptr, work_info_set=works,
                reduce_indptr=r_indptr, reduce_final_map=r_final, reduce_partial_map=r_partial)

def poisoned(empty):
    def made(*args, **kwargs):
        tensor = empty(*args, **kwargs)
        return tensor.fill_(float("nan")) if tensor.dtype == torch.float32 else tensor
    return made
"""


def output_of(tmp_path, body, arch="gfx950", backend="cpu", *, heads=16, rows=1,
              dtype="dtypes.fp8", **environment):
    script = tmp_path / "script.py"
    script.write_text(STEP.format(heads=heads, rows=rows, dtype=dtype) + body)
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.python_command", "--arch", arch, "--backend", backend,
         "--aiter", str(TREE), "--", str(script)],
        capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.stdout + done.stderr


def test_a_step_of_these_shapes_runs(tmp_path):
    # The scripts below are right but for what each shows.
    output = output_of(tmp_path, """
aiter.mla.mla_decode_fwd(q, kv, out, qo, kv_indptr, pages, last, ROWS, q_scale=one, kv_scale=one,
                         **plan())
print("RAN", out.isfinite().all().item(), out.abs().sum().item() > 0)
""", rows=4)
    assert "RAN True True" in output


def test_experimental_fp8_decode_calls_a_function_that_does_not_exist(tmp_path):
    output = output_of(tmp_path, """
aiter.mla.mla_decode_fwd(q, kv, out, qo, kv_indptr, pages, last, ROWS, q_scale=one, kv_scale=one,
                         **plan())
""", rows=4, AITER_ENABLE_EXPERIMENTAL="1")
    assert "AttributeError: module 'aiter' has no attribute 'hk_mla_decode_fwd'" in output


def test_the_prefill_planner_lacks_the_parameter_that_engines_pass(tmp_path):
    output = output_of(tmp_path, """
six = [torch.zeros(shape, dtype=dtype) for shape, dtype in aiter.get_ps_metadata_info_v1(1, 1, 16)]
host = [torch.tensor(v, dtype=torch.int32, device="cpu") for v in ([0, 16], [0, 1], [16])]
aiter.get_ps_metadata_v1(*host, 1, 1, *six, need_lse=True)
""")
    assert "need_lse" in output
    assert "Error" in output


@pytest.mark.parametrize("backend", ["cpu", "aiter"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_one_split_without_a_plan_returns_an_lse_that_nobody_wrote(tmp_path, arch, backend):
    if backend == "aiter" and not (TREE / "hsa" / arch / "mla").is_dir():
        pytest.skip(f"'{TREE}' has no code objects in hsa/{arch}/mla")
    output = output_of(tmp_path, """
torch.empty = poisoned(torch.empty)
_, lse = aiter.mla.mla_decode_fwd(
    q, kv, out, qo, kv_indptr, pages, last, ROWS, num_kv_splits=1,
    num_kv_splits_indptr=torch.arange(BATCH + 1, dtype=torch.int32), q_scale=one, kv_scale=one,
    return_lse=True)
print("LSE", lse.isnan().all().item(), "OUT", out.isfinite().all().item())
""", arch, backend)
    assert "LSE True OUT True" in output
