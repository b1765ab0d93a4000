#include "core/engine/decode_step.hpp"

#include <algorithm>

#include "core/engine/launch.hpp"
#include "core/engine/planner_dispatch.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "core/shape/persistent_gate.hpp"

namespace mla::engine {
namespace {

using device::DeviceAccess;
using device::DeviceView;

// Query lengths after the uniform padding rule; `padded` is the length given to padding requests.
struct HostLengths {
  std::vector<std::int64_t> qo_lens;
  std::int64_t padded = 0;
};

HostLengths padded_lengths(const CommonStep& step) {
  HostLengths out{step.qo_lens, 0};
  if (step.qo_lens.empty()) return out;
  const std::int64_t longest = *std::max_element(step.qo_lens.begin(), step.qo_lens.end());
  out.padded = uniform_padded_qo_len(step.qo_lens, longest, step.num_rows);
  // One row each: the padding requests have a row of the padded count and no key.
  const bool single = longest == 1 && step.num_rows == std::ssize(step.qo_lens);
  for (std::int64_t& q : out.qo_lens)
    if (q == 0) q = single ? 1 : out.padded;
  return out;
}

// The batch as the host can know it: every length at its upper bound, no table.
Batch bounded_batch(const CommonStep& step, const HostLengths& lengths, std::int64_t block_size) {
  Batch batch;
  for (const std::int64_t q : lengths.qo_lens) batch.requests.push_back({q, step.max_kv_len});
  batch.live = Requests(std::ssize(batch.requests));
  batch.block_size = block_size;
  return batch;
}

// The same batch as a kernel sees it.
Batch device_batch(const CommonStep& step, Batch batch, const HostLengths& lengths,
                   const DeviceAccess& access) {
  const auto seq_lens = step.seq_lens.on(access);
  const auto table = step.block_table.on(access);
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const bool padding = step.qo_lens[r] == 0 && lengths.padded > 0;
    batch.requests[r].kv_len = padding ? lengths.padded : seq_lens[r];
  }
  batch.block_table.assign(table.begin(), table.end());
  batch.columns = step.columns;
  return batch;
}

void store(const plan::PlanBuffer& from, DeviceView<std::int32_t> to, const DeviceAccess& access) {
  const auto memory = to.on(access);
  for (std::int64_t i = 0; i < from.size(); ++i)
    if (from.written(i)) memory[static_cast<std::size_t>(i)] = from.at(i);
}

MaybeError check_limit(const char* what, std::int64_t have, std::int64_t limit) {
  if (have <= limit) return std::nullopt;
  return Error{ErrorCode::overrun,
               say("a step with ", have, " ", what, ", the buffers are provisioned for ", limit),
               "BUG-079"};
}

void grow(plan::BufferSizes& sizes, const plan::BufferSizes& other) {
  sizes.work_indptr = std::max(sizes.work_indptr, other.work_indptr);
  sizes.work_items = std::max(sizes.work_items, other.work_items);
  sizes.reduce_indptr = std::max(sizes.reduce_indptr, other.reduce_indptr);
  sizes.reduce_final_rows = std::max(sizes.reduce_final_rows, other.reduce_final_rows);
  sizes.reduce_partial_map = std::max(sizes.reduce_partial_map, other.reduce_partial_map);
}

Result<plan::BufferSizes> sizes_of(const Batch& batch, const ResolvedShape& shape,
                                   const plan::StepPlanner* planner) {
  DecodeMetadata md;
  md.shape = shape;
  const std::int64_t requests = kernel_request_count(batch, shape);
  const std::vector<std::int32_t> indptr(static_cast<std::size_t>(requests) + 1, 0);
  md.qo_indptr = indptr;
  return plan_sizes(planner, size_query_of(md, {}));
}

}  // namespace

Result<plan::BufferSizes> DecodeStepBuilder::provision() const {
  plan::BufferSizes sizes;
  std::string refusal = say("no query length up to ", limits_.max_qo_len, " is taken");
  bool any = false;
  Case raised = settings_;
  // Without a plan the LSE decides nothing but whether a step of few keys is taken at all.
  if (raised.planner == PlannerChoice::none) raised.decode().need_lse = false;
  Case unraised = raised;  // ragged steps are not raised, and fewer rows may be more tiles
  unraised.decode().kernel_rows = 0;
  // A batch that is too large for a plan needs no buffer, and a smaller one may need it.
  const std::int64_t planned = std::min(limits_.max_requests, kPersistentMaxBatch - 1);
  for (std::int64_t q = 1; q <= limits_.max_qo_len; ++q)
    for (const std::int64_t requests : {limits_.max_requests, planned}) {
      Batch batch;
      batch.requests.assign(static_cast<std::size_t>(requests), {q, q});
      for (const Case& settings : {raised, unraised}) {
        const auto shape = resolve_shape(settings, batch, dispatch_of(planner_));
        if (!shape) {
          refusal = shape.error().message;
          continue;
        }
        any = true;
        if (shape->route == Route::split) continue;
        const auto needed = sizes_of(batch, *shape, planner_);
        if (!needed) return needed.error();
        grow(sizes, *needed);
      }
    }
  if (!any) return Error{ErrorCode::unsupported, refusal};
  return sizes;
}

