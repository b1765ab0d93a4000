"""AITER's own modules: when they are built, what they may touch, what the ports say beside them.

The modules here are small libraries of our own text that hipcc of the stand-in compiles; a checkout
of AITER's is judged by tests/python/aiter.sh.
"""

import ctypes
import inspect
import pathlib
import shutil
import subprocess
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="own modules need torch, which is not installed")

from mla_testbed import rocm, world  # noqa: E402
from mla_testbed.aiter import imports, session  # noqa: E402
from mla_testbed.aiter.own import build, cache, choice, compare  # noqa: E402
from mla_testbed.aiter.own.runtime import runtime  # noqa: E402
from mla_testbed.errors import FaultError, LibraryError  # noqa: E402


def hipcc():
    try:
        found = rocm.home() / "bin" / "hipcc"
    except LibraryError as e:
        pytest.skip(str(e))
    if not any(shutil.which(f"clang++-{n}") for n in range(20, 25)):
        pytest.skip("there is no clang++ from 20 on (Debian: clang-22 lld-22)")
    return found


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GPU_ARCHS", "gfx942")


class Tree:
    """A source tree with one module, and a build function like the one of AITER's JIT."""

    def __init__(self, folder):
        self.root = folder / "tree"
        (self.root / "csrc").mkdir(parents=True)
        self.source = self.root / "csrc" / "one.cu"
        self.header = self.root / "csrc" / "one.h"
        self.source.write_text("source")
        self.header.write_text("header")
        self.place = folder / "stage" / "jit"
        self.place.mkdir(parents=True)
        self.built = 0
        self.error = None
        self.core = types.SimpleNamespace(build_module=self.build)

    def build(self, name, *_, **__):
        if self.error is not None:
            raise RuntimeError("failed") from RuntimeError(self.error)
        self.built += 1
        (self.place / f"{name}.so").unlink(missing_ok=True)
        (self.place / f"{name}.so").write_text(self.source.read_text() + self.header.read_text())
        read = pathlib.Path(build.os.environ["MLA_TESTBED_DEPENDENCIES"])
        (read / "one.d").write_text(f"object: {self.source} \\\n {self.header}\n")

    def module(self):
        return (self.place / "module_one.so").read_text()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    hipcc()
    made = Tree(tmp_path)
    monkeypatch.setattr(session, "aiter_tree", lambda: made.root)
    build.replace(made.core, lambda name: name == "module_one", made.place)
    return made


def test_a_module_is_built_once_and_anew_when_a_file_that_it_read_changes(tree):
    for _ in range(2):
        tree.core.build_module("module_one", [str(tree.source)])
        assert (tree.built, tree.module()) == (1, "sourceheader")
    tree.header.write_text("HEADER")
    tree.core.build_module("module_one", [str(tree.source)])
    assert (tree.built, tree.module()) == (2, "sourceHEADER")
    tree.header.write_text("header")  # as it was: both are kept
    tree.core.build_module("module_one", [str(tree.source)])
    assert (tree.built, tree.module()) == (2, "sourceheader")


def test_two_that_need_the_same_module_at_once_build_it_once(tree):
    real = tree.core.build_module
    slow = tree.build

    def build_slowly(*args, **kwargs):
        time.sleep(0.3)
        slow(*args, **kwargs)

    tree.core.build_module = build_slowly
    build.replace(tree.core, lambda name: name == "module_one", tree.place)
    assert tree.core.build_module is not real
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: tree.core.build_module("module_one", [str(tree.source)]), range(2)))
    assert (tree.built, tree.module()) == (1, "sourceheader")


@pytest.fixture
def told(monkeypatch):
    """What counts for an answer, of the tree."""
    names: list[str] = []
    monkeypatch.setattr(cache, "LISTENERS", [names.append])
    return names


def test_a_module_made_from_manifests_is_built_anew_for_those_of_its_family(tree, told):
    script = tree.root / "hsa" / "codegen.py"
    for family in ("one", "two"):
        (script.parent / "gfx942" / family).mkdir(parents=True)
        (script.parent / "gfx942" / family / "x.csv").write_text("1")
    script.write_text("")
    for changed, built in ((None, 1), ("two", 1), ("one", 2)):
        if changed is not None:
            (script.parent / "gfx942" / changed / "x.csv").write_text("2")
        tree.core.build_module("module_one", [str(tree.source)],
                               blob=f"{script} -m one --output {{}}")
        assert tree.built == built
    assert {"hsa/codegen.py", "hsa/gfx942/one/x.csv", "csrc/one.cu"} <= set(told)
    assert "hsa/gfx942/two/x.csv" not in told


