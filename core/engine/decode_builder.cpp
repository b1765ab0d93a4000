#include "core/engine/decode_builder.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/engine/launch.hpp"
#include "core/engine/planner_dispatch.hpp"
#include "core/paging/expand.hpp"
#include "core/say.hpp"

namespace mla {
namespace {

// A request as the kernel sees it.
struct KernelRequest {
  std::int64_t qo_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t table_row = 0;
};

// On route persistent_rows row i of q is a request with the n - q + 1 + i keys that it may see.
// A request without rows reads nothing, so it is given no keys.
std::vector<KernelRequest> kernel_requests(const Batch& batch, const ResolvedShape& shape) {
  std::vector<KernelRequest> out;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    const auto row = static_cast<std::int64_t>(r);
    if (shape.route != Route::persistent_rows) {
      out.push_back({q + shape.leading_rows, q == 0 ? 0 : n, row});
      continue;
    }
    for (std::int64_t i = 0; i < q; ++i) {
      // Below 0 only for a request that check_lengths() is going to refuse.
      const std::int64_t visible =
          shape.causal && n > 0 ? std::max<std::int64_t>(0, n - q + 1 + i) : n;
      out.push_back({1, visible, row});
    }
  }
  return out;
}

std::int64_t pages_of(const std::vector<KernelRequest>& requests, std::int64_t page_size) {
  std::int64_t pages = 0;
  for (const KernelRequest& r : requests) pages += ceil_div(r.kv_len, page_size);
  return pages;
}

MaybeError check_lengths(const Batch& batch, const ResolvedShape& shape) {
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const auto [q, n] = batch.requests[r];
    if (shape.causal && n > 0 && n < q)
      return Error{ErrorCode::refused,
                   say("request ", r, " has ", n, " keys for ", q,
                       " query rows: the first rows would see none"),
                   "BUG-075"};
  }
  return std::nullopt;
}

MaybeError check_capacity(const char* buffer, std::size_t have, std::int64_t need) {
  if (static_cast<std::int64_t>(have) >= need) return std::nullopt;
  return Error{ErrorCode::overrun, say(buffer, " has ", have, " entries, ", need, " are needed"),
               "BUG-079"};
}

std::int32_t spare_value(TailFill fill, const Batch& batch, std::int64_t page_size, std::size_t i) {
  switch (fill) {
    case TailFill::minus_one:
      break;
    case TailFill::stale: {  // a page that some earlier step could have used
      const std::int64_t per_block = batch.block_size / page_size;
      const auto pages = static_cast<std::size_t>(batch.cache_blocks * per_block);
      return static_cast<std::int32_t>(batch.first_block * per_block +
                                       static_cast<std::int64_t>(i * 7 % pages));
    }
    case TailFill::random:
      return static_cast<std::int32_t>((i + 1) * 0x9E3779B97F4A7C15ULL >> 32U);
    case TailFill::huge:
      return std::numeric_limits<std::int32_t>::max();
  }
  return -1;
}

// Writes the three arrays with one entry for each request; their tails repeat the last value.
void write_indptrs(const std::vector<KernelRequest>& requests, std::int64_t page_size,
                   const IndexSpans& buffers) {
  std::int32_t rows = 0;
  std::int32_t pages = 0;
  buffers.qo_indptr[0] = 0;
  buffers.kv_indptr[0] = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    rows += static_cast<std::int32_t>(requests[r].qo_len);
    pages += static_cast<std::int32_t>(ceil_div(requests[r].kv_len, page_size));
    buffers.qo_indptr[r + 1] = rows;
    buffers.kv_indptr[r + 1] = pages;
    const std::int64_t last = std::max<std::int64_t>(requests[r].kv_len, 1) - 1;
    buffers.last_page_len[r] = static_cast<std::int32_t>(last % page_size + 1);
  }
  const auto end = static_cast<std::ptrdiff_t>(requests.size()) + 1;
  std::fill(buffers.qo_indptr.begin() + end, buffers.qo_indptr.end(), rows);
  std::fill(buffers.kv_indptr.begin() + end, buffers.kv_indptr.end(), pages);
}

}  // namespace