Result<StepBuffers> DecodeStepBuilder::allocate(device::DeviceHeap& heap) const {
  const auto sizes = provision();
  if (!sizes) return sizes.error();
  const auto buffer = [&heap](const char* name, std::int64_t size) {
    return device::DeviceBuffer<std::int32_t>(heap, name, static_cast<std::size_t>(size));
  };
  const std::int64_t requests = limits_.max_requests * limits_.max_qo_len;
  StepBuffers out;
  out.lists() = lists_of(words_of(*sizes), buffer);
  out.qo_indptr = buffer("qo_indptr", requests + 1);
  out.kv_indptr = buffer("kv_indptr", requests + 1);
  out.kv_indices = buffer("kv_indices", limits_.max_pages);
  out.last_page_len = buffer("last_page_len", requests);
  out.sizes = *sizes;
  return out;
}

Result<StepMetadata> DecodeStepBuilder::build(const CommonStep& step, const StepBuffers& buffers,
                                              device::Stream& stream, bool for_graph) const {
  const std::int64_t requests = std::ssize(step.qo_lens);
  if (MaybeError bad = check_limit("requests", requests, limits_.max_requests)) return *bad;
  const HostLengths lengths = padded_lengths(step);
  const std::int64_t longest =
      lengths.qo_lens.empty() ? 0
                              : *std::max_element(lengths.qo_lens.begin(), lengths.qo_lens.end());
  if (MaybeError bad = check_limit("query rows a request", longest, limits_.max_qo_len))
    return *bad;
  const Batch bounded = bounded_batch(step, lengths, settings_.block_size);
  const auto shape = resolve_shape(settings_, bounded, dispatch_of(planner_));
  if (!shape) return shape.error();
  hooks_.on_step(step, stream);

  StepMetadata md;
  md.lists() = lists_of(buffers, [](const char*, const auto& buffer) { return buffer.view(); });
  md.shape = *shape;
  md.requests = kernel_request_count(bounded, *shape);
  const auto live = static_cast<std::size_t>(md.requests);
  md.qo_indptr = buffers.qo_indptr.view().subview(0, live + 1);
  md.kv_indptr = buffers.kv_indptr.view().subview(0, live + 1);
  md.kv_indices = buffers.kv_indices.view();
  md.last_page_len = buffers.last_page_len.view().subview(0, live);
  md.report = std::make_shared<StepReport>();

  const DecodeBuilderOptions options{.max_requests = 0,
                                     .fill_tail = for_graph,
                                     .fidelity = plan::Fidelity::safe,
                                     .planner = planner_};
  const auto lists = [step, bounded, lengths, options, shape = *shape, report = md.report,
                      qo = buffers.qo_indptr.view(), kv = buffers.kv_indptr.view(),
                      indices = buffers.kv_indices.view(),
                      last = buffers.last_page_len.view()](const DeviceAccess& access) {
    const IndexSpans spans{qo.on(access), kv.on(access), indices.on(access), last.on(access)};
    const auto built =
        build_index_lists(device_batch(step, bounded, lengths, access), shape, options, spans);
    if (!built) report->refused = built.error();
  };
  stream.launch("build index lists", lists);
  if (shape->route == Route::split) return md;
  stream.launch("plan", [md, options, sizes = buffers.sizes](const DeviceAccess& access) {
    if (md.report->refused) return;
    const auto loaded = md.on(access);
    const auto plan = plan_step(options.planner, plan_input_of(*loaded, options), sizes);
    if (!plan) {
      md.report->refused = plan.error();
      return;
    }
    for_each_list(
        [&access](const char*, const auto& from, const auto& to) { store(from, to, access); },
        *plan, md);
  });
  return md;
}

Result<DecodeMetadata> StepMetadata::on(const DeviceAccess& access) const {
  if (report->refused) return *report->refused;
  DecodeMetadata md;
  md.shape = shape;
  md.qo_indptr = qo_indptr.on(access);
  md.kv_indptr = kv_indptr.on(access);
  md.kv_indices = kv_indices.on(access);
  md.last_page_len = last_page_len.on(access);
  for (std::int64_t r = 0; r < requests; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const std::int64_t pages = md.kv_indptr[at + 1] - md.kv_indptr[at];
    md.kv_lens.push_back(keys_in_pages(pages, shape.page_size, md.last_page_len[at]));
  }
  md.keyless_rows = keyless_rows_of(md.qo_indptr, md.kv_lens);
  if (shape.route == Route::split) return md;
  md.plan = plan::Plan::copy_of({plan::kNoAddresses,  // a copy has its own
                                 lists_of(*this, [&access](const char*, const auto& words) {
                                   return plan::WordSpan(words.on(access));
                                 })});
  return md;
}

bool StepMetadata::same_launch(const StepMetadata& other) const {
  const ResolvedShape& a = shape;
  const ResolvedShape& b = other.shape;
  return a.route == b.route && a.max_qo_len == b.max_qo_len &&
         a.uniform_qo_len == b.uniform_qo_len && a.leading_rows == b.leading_rows &&
         a.kv_splits == b.kv_splits && a.split_granularity == b.split_granularity &&
         requests == other.requests && kv_indices.allocation() == other.kv_indices.allocation() &&
         work_info.allocation() == other.work_info.allocation();
}

}  // namespace mla::engine