def test_other_flags_or_another_architecture_are_another_module(tree, monkeypatch):
    tree.core.build_module("module_one", [str(tree.source)], ["-O3"])
    tree.core.build_module("module_one", [str(tree.source)], ["-O2"])
    assert tree.built == 2
    monkeypatch.setenv("GPU_ARCHS", "gfx950")
    tree.core.build_module("module_one", [str(tree.source)], ["-O2"])
    assert tree.built == 3


def test_another_checkout_with_the_same_files_shares_the_module(tree, tmp_path, monkeypatch):
    tree.core.build_module("module_one", [str(tree.source)])
    shutil.copytree(tree.root, tmp_path / "second")
    monkeypatch.setattr(session, "aiter_tree", lambda: tmp_path / "second")
    tree.core.build_module("module_one", [str(tmp_path / "second" / "csrc" / "one.cu")])
    assert tree.built == 1


def test_a_module_that_does_not_compile_is_refused_with_the_compilers_first_error(tree, told):
    tree.error = "ninja\nx.cuh:3:2: error: edited\ny: error: second\n"
    with pytest.raises(imports.NotServedError, match=r"module_one does .* x.cuh:3:2: error: ed"):
        tree.core.build_module("module_one", [])
    assert told == ["csrc"]  # any file of it may be why


def test_a_module_tells_the_files_that_it_was_made_from_when_it_is_built_and_when_it_is_found(
        tree, told):
    for _ in range(2):
        tree.core.build_module("module_one", [str(tree.source)])
        assert sorted(told) == ["csrc/one.cu", f"csrc/{tree.header.name}"]
        told.clear()


def test_a_second_question_gets_the_compilers_error_again_and_builds_nothing(tree):
    tree.error = "x.cuh:3:2: error: edited\n"
    with pytest.raises(imports.NotServedError, match="error: edited"):
        tree.core.build_module("module_one", ["a"])
    tree.error = "[Errno 2] No such file or directory: 'module_one.so'"  # as torch leaves it
    with pytest.raises(imports.NotServedError, match="error: edited"):
        tree.core.build_module("module_one", ["a"])
    tree.error = None
    tree.core.build_module("module_one", ["b"])
    assert tree.built == 1


def test_a_module_that_is_not_own_or_made_of_composable_kernel_is_refused(tree):
    with pytest.raises(imports.NotServedError, match="module_two"):
        tree.core.build_module("module_two", [])
    with pytest.raises(imports.NotServedError, match="Composable Kernel"):
        tree.core.build_module("module_one", ["csrc/py_itfs_ck/x.cu"])
    assert tree.built == 0


def test_a_damaged_record_of_what_was_read_is_no_hit(tree):
    tree.core.build_module("module_one", [str(tree.source)])
    for told in cache.directory().rglob("read.json"):
        told.write_text("{")
    tree.core.build_module("module_one", [str(tree.source)])
    assert tree.built == 2


def known_tree(tmp_path, changed):
    """A tree whose files have the sums of the table, but for those of one module."""
    found = types.SimpleNamespace(
        changed={} if changed is None else {"csrc/file": (changed,)})
    (tmp_path / "csrc").mkdir(exist_ok=True)
    return found


@pytest.mark.parametrize(("changed", "own"), [
    (None, set()),
    ("module_mla_asm", {"module_mla_asm"}),
    ("module_mla_reduce", {"module_mla_reduce", "module_mla_metadata", "module_aiter_core",
                           "module_opus_mla"}),
])
def test_auto_builds_what_differs_and_what_goes_with_it(tmp_path, monkeypatch, changed, own):
    monkeypatch.setattr(choice.sources, "compare", lambda *_: known_tree(tmp_path, changed))
    monkeypatch.setattr(choice, "unmet", lambda: "")
    made = choice.choose("auto", tmp_path)
    assert all(made.own(module) for module in own)
    assert made.own("module_cache") == ("module_mla_reduce" in own)
    assert bool(made.why) == bool(own)
    assert (changed or "") in made.why


def test_what_cannot_be_built_is_said_and_stays_ported(tmp_path, monkeypatch):
    monkeypatch.setattr(choice.sources, "compare",
                        lambda *_: known_tree(tmp_path, "module_mla_reduce"))
    monkeypatch.setattr(choice, "unmet", lambda: "ninja is not installed")
    assert "ninja is not installed" in choice.choose("auto", tmp_path).why
    assert not choice.choose("auto", tmp_path).own("module_mla_reduce")
    with pytest.raises(LibraryError, match="ninja"):
        choice.choose("own", tmp_path)
    with pytest.raises(ValueError, match="'mine'"):
        choice.choose("mine", tmp_path)


KERNELS = """
#include <hip/hip_runtime.h>
__global__ void put(int* out, int n, int value) {
  if (int(threadIdx.x) < n) out[threadIdx.x] = value;
}
extern "C" int fill(int* out, int n, int value) {
  put<<<1, 64>>>(out, n, value);
  return hipGetLastError();
}
"""