DecodeBuffers make_decode_buffers(const Case& c, const Batch& batch, const ResolvedShape& shape) {
  const std::vector<KernelRequest> requests = kernel_requests(batch, shape);
  const std::int64_t pages = pages_of(requests, shape.page_size);
  DecodeBuffers buffers;
  buffers.qo_indptr.assign(requests.size() + 1, 0);
  buffers.kv_indptr.assign(requests.size() + 1, 0);
  buffers.last_page_len.assign(requests.size(), 1);
  buffers.kv_indices.resize(static_cast<std::size_t>(pages + c.decode().spare.entries));
  for (std::size_t i = 0; i < buffers.kv_indices.size(); ++i)
    buffers.kv_indices[i] = spare_value(c.decode().spare.fill, batch, shape.page_size, i);
  return buffers;
}

Result<DecodeMetadata> build_index_lists(const Batch& batch, const ResolvedShape& shape,
                                         const DecodeBuilderOptions& options, IndexSpans buffers) {
  if (MaybeError bad = check_lengths(batch, shape)) return *bad;
  const std::vector<KernelRequest> requests = kernel_requests(batch, shape);
  const auto count = static_cast<std::int64_t>(requests.size());
  if (MaybeError bad = check_capacity("qo_indptr", buffers.qo_indptr.size(), count + 1))
    return *bad;
  if (MaybeError bad = check_capacity("kv_indptr", buffers.kv_indptr.size(), count + 1))
    return *bad;
  if (MaybeError bad = check_capacity("last_page_len", buffers.last_page_len.size(), count))
    return *bad;
  const std::int64_t pages = pages_of(requests, shape.page_size);
  if (pages > std::numeric_limits<std::int32_t>::max())
    return Error{ErrorCode::refused,
                 say("the requests have ", pages, " pages, and kv_indptr is int32")};
  if (MaybeError bad = check_capacity("kv_indices", buffers.kv_indices.size(), pages)) return *bad;

  write_indptrs(requests, shape.page_size, buffers);
  if (options.fill_tail) std::fill(buffers.kv_indices.begin(), buffers.kv_indices.end(), -1);
  std::vector<std::int64_t> table_rows;
  DecodeMetadata md;
  md.shape = shape;
  for (const KernelRequest& r : requests) {
    table_rows.push_back(r.table_row);
    md.kv_lens.push_back(r.kv_len);
  }
  md.qo_indptr = buffers.qo_indptr.first(requests.size() + 1);
  md.kv_indptr = buffers.kv_indptr.first(requests.size() + 1);
  md.last_page_len = buffers.last_page_len.first(requests.size());
  md.kv_indices = buffers.kv_indices;
  const ExpandInput expand{.table = batch.table(),
                           .kv_indptr = md.kv_indptr,
                           .table_rows = table_rows,
                           .pages_per_block = shape.block_size / shape.page_size};
  if (MaybeError bad = expand_pages(expand, {.programs = 1, .chunk = 1024}, buffers.kv_indices))
    return *bad;
  md.keyless_rows = keyless_rows_of(md.qo_indptr, md.kv_lens);
  return md;
}

std::int64_t kernel_request_count(const Batch& batch, const ResolvedShape& shape) {
  return shape.route == Route::persistent_rows ? batch.rows().count() : std::ssize(batch.requests);
}

plan::PlanInput plan_input_of(const DecodeMetadata& md, const DecodeBuilderOptions& options) {
  const ResolvedShape& s = md.shape;
  return {.key = s.plan_key(),
          .qo_indptr = md.qo_indptr,
          .kv_indptr = md.kv_indptr,
          .last_page_len = md.last_page_len,
          .causal = s.causal,
          .page_size = s.page_size,
          .kv_granularity = s.granularity,
          .uniform_qo_len = s.uniform_qo_len,
          .topk = -1,
          .max_split_per_batch = s.max_split,
          .cp_round_robin = false,
          .version = s.planner,
          .kernel = s.planner_kernel,
          .fidelity = options.fidelity};
}

plan::SizeQuery size_query_of(const DecodeMetadata& md, const DecodeBuilderOptions& options) {
  const ResolvedShape& s = md.shape;
  const std::int64_t cap = s.max_split;
  // Planner v1.0 cuts a request in 16 on gfx942, whatever its cap (aiter.md 3.4).
  const std::int64_t least_splits = s.arch == Arch::gfx942 ? 16 : 1;
  return {.arch = s.arch,
          .compute_units = s.compute_units,
          .batch = Requests(std::max(options.max_requests, md.requests().count())),
          .max_qo_len = s.max_qo_len,
          .heads = s.heads.kernel,
          .dtype = s.dtype,
          .sparse = false,
          .fast_mode = s.planner == plan::PlannerVersion::v1_2,
          .num_kv_splits = cap > 0 ? std::max(cap, least_splits) : 32,
          .intra_batch_mode = s.planner == plan::PlannerVersion::v1_0,
          .max_split_per_batch = cap,
          .experimental = false};
}

