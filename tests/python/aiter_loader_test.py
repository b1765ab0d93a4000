"""The convention of AITER's loader, with the caller's side written here."""


import pytest

torch = pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")

import aiter_caller  # noqa: E402
import mla_testbed  # noqa: E402
from mla_testbed import aiter  # noqa: E402
from mla_testbed.aiter import headers  # noqa: E402

ROWS, HEADS, KEY, VALUE = 2, 16, 576, 512
KEYS = [70, 1, 333]


@pytest.fixture(params=["gfx942", "gfx950"])
def caller(request, tmp_path):
    with aiter_caller.stage_of(request.param, aiter_caller.write_tree(tmp_path)) as made:
        yield made


def test_enumerations_are_those_of_the_headers(caller):
    core = caller.core
    assert [(m.name, int(m)) for m in core.ActivationType] == [("No", -1), ("Silu", 0),
                                                               ("Gelu", 1)]
    assert int(core.MlaVersion.V40) == 1
    assert type(core.MlaVersion(0)) is core.MlaVersion
    assert core.MlaVersion.__doc__.startswith("Members:")
    assert core.kDefaultMxScaleRoundMode == 1


def test_an_older_tree_has_not_the_later_enumerations(tmp_path):
    include = headers.include_directory(aiter_caller.write_tree(tmp_path))
    assert list(headers.later(include)) == ["MlaVersion", "MxScaleRoundMode",
                                            "kDefaultMxScaleRoundMode", "MxDtype"]
    header = include / "aiter_enum.h"
    header.write_text(header.read_text().replace("MlaVersion", "Other"))
    (include / "mx_quant_utils.h").unlink()
    assert headers.later(include) == {}
    assert int(headers.enumeration(include, "aiter_enum.h", "ActivationType").No) == -1
    with pytest.raises(headers.HeaderError, match="no enum class MlaVersion"):
        headers.enumeration(include, "aiter_enum.h", "MlaVersion")


@pytest.mark.parametrize(("module", "name", "parameters"), [
    ("module_mla_metadata", "get_mla_metadata_v1", 26),
    ("module_ps_metadata", "get_ps_metadata_v1", 16),
    ("module_mla_reduce", "mla_reduce_v1", 9),
])
def test_the_first_line_of_a_doc_is_the_signature(caller, module, name, parameters):
    operation = getattr(caller.module(module), name)
    assert len(aiter_caller.signature_of(operation).parameters) == parameters


def test_a_module_that_is_not_replaced_is_named(caller):
    with pytest.raises(aiter.NotServedError, match="compiled module module_rmsnorm"):
        caller.module("module_rmsnorm")


def device(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype, device="cuda")


class Step:
    """A decode step of three requests, planned and with its operands."""

    def __init__(self, caller):
        self.caller = caller
        total = sum(KEYS)
        torch.manual_seed(3)
        self.q = torch.randn(3 * ROWS, HEADS, KEY, device="cuda").to(torch.bfloat16)
        self.kv = torch.randn(total, 1, 1, KEY, device="cuda").to(torch.bfloat16)
        self.qo = device([0, ROWS, 2 * ROWS, 3 * ROWS])
        self.kv_indptr = device([0, KEYS[0], KEYS[0] + KEYS[1], total])
        self.pages = torch.randperm(total, device="cuda").to(torch.int32)
        self.last = device([1, 1, 1])
        sizes = mla_testbed.decode_sizes(3, ROWS, HEADS, compute_units=8)
        self.plan = {name: torch.full(shape, -7, dtype=torch.int32, device="cuda")
                     for name, shape in sizes.shapes().items()}
        self.plan["work_meta_data"] = torch.zeros(2, dtype=torch.uint64, device="cuda")
        self.out = torch.full((3 * ROWS, HEADS, VALUE), float("nan"), dtype=torch.bfloat16,
                              device="cuda")

    def make_plan(self, **changes):
        p = {**self.plan, **changes}
        self.caller.call(
            "module_mla_metadata", "get_mla_metadata_v1", self.qo, self.kv_indptr, self.last,
            HEADS, 1, True, p["work_meta_data"], p["work_info_set"], p["work_indptr"],
            p["reduce_indptr"], p["reduce_final_map"], p["reduce_partial_map"],
            max_seqlen_qo=ROWS, uni_seqlen_qo=ROWS)

    def attend(self):
        n = self.plan["reduce_partial_map"].numel() * ROWS
        partial = torch.full((n, 1, HEADS, VALUE), float("nan"), device="cuda")
        lse = torch.full((n, 1, HEADS, 1), float("nan"), device="cuda")
        p = self.plan
        self.caller.call_library(
            "module_mla_asm", "mla_decode_stage1_asm_fwd", self.q, self.kv, self.qo,
            self.kv_indptr, self.pages, self.last, None, p["work_meta_data"], p["work_indptr"],
            p["work_info_set"], ROWS, 1, 1, KEY ** -0.5, partial, lse, self.out, None, None, None,
            None, 1, 0, None, 0, True)
        self.caller.call(
            "module_mla_reduce", "mla_reduce_v1", partial, lse, p["reduce_indptr"],
            p["reduce_final_map"], p["reduce_partial_map"], ROWS, 0, self.out, None)

    def reference(self):
        rows = []
        cache = self.kv.cpu().double()[self.pages.cpu().long()].reshape(-1, KEY)
        q = self.q.cpu().double()
        begin = 0
        for request, keys in enumerate(KEYS):
            k = cache[begin:begin + keys]
            begin += keys
            for row in range(ROWS):
                seen = keys - (ROWS - 1 - row)
                if seen <= 0:
                    rows.append(torch.zeros(HEADS, VALUE, dtype=torch.float64))
                    continue
                scores = q[request * ROWS + row] @ k[:seen].T * KEY ** -0.5
                rows.append(torch.softmax(scores, dim=-1) @ k[:seen, :VALUE])
        return torch.stack(rows)