@pytest.fixture
def fill(tmp_path):
    """An operation fill(out, n, value) of a library that was compiled now, in a world."""
    (tmp_path / "fill.hip").write_text(KERNELS)
    subprocess.run([hipcc(), "-shared", "-fPIC", "--offload-arch=gfx942", "fill.hip", "-o",
                    "libfill.so"], cwd=tmp_path, check=True)
    with world.entered(world.machine("gfx942")):
        of = runtime()
        library = ctypes.CDLL(str(tmp_path / "libfill.so"))

        def operation(out: torch.Tensor, n: int, value: int) -> int:
            return library.fill(ctypes.c_void_p(out.data_ptr()), n, value)

        yield of.around(operation, inspect.signature(operation), "module_fill", "fill")


def test_a_kernel_writes_tensors_of_the_device(fill):
    out = torch.zeros(64, dtype=torch.int32, device="cuda")
    view = out[8:]
    fill(view, 40, 7)
    assert out.tolist() == [0] * 8 + [7] * 40 + [0] * 16
    assert "module_fill" in runtime().lines()[0]


def test_a_fault_is_an_exception_with_operation_kernel_and_parameter(fill):
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    with pytest.raises(FaultError, match=r"module_fill.fill:(.|\n)*put(.|\n)*out"):
        fill(out, 17, 7)
    fill(out, 16, 8)  # it is told once
    assert out.tolist() == [8] * 16


def test_a_tensor_of_the_host_or_one_that_is_gone_is_out_of_bounds(fill):
    with pytest.raises(FaultError, match="out-of-bounds"):
        fill(torch.zeros(64, dtype=torch.int32), 64, 7)
    gone = torch.zeros(4096, dtype=torch.int32, device="cuda")
    fill(gone, 1, 1)
    address = gone.data_ptr()
    del gone
    stale = types.SimpleNamespace(data_ptr=lambda: address)
    with pytest.raises(FaultError, match="out-of-bounds"):
        fill(stale, 1, 1)


def call_of(port, **tensors):
    def operation(tensors_in, out):  # noqa: ARG001 the names are what is bound
        return None

    bound = inspect.signature(operation).bind(**tensors)
    return compare.Call("module_mla_metadata", "plan", port, bound)


def words(tensor):
    return (ctypes.c_int32 * tensor.numel).from_address(tensor.ptr)


def test_a_port_that_writes_another_number_is_told_with_index_and_both_values():
    found = compare.Differences()
    seen, out = torch.arange(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)

    def port(tensors_in, result):
        words(result)[2] = words(tensors_in)[3] + 5

    call = call_of(port, tensors_in=seen, out=out)
    out[2] = 9
    call.compare(found)
    assert found.failures == [
        "module_mla_metadata.plan: out[2] is 9, of the port 8 (1 of 4 differ)"]
    call = call_of(port, tensors_in=seen, out=out)
    out[2] = 8
    call.compare(found)
    assert (found.compared, len(found.failures)) == (2, 1)


def test_addresses_are_the_same_where_they_name_the_same_place():
    seen, out = torch.zeros(4, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    for offset, failures in ((4, 0), (8, 1)):
        found = compare.Differences()

        def port(tensors_in, result, offset=offset):
            (ctypes.c_int64 * 1).from_address(result.ptr)[0] = tensors_in.ptr + offset

        call = call_of(port, tensors_in=seen, out=out)
        out[0] = seen.data_ptr() + 4
        call.compare(found)
        assert len(found.failures) == failures


def test_a_merge_may_differ_by_its_bound_and_not_by_more():
    partial = torch.full((2, 1, 4), 3.0)
    tiles = torch.tensor([0, 2], dtype=torch.int32)
    unit = 3.0 * 2 ** -24
    for error, failures in ((8 * unit, 0), (200 * unit, 1)):
        found = compare.Differences()

        def operation(partial_output, reduce_indptr, final_output):  # noqa: ARG001
            return None

        def port(*_):
            return None

        final = torch.full((1, 1, 4), 3.0)
        bound = inspect.signature(operation).bind(partial, tiles, final)
        call = compare.Call("module_mla_reduce", "mla_reduce_v1", port, bound)
        final += error
        call.compare(found)
        assert len(found.failures) == failures


def test_planners_and_the_reduce_have_ports_to_be_compared_with():
    for module in compare.COMPARED:
        name = {"module_mla_metadata": "get_mla_metadata_v1",
                "module_ps_metadata": "get_ps_metadata_v1",
                "module_mla_reduce": "mla_reduce_v1"}[module]
        assert compare.twin(module, name) is not None
    assert compare.twin("module_cache", "concat_and_cache_mla") is None
