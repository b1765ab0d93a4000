"""What five reports of vLLM were about, planted around a whole vLLM by mechanism; and defects of an
indexer.

    MLA_TESTBED_E2E_PLANT=vllm_e2e_plants.py::block_is_a_token \
      mla-testbed-engines e2e bf16 --engine vllm

A function gets the engine before it starts and changes one thing: what a builder returned, or what
a function is called with. It imitates the old behaviour, and is not the old code.

    python vllm_e2e_plants.py GROUP

Prints what each plant of a group leads to, as JSON lines: one import, and a process for each plant.
"""

import importlib
import sys

MLA = "vllm.v1.attention.backends.mla.rocm_aiter_mla"
FA = "vllm.v1.attention.backends.rocm_aiter_fa"


def builder():
    return importlib.import_module(MLA).AiterMLAMetadataBuilder


def after_decode(change):
    """Changes what the builder made of a step's decodes."""
    real = builder()._build_decode

    def build(self, *rest, **named):
        made = real(self, *rest, **named)
        change(self, made)
        return made

    builder()._build_decode = build


def around_planner(change):
    """Calls `change(planner, arguments, keywords)` in place of the planner."""
    import aiter  # noqa: PLC0415 where vLLM is

    real = aiter.get_mla_metadata_v1
    aiter.get_mla_metadata_v1 = lambda *rest, **named: change(real, list(rest), named)


def single_rows(whole):
    """#39616: without a graph, qo_indptr is that of requests with one row."""
    import torch  # noqa: PLC0415

    def change(self, made):
        if made.max_qo_len > 1:
            made.qo_indptr = torch.arange(made.qo_indptr.numel(), dtype=torch.int32, device="cuda")

    after_decode(change)


def block_is_a_token(whole):
    """#39616: a block's number is taken for a token's."""
    after_decode(lambda self, made: made.paged_kv_indices.floor_divide_(16))


def earlier_plan(whole):
    """#36574: from the third step on, the plan is that of an earlier one."""
    calls = []

    def change(real, rest, named):
        if whole.watch.on:
            calls.append(1)
        if len(calls) < 3:
            real(*rest, **named)

    around_planner(change)


def plan_in_new_buffers(whole):
    """#36574: each step plans in buffers of its own, and the graph reads those of its capture."""
    import torch  # noqa: PLC0415

    def change(real, rest, named):
        if whole.watch.on:
            rest[6:12] = [torch.zeros_like(one) for one in rest[6:12]]
        real(*rest, **named)

    around_planner(change)


def planned_for_half(whole):
    """#38615: the plan is that of the model's heads, the kernel gets padded ones."""

    def change(real, rest, named):
        rest[3] //= 2
        real(*rest, **named)

    around_planner(change)


def prefix_of_repeated_heads(whole):
    """#38615: of heads that were repeated, the first ones are read back."""
    importlib.import_module(MLA).AiterMLAHelper.get_mla_unpadded_o = staticmethod(
        lambda heads, o: o[:, :heads])


def one_staging_buffer(whole):
    """#42509: FP8 prefill plans of all steps are copied from one pinned buffer; no event."""
    real = builder()._build_fp8_prefill_ps_metadata

    class NoEvent:
        def synchronize(self):
            pass

        record = synchronize

    def build(self, *rest, **named):
        self._fp8_ps_slot, self._fp8_ps_staging_free = 0, [NoEvent(), NoEvent()]
        return real(self, *rest, **named)

    builder()._build_fp8_prefill_ps_metadata = build


def first_request_only(whole):
    """#42509: the FP8 prefill plan is that of the first request."""
    import aiter  # noqa: PLC0415

    real = aiter.get_ps_metadata_v1

    def change(rows, keys, lengths, *rest, **named):
        real(rows[:2], keys[:2], lengths[:1], *rest, **named)

    aiter.get_ps_metadata_v1 = change


def in_extends(change):
    """Changes the chunks of a step's extends (#41942)."""
    made_by = importlib.import_module(FA).AiterFlashAttentionMetadataBuilder
    real = made_by.build

    def build(self, *rest, **named):
        made = real(self, *rest, **named)
        if made.extend_metadata is not None:
            change(made.extend_metadata.chunk_context_metadata)
        return made

    made_by.build = build


def owner_of_tokens(whole):
    """#41942: each gathered key belongs to the first request."""
    in_extends(lambda chunks: setattr(chunks, "token_to_batch", chunks.token_to_batch * 0))


def chunk_starts(whole):
    """#41942: chunks start one key late."""
    in_extends(lambda chunks: setattr(chunks, "chunk_starts", chunks.chunk_starts + 1))


def conversion_of_next_request(whole):
    """Selected positions become rows of the cache by the block table of the next request."""
    module = importlib.import_module(MLA + "_sparse")
    real = module.triton_convert_req_index_to_global_index
    module.triton_convert_req_index_to_global_index = lambda owners, table, *rest, **named: real(
        (owners + 1) % table.shape[0], table, *rest, **named)


def one_key_too_few(whole):
    """top-k leaves out the last key of a row."""
    topk = importlib.import_module("mla_testbed.engines.vllm.topk")
    real = topk._select

    def fewer(logits, starts, ends, indices, k):
        real(logits, starts, ends, indices, k)
        last = (indices >= 0).sum(1, keepdim=True) - 1
        indices.scatter_(1, last.clamp(min=0), -1)

    topk._select = fewer


def index_key_of_next_row(whole):
    """The indexer's cache has each key, with its scale, in the slot of the next row."""
    module = importlib.import_module("vllm.models.deepseek_v32.amd.rocm")
    real = module.fused_norm_rope

    def shifted(*rest, slot_mapping=None, **named):
        other = None if slot_mapping is None else slot_mapping.roll(1)
        return real(*rest, slot_mapping=slot_mapping, indexer_slot_mapping=other, **named)

    module.fused_norm_rope = shifted