plan::PlanCheckInput check_input_of(const DecodeMetadata& md) {
  return check_input_of(md, md.plan->view());
}

plan::PlanCheckInput check_input_of(const DecodeMetadata& md, const plan::PlanView& plan) {
  return {.plan = plan,
          .qo_indptr = md.qo_indptr,
          .kv_indptr = md.kv_indptr,
          .last_page_len = md.last_page_len,
          .shape = md.shape.plan,
          .causal = md.shape.causal,
          .kernel_masks = md.shape.kernel.masks,
          .page_size = md.shape.page_size,
          .max_qo_len = md.shape.max_qo_len};
}

// In place: works only move to the front, and mostly none does.
plan::Plan without_empty_works(plan::Plan plan) {
  const std::int64_t slots = plan.work_indptr.used() - 1;
  std::int64_t kept = 0;
  std::int64_t work = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t end = plan.work_indptr.at(slot + 1);
    for (; work < end; ++work) {
      const plan::WorkItem item = plan.work(work);
      const bool no_rows = item.q_end <= item.q_begin;
      const bool no_keys = item.kv_end <= item.kv_begin;
      if (no_rows || (no_keys && item.partial_row < 0)) continue;
      if (kept < work) plan.set_work(kept, item);
      ++kept;
    }
    if (kept < work) plan.work_indptr.set(slot + 1, static_cast<std::int32_t>(kept));
  }
  plan.work_info.forget_from(kept * plan::kWorkItemWords);
  return plan;
}

Result<plan::Plan> plan_step(const plan::PlanInput& input, const plan::SizeQuery& query) {
  auto sizes = plan::query_sizes(query);
  if (!sizes) return sizes.error();
  return plan_step(input, *sizes);
}

Result<plan::Plan> plan_step(const plan::PlanInput& input, const plan::BufferSizes& sizes) {
  auto plan = plan::make_plan(input, sizes);
  if (!plan || input.fidelity == plan::Fidelity::as_aiter) return plan;
  return without_empty_works(std::move(*plan));
}

Result<plan::BufferSizes> plan_sizes(const plan::StepPlanner* planner,
                                     const plan::SizeQuery& query) {
  return planner != nullptr ? planner->sizes(query) : plan::query_sizes(query);
}

Result<plan::Plan> plan_step(const plan::StepPlanner* planner, const plan::PlanInput& input,
                             const plan::BufferSizes& sizes) {
  return planner != nullptr ? planner->plan(input, sizes, 0) : plan_step(input, sizes);
}

Result<ResolvedShape> DecodeMetadataBuilder::shape(const Case& c, const Batch& batch) const {
  auto shape = resolve_shape(c, batch, dispatch_of(options_.planner));
  if (shape) hooks_.on_shape(c, batch, *shape);
  return shape;
}

Result<DecodeMetadata> DecodeMetadataBuilder::lists(const Batch& batch, const ResolvedShape& shape,
                                                    DecodeBuffers& buffers) const {
  hooks_.on_buffers(buffers);
  auto md = build_index_lists(batch, shape, options_, buffers.spans());
  if (md) hooks_.on_index_lists(batch, *md, buffers);
  return md;
}

PlanQuestion DecodeMetadataBuilder::question(const DecodeMetadata& md) const {
  PlanQuestion question{plan_input_of(md, options_), size_query_of(md, options_)};
  hooks_.on_plan_query(md, question.input, question.query);
  return question;
}

Result<DecodeMetadata> DecodeMetadataBuilder::build(const Batch& batch, const ResolvedShape& shape,
                                                    DecodeBuffers& buffers) const {
  auto md = lists(batch, shape, buffers);
  if (!md || md->shape.route == Route::split) return md;
  const PlanQuestion asked = question(*md);
  const auto sizes = plan_sizes(options_.planner, asked.query);
  if (!sizes) return sizes.error();
  auto plan = plan_step(options_.planner, asked.input, *sizes);
  if (!plan) return plan.error();
  hooks_.on_plan(*md, *plan);
  md->plan = std::move(*plan);
  return md;
}

}  // namespace mla
