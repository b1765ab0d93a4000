#include "core/engine/fa/builder.hpp"

#include <memory>
#include <string>
#include <utility>

#include "core/say.hpp"

namespace mla::fa {
namespace {

using device::DeviceAccess;
using device::DeviceBuffer;
using device::DeviceHeap;
using device::DeviceView;
using device::Stream;

// A list of the host on its way to the device. The second operation holds the source until the
// first has read it.
DeviceBuffer<std::int32_t> upload(const char* name, std::vector<std::int32_t> list,
                                  DeviceHeap& heap, Stream& stream) {
  const auto source = std::make_shared<const std::vector<std::int32_t>>(std::move(list));
  DeviceBuffer<std::int32_t> target(heap, name, source->size());
  stream.copy_to_device<std::int32_t>(name, *source, target.view());
  stream.launch(say("release the source of ", name), [source](const DeviceAccess&) {});
  return target;
}

// The entries of one run, starting at 0: a kernel subtracts, because the host would have to wait
// for the first entry.
DeviceBuffer<std::int32_t> rebased(const char* name, DeviceView<std::int32_t> run, DeviceHeap& heap,
                                   Stream& stream) {
  DeviceBuffer<std::int32_t> target(heap, name, run.size());
  stream.launch(name, [run, to = target.view()](const DeviceAccess& access) {
    const auto from = run.on(access);
    const auto out = to.on(access);
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = from[i] - from[0];
  });
  return target;
}

DeviceView<std::int32_t> run_of(DeviceView<std::int32_t> query_start_loc, Requests first,
                                Requests count) {
  return query_start_loc.subview(static_cast<std::size_t>(first.count()),
                                 static_cast<std::size_t>(count.count()) + 1);
}

std::size_t workspace_elements(std::int64_t tokens, const BuilderOptions& options) {
  return static_cast<std::size_t>(2 * tokens * options.kv_heads.count() * options.head_dim);
}

SlidingWindow upload_window(WindowPlan plan, const BuilderOptions& options, DeviceHeap& heap,
                            Stream& stream) {
  SlidingWindow w;
  w.swa_cu_seqlens = upload("swa_cu_seqlens", std::move(plan.cu_seqlens), heap, stream);
  w.swa_seq_starts = upload("swa_seq_starts", std::move(plan.seq_starts), heap, stream);
  w.swa_token_to_batch = upload("swa_token_to_batch", std::move(plan.token_to_batch), heap, stream);
  w.swa_max_seqlens = plan.max_seqlens;
  w.swa_total_tokens = plan.total_tokens;
  w.swa_workspace = DeviceBuffer<std::uint16_t>(heap, "swa_workspace",
                                                workspace_elements(plan.total_tokens, options));
  return w;
}

ChunkContext upload_chunks(ChunkPlan plan, DeviceView<std::uint16_t> workspace, DeviceHeap& heap,
                           Stream& stream) {
  ChunkContext c;
  c.workspace = workspace;
  c.cu_seq_lens_chunk = upload("cu_seq_lens_chunk", std::move(plan.cu_seq_lens), heap, stream);
  c.chunk_starts = upload("chunk_starts", std::move(plan.chunk_starts), heap, stream);
  c.token_to_batch = upload("token_to_batch", std::move(plan.token_to_batch), heap, stream);
  c.max_seq_lens = std::move(plan.max_seq_lens);
  c.num_chunks = plan.num_chunks;
  c.total_token_per_batch = std::move(plan.total_token_per_batch);
  return c;
}

MaybeError check_size(const char* what, std::size_t have, std::size_t need) {
  if (have == need) return std::nullopt;
  return Error{ErrorCode::refused, say(what, " has ", have, " entries, the step needs ", need),
               "BUG-047"};
}

}  // namespace

BuilderBuffers MetadataBuilder::allocate(DeviceHeap& heap) const {
  return {DeviceBuffer<std::uint16_t>(heap, "extend_workspace",
                                      workspace_elements(options_.workspace_tokens, options_))};
}

MaybeError MetadataBuilder::check(const StepInput& in) {
  const std::size_t requests = in.qo_lens.size();
  std::int64_t rows = 0;
  for (const std::int64_t q : in.qo_lens) rows += q;
  if (rows > in.num_actual_tokens.count())
    return Error{ErrorCode::refused, say("a step of ", in.num_actual_tokens.count(), " rows has ",
                                         rows, " rows in its requests")};
  if (MaybeError bad = check_size("query_start_loc", in.query_start_loc.size(), requests + 1))
    return bad;
  if (MaybeError bad = check_size("seq_lens", in.seq_lens.size(), requests)) return bad;
  return check_size("slot_mapping", in.slot_mapping.size(),
                    static_cast<std::size_t>(in.num_actual_tokens.count()));
}

HostSeqLens MetadataBuilder::fetch_seq_lens(const StepInput& input, Stream& stream) const {
  if (all_decodes(input.qo_lens, options_.threshold)) return HostSeqLens::absent();
  std::vector<std::int32_t> lengths(input.seq_lens.size());
  stream.copy_to_host("seq_lens", input.seq_lens, std::span(lengths));
  return HostSeqLens::copied({lengths.begin(), lengths.end()});
}

ThreeWaySplit MetadataBuilder::split(const StepInput& input, const HostSeqLens& kv_lens) const {
  const auto with = [&](std::span<const std::int64_t> lengths) {
    return split_decodes_prefills_and_extends({.qo_lens = input.qo_lens,
                                               .kv_lens = lengths,
                                               .threshold = options_.threshold,
                                               .num_rows = input.num_actual_tokens});
  };
  // Without lengths nothing is longer than the threshold, so none is read.
  return kv_lens.visit(with, [&] { return with({}); });
}

Result<StepParts> MetadataBuilder::plan(const StepInput& input, const ThreeWaySplit& split,
                                        const HostSeqLens& kv_lens) const {
  return plan_parts({.qo_lens = input.qo_lens,
                     .split = split,
                     .window = options_.window,
                     .workspace_tokens = options_.workspace_tokens},
                    kv_lens);
}

Metadata MetadataBuilder::assemble(const StepInput& input, StepParts parts,
                                   const BuilderBuffers& buffers, DeviceHeap& heap,
                                   Stream& stream) const {
  const ThreeWaySplit& s = parts.split;
  Metadata md;
  md.num_actual_tokens = input.num_actual_tokens;
  md.num_decodes = s.decodes;
  md.num_decode_tokens = s.decode_rows;
  md.num_extends = s.extends;
  md.num_extend_tokens = s.extend_rows;
  md.num_prefills = s.prefills;
  md.slot_mapping = input.slot_mapping;
  md.block_table = input.block_table;
  md.seq_lens = input.seq_lens;
  md.query_start_loc = input.query_start_loc;
  md.causal = input.causal;
  if (s.decodes > Requests(0)) md.decode = DecodePart{parts.decode_max_query_len};
  if (parts.extend) {
    ExtendPart& extend = md.extend.emplace();
    extend.max_query_len = parts.extend->lengths.max_query_len;
    extend.max_seq_len = parts.extend->lengths.max_seq_len;
    extend.query_start_loc =
        rebased("extend query_start_loc", run_of(input.query_start_loc, s.decodes, s.extends), heap,
                stream);
    extend.chunk_context = upload_chunks(std::move(parts.extend->chunks),
                                         buffers.extend_workspace.view(), heap, stream);
    if (parts.extend->window)
      extend.chunk_context.swa_metadata =
          upload_window(std::move(*parts.extend->window), options_, heap, stream);
  }
  if (parts.prefill) {
    PrefillPart& prefill = md.prefill.emplace();
    prefill.max_query_len = parts.prefill->max_query_len;
    prefill.max_seq_len = parts.prefill->max_seq_len;
    prefill.query_start_loc =
        rebased("prefill query_start_loc",
                run_of(input.query_start_loc, s.decodes + s.extends, s.prefills), heap, stream);
  }
  return md;
}

Result<Metadata> MetadataBuilder::build(std::int64_t common_prefix_len, const StepInput& input,
                                        const BuilderBuffers& buffers, DeviceHeap& heap,
                                        Stream& stream) const {
  if (common_prefix_len != 0)
    return Error{ErrorCode::unsupported,
                 say("a common prefix of ", common_prefix_len,
                     " tokens needs cascade attention, which this backend does not have")};
  if (MaybeError bad = check(input)) return *bad;
  const HostSeqLens kv_lens = fetch_seq_lens(input, stream);
  hooks_.on_fa_build(input, stream);
  ThreeWaySplit runs = split(input, kv_lens);
  hooks_.on_fa_split(input, runs);
  auto parts = plan(input, runs, kv_lens);
  if (!parts) return parts.error();
  hooks_.on_fa_parts(*parts);
  Metadata metadata = assemble(input, std::move(*parts), buffers, heap, stream);
  hooks_.on_fa_metadata(metadata);
  return metadata;
}

}  // namespace mla::fa