def test_a_plan_stage_1_and_the_merge_give_dense_attention(caller):
    step = Step(caller)
    step.make_plan()
    assert int(step.plan["reduce_indptr"][-1].item()) > 0  # something is merged
    step.attend()
    torch.testing.assert_close(step.out.cpu().double(), step.reference(), rtol=2e-2, atol=2e-2)


def test_a_plan_that_was_never_made_is_found_by_its_addresses(caller):
    step = Step(caller)
    with pytest.raises(RuntimeError, match=r"work_meta_data\[0\] is 0, which is not the address"):
        step.attend()


def test_a_work_that_leaves_the_index_list_is_named(caller):
    step = Step(caller)
    step.make_plan()
    step.plan["work_info_set"][0, 5] += 10_000
    with pytest.raises(RuntimeError, match=r"work 0 of slot 0: entries \[0, \d+\) are not"):
        step.attend()
    assert step.out.isnan().all()


def test_rows_outside_of_q_are_named(caller):
    step = Step(caller)
    step.make_plan()
    step.plan["work_info_set"][0, 3] = 2**31 - 1
    with pytest.raises(RuntimeError, match=r"work 0 of slot 0: query rows \[0, 2147483647\)"):
        step.attend()


def test_a_page_outside_of_the_cache_is_named(caller):
    step = Step(caller)
    step.make_plan()
    step.pages[3] = sum(KEYS)
    with pytest.raises(RuntimeError, match=rf"entry 3 of kv_indices leads to .* {sum(KEYS)},"):
        step.attend()


def test_a_failed_call_leaves_no_error_for_the_next_one(caller):
    step = Step(caller)
    with pytest.raises(RuntimeError, match="work_meta_data"):
        step.attend()
    step.make_plan()
    step.attend()
    assert not step.out.isnan().any()


def test_a_host_tensor_is_refused_by_its_parameter(caller):
    step = Step(caller)
    with pytest.raises(mla_testbed.TensorError, match="reduce_indptr.*device"):
        step.make_plan(reduce_indptr=step.plan["reduce_indptr"].cpu())
    step.make_plan()
    step.pages = step.pages.cpu()
    with pytest.raises(RuntimeError, match="kv_page_indices.*device"):
        step.attend()


def test_a_merge_without_a_kernel_is_refused_by_its_shape(caller):
    with pytest.raises(mla_testbed.UnsupportedError, match="no kernel for 3 heads of 512 values"):
        caller.call(
            "module_mla_reduce", "mla_reduce_v1", torch.zeros(4, 3, 512, device="cuda"),
            torch.zeros(4, 3, device="cuda"), device([0, 2]), device([[0, 1]]), device([0, 1]),
            1, 0, torch.zeros(1, 3, 512, dtype=torch.bfloat16, device="cuda"), None)


def test_splits_of_a_step_without_a_plan_are_its_key_tiles(caller):
    q = torch.randn(1, HEADS, KEY, device="cuda").to(torch.bfloat16)
    kv = torch.randn(200, 1, 1, KEY, device="cuda").to(torch.bfloat16)
    out = torch.empty(1, HEADS, VALUE, dtype=torch.bfloat16, device="cuda")
    partial = torch.full((1, 3, HEADS, VALUE), float("nan"), device="cuda")
    lse = torch.full((1, 3, HEADS, 1), float("nan"), device="cuda")
    caller.call_library(
        "module_mla_asm", "mla_decode_stage1_asm_fwd", q, kv, device([0, 1]), device([0, 200]),
        torch.arange(200, dtype=torch.int32, device="cuda"), device([1]), device([0, 3]), None,
        None, None, 1, 1, 1, KEY ** -0.5, partial, lse, out, None, None, None, None, 1, 0, None,
        0, True)
    k = kv.cpu().double().reshape(-1, KEY)
    scores = (q.cpu().double()[0] @ k.T) * KEY ** -0.5
    # Tiles of 64 keys: split 0 has the tiles 0 and 3.
    kept = torch.cat([scores[:, 0:64], scores[:, 192:200]], dim=-1)
    torch.testing.assert_close(lse.cpu().double()[0, 0, :, 0], torch.logsumexp(kept, dim=-1),
                               rtol=1e-2, atol=1e-2)
