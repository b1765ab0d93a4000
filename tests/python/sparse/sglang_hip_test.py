"""SGLang's HIP kernels of gfx950, as a tree whose JIT gives functions of torch."""

import ctypes
import sys
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the kernels' tensors are torch's")

from mla_testbed.sparse import Case  # noqa: E402
from mla_testbed.sparse.inputs import inputs_of  # noqa: E402
from mla_testbed.sparse.real import sglang_hip  # noqa: E402
from mla_testbed.sparse.real.device import entered  # noqa: E402
from mla_testbed.sparse.real.kernel import NotTakenError  # noqa: E402

CASE = "sparse1:1q2s2060_1q1s70;block=64;layout=shuffle;heads=32;k=2048;fp8=ocp"
JIT = """
class Kernels:
    def logits_hist(self, q, kv, weights, seqlens, page_table, out, ghist, blocks_per_row):
        import planted
        planted.logits(q, kv, weights, seqlens, page_table, out, ghist)

    def topk_transform(self, logits, row_ends, page_table, out, ghist, cursor, cand_idx, cand_val,
                       g_per_row, page_size):
        import planted
        planted.select(logits, row_ends, page_table, out, ghist, cursor)


def load_jit(*given, **named):
    return Kernels()
"""
LOADER = """
from sglang.kernels.jit.utils import load_jit


def modules():
    return tuple(load_jit(name) for name in ("gemv", "qk", "logits", "topk"))
"""


def logits(q, kv, weights, seqlens, table, out, ghist):
    """float64, over the shuffled pages; columns of a page that a row does not see are -inf."""
    pages = kv.view(torch.uint8)
    for row, length in enumerate(seqlens.tolist()):
        count = -(-length // 64)
        of_row = pages[table[row, :count].long()]
        tiles = of_row[:, :8192].reshape(count, 4, 8, 16, 16).permute(0, 1, 3, 2, 4)
        k = tiles.reshape(count * 64, 128).contiguous().view(torch.float8_e4m3fn).double()
        scales = of_row[:, 8192:].contiguous().view(torch.float32).reshape(-1).double()
        scores = torch.relu(q[row].double() @ k.T * scales)
        found = (weights[row].double()[:, None] * scores).sum(0)
        out[row, :count * 64] = torch.where(torch.arange(count * 64, device="cuda") < length, found,
                                            -torch.inf).float()
        ghist[row, 0] = length > 2048


def select(logits, ends, table, out, ghist, cursor):
    for row, length in enumerate(ends.tolist()):
        order = logits[row, :length].argsort(descending=True)[:2048]
        out[row] = -1
        out[row, :len(order)] = (table[row, order // 64] * 64 + order % 64).int()
    ghist.zero_()


def without_relu(q, kv, weights, *rest):
    logits(q, kv, weights.abs(), *rest)


def past_the_row(q, kv, weights, seqlens, table, out, ghist):
    logits(q, kv, weights, seqlens, table, out, ghist)
    out.as_strided(out.shape, out.stride(), out.storage_offset() + 8)[:] = 1


def next_page(logits, ends, table, *rest):
    select(logits, ends, table.roll(1, 1), *rest)


def least(logits, *rest):
    select(-logits, *rest)


def left(logits, ends, table, out, ghist, cursor):
    select(logits, ends, table, out, ghist, cursor)
    cursor[0, 3] = 1


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder with the package `sglang`; `planted` has its two functions."""
    jit = tmp_path / "sglang/kernels/jit"
    place = tmp_path / sglang_hip._LOADER.replace(".", "/")
    jit.mkdir(parents=True)
    place.parent.mkdir(parents=True)
    (jit / "utils.py").write_text(JIT)
    place.with_suffix(".py").write_text(LOADER)
    before = set(sys.modules)
    planted = types.SimpleNamespace(logits=logits, select=select)
    monkeypatch.setitem(sys.modules, "planted", planted)
    ffi = types.ModuleType("tvm_ffi")
    ffi.__spec__ = types.SimpleNamespace()
    ffi.from_dlpack = lambda handed: handed.tensor
    monkeypatch.setitem(sys.modules, "tvm_ffi", ffi)
    if "msgspec" not in sys.modules:
        named = types.ModuleType("msgspec")
        named.__spec__ = types.SimpleNamespace()
        monkeypatch.setitem(sys.modules, "msgspec", named)
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    for name in ("ROCM_HOME", "ROCM_PATH", "HIP_PATH", "SGLANG_JIT_CACHE_DIR"):
        monkeypatch.setenv(name, "")
    yield tmp_path, planted
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "sglang":
            del sys.modules[name]


def found(root, number, line=CASE, arch="gfx950"):
    with entered(arch):
        return sglang_hip.kernels(root)[number].judge(inputs_of(Case.parse(line)), arch)


@pytest.mark.parametrize("line", [CASE, CASE + ";data=ties.2", CASE + ";shared=64;pad=2"])
def test_sound_kernels_are_right(tree, line):
    assert [found(tree[0], number, line) for number in (0, 1)] == [[], []]


@pytest.mark.parametrize(("name", "plant", "property_id"), [
    ("logits", without_relu, "SP-06"), ("logits", past_the_row, "SP-08"),
    ("select", next_page, "SP-10"), ("select", least, "SP-11"), ("select", left, "SP-11")])
def test_a_planted_defect_fails_its_property(tree, name, plant, property_id):
    root, planted = tree
    setattr(planted, name, plant)
    wrong = found(root, ("logits", "select").index(name))
    assert [one.property for one in wrong] == [property_id]
    assert plant is not left or "1 counters are not 0 after the call" in wrong[0].what


def test_what_is_built_in_and_what_is_not_there_is_named(tree):
    root, _ = tree
    logit, select_ = sglang_hip.kernels(root)
    with pytest.raises(NotTakenError, match="heads is 64; built in is 32"):
        logit.taken(Case.parse("sparse1:1q1s9;block=64;layout=shuffle;k=2048"))
    with pytest.raises(NotTakenError, match="block is 16; built in is 64"):
        select_.taken(Case.parse("sparse1:1q1s9;heads=32;k=2048"))
    with pytest.raises(NotTakenError, match="for gfx950 alone"):
        found(root, 0, arch="gfx942")
    with pytest.raises(NotTakenError, match=r"no sglang.kernels.*loader; 0.5.22 is the first"):
        found(root / "elsewhere", 0)


def test_a_tensor_is_handed_over_as_one_of_rocm_with_its_type():
    for tensor, code in ((torch.zeros(3, 4), 2), (torch.zeros(5, dtype=torch.int32), 0),
                         (torch.zeros(5).to(torch.float8_e4m3fn), 10)):
        handed = sglang_hip._Handed(tensor)
        capsule = handed.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = pointer(capsule, b"dltensor")
        assert ctypes.c_void_p.from_address(at).value == tensor.data_ptr()
        assert np.array((ctypes.c_int32 * 3).from_address(at + 8)).tolist() == [10, 0, tensor.dim()]
        assert ctypes.c_uint8.from_address(at + 20).value == code
        assert ctypes.c_uint8.from_address(at + 21).value == 8 * tensor.element_size()
        assert handed.__dlpack_device__() == (10, 0)