def before_layers_without_indexer(whole, change):
    """Calls `change(impl, metadata, layer)` before a layer that takes a selection attends."""
    impl = importlib.import_module(MLA + "_sparse").ROCMAiterMLASparseImpl
    real = impl.forward_mqa

    def forward(self, q, cache, metadata, layer):
        if whole.watch.on and not self.owns_indexer:
            change(self, metadata, layer)
        return real(self, q, cache, metadata, layer)

    impl.forward_mqa = forward


def list_of_step_before(whole):
    """What says that a layer's list is made outlives the step."""
    made = set()

    def change(impl, metadata, layer):
        if layer.layer_name in made:
            metadata.remapped_buf = impl.topk_indices_buffer
            metadata.remapped_epoch = impl.index_epoch
        made.add(layer.layer_name)

    before_layers_without_indexer(whole, change)


def padding_over_lists(whole):
    """Rows of padding write their row 0 over the first row's list."""
    module, taking = importlib.import_module(MLA + "_sparse"), []
    real = module.triton_convert_req_index_to_global_index

    def convert(owners, table, indices, sums, out, **named):
        made = real(owners, table, indices, sums, out, **named)
        if taking:
            taking.clear()
            out[:8].fill_(0)
        return made

    module.triton_convert_req_index_to_global_index = convert
    before_layers_without_indexer(whole, lambda *rest: taking.append(1))


def in_layers_without_indexer(change):
    """Calls `change(buffer, rows)` with the selection after such a layer's first kernel."""
    module = importlib.import_module("vllm.models.deepseek_v32.amd.rocm")
    real = module.fused_norm_rope

    def norm(positions, *rest, has_indexer=True, **named):
        made = real(positions, *rest, has_indexer=has_indexer, **named)
        if not has_indexer:
            change(rest[13], len(positions))
        return made

    module.fused_norm_rope = norm


def cleared_in_every_layer(whole):
    """The kernel that clears the selection does so in layers without an indexer too."""
    in_layers_without_indexer(lambda buffer, rows: buffer[:rows].fill_(-1))


def selection_of_next_request(whole):
    """Another request's rows come into the selection between two layers."""
    in_layers_without_indexer(
        lambda buffer, rows: buffer[:rows].copy_(buffer[:rows].roll(1, 0)))


def drafts_see_later_rows(whole):
    """Each verified row is indexed with the number of keys of its request's last row."""
    made_by = importlib.import_module(
        "vllm.v1.attention.backends.mla.indexer").DeepseekV32IndexerMetadataBuilder
    real = made_by.build

    def build(self, *rest, **named):
        made = real(self, *rest, **named)
        if made.decode is not None:
            rows = made.decode.seq_lens.view(-1, _DRAFTED + 1)
            rows.copy_(rows.amax(1, keepdim=True).expand_as(rows).clone())
        return made

    made_by.build = build


#: Group -> plants of one machine and one model, each with its scenario.
_MLA = "e2e1:requests=3;tokens=6;longest=40;layers=1"
_FP8 = "e2e1:arch=gfx950;cache=fp8;requests=4;tokens=4;longest=70;layers=1;late=1"
#: Two steps, each with a whole prompt: a prompt with a cached part has no FP8 plan.
_STAGED = "e2e1:arch=gfx950;cache=fp8;requests=2;tokens=1;longest=48;layers=1;late=1;chunk=48"
_FA = "e2e1:model=llama;heads=8;requests=3;tokens=6;longest=60;layers=1;chunk=24;prefix=1"
_DSA = "e2e1:arch=gfx950;model=dsa;requests=2;tokens=3;longest=150;layers=1"
_DRAFTED = 1
_DSA_MTP = f"{_DSA};spec=mtp;draft={_DRAFTED}"
_DSA_SHARE = "e2e1:arch=gfx950;model=dsa;requests=2;tokens=3;longest=150;layers=2;share=2"
GROUPS = {
    "dsa-share": {
        "none": _DSA_SHARE,
        "list_of_step_before": _DSA_SHARE,
        "padding_over_lists": _DSA_SHARE,
        "cleared_in_every_layer": _DSA_SHARE,
        "selection_of_next_request": _DSA_SHARE},
    "dsa-mtp": {
        "none": _DSA_MTP,
        "drafts_see_later_rows": _DSA_MTP},
    "dsa": {
        "none": _DSA,
        "conversion_of_next_request": _DSA,
        "one_key_too_few": _DSA,
        "index_key_of_next_row": _DSA},
    "mla": {
        "none": _MLA,
        "block_is_a_token": _MLA,
        "earlier_plan": _MLA,
        "single_rows": _MLA + ";spec=mtp;draft=3",
        "plan_in_new_buffers": _MLA + ";graphs=1",
        "planned_for_half": _MLA,
        "prefix_of_repeated_heads": _MLA + ";heads=8"},
    "fp8": {
        "none": _STAGED,
        "one_staging_buffer": _STAGED,
        "first_request_only": _FP8},
    "fa": {
        "none": _FA,
        "owner_of_tokens": _FA,
        "chunk_starts": _FA},
}


def main(group: str) -> None:
    """Serves each scenario of a group in a fork of this process."""
    import e2e_forks  # noqa: PLC0415
    from mla_testbed.engines.vllm import whole  # noqa: PLC0415

    e2e_forks.serve(whole, globals(), GROUPS[group],
                    lambda: importlib.import_module("vllm.entrypoints.llm"))


if __name__ == "__main__":
    main(sys.argv[1])
