#include "properties/dump/replay/step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/case/limits.hpp"
#include "core/engine/launch.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "properties/dump/check/elements.hpp"
#include "properties/dump/check/launch_arguments.hpp"
#include "properties/generate/tensors.hpp"

namespace mla::dump {
namespace {

// Of a block table, 1 GiB: 4096 requests of 65536 pages.
constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;

Error bad(const std::string& why) {
  return {ErrorCode::usage, why};
}

using Tensors = std::map<std::string, io::RawArray>;

// What a tensor must look like: rows of `row` elements.
struct Expected {
  std::int64_t rows = 0;
  std::int64_t row = 0;
  ElementType type;
  bool more_rows = false;  // rows of a graph's padding may follow
  std::int64_t last = 0;   // the last dimension, where an array has several
};

// Whether a dump of several dimensions has them in the order of `e`: rows first, `last` last.
bool in_order(const io::RawArray& array, std::int64_t elements, const Expected& e) {
  const std::vector<std::int64_t> shape(array.shape.begin(), array.shape.end());
  if (shape.size() < 2 || elements == 0) return true;
  const std::int64_t end = shape.back();
  if (shape.size() == 2 && end == e.row) return true;
  return end == e.last && (shape[0] == elements / e.row || shape[0] == elements / e.last);
}

std::string shape_text(const io::RawArray& array) {
  std::string out;
  for (const auto n : array.shape) out += say(out.empty() ? "(" : ", ", n);
  return out + ")";
}

// Bytes of the tensor's expected rows.
Result<std::vector<std::byte>> tensor(const Tensors& tensors, const char* key, const Expected& e) {
  const auto found = tensors.find(key);
  if (found == tensors.end())
    return bad(say("array '", key, "' is missing: the step was dumped without tensors"));
  const io::RawArray& array = found->second;
  if (MaybeError wrong = check_elements(key, array, e.type)) return *wrong;
  const std::int64_t elements = std::ssize(array.bytes) / e.type.width;
  if (e.row > 0 && elements % e.row == 0 && !in_order(array, elements, e))
    return bad(say("array '", key, "' has shape ", shape_text(array), ": expected ", e.rows,
                   " rows first and ", e.last, " elements last"));
  const bool whole_rows = e.row > 0 && elements % e.row == 0 &&
                          (array.shape.size() < 2 || array.shape[0] == elements / e.row);
  if (e.more_rows && elements > e.rows * e.row && whole_rows)
    return std::vector<std::byte>(array.bytes.begin(),
                                  array.bytes.begin() + e.rows * e.row * e.type.width);
  if (elements != e.rows * e.row)
    return bad(
        say("array '", key, "' has ", elements, " elements, not ", e.rows, " rows of ", e.row));
  return array.bytes;
}

Result<std::vector<std::int64_t>> dumped_pages(const Tensors& tensors) {
  const auto found = tensors.find("kv_cache_pages");
  if (found == tensors.end()) return bad("array 'kv_cache_pages' is missing");
  auto values = io::integers_of(found->second);
  if (!values) return bad("array 'kv_cache_pages' is " + values.error().message);
  return values;
}

// The case that the planner call describes. Its lists are consistent (check/check.hpp).
Case case_of(const PlannerCall& call, const RowWidths& widths, bool planned) {
  const plan::PlanInput& in = call.input;
  Case c;
  for (std::size_t r = 0; r + 1 < in.qo_indptr.size(); ++r) {
    const std::int64_t pages = in.kv_indptr[r + 1] - in.kv_indptr[r];
    const std::int64_t keys = keys_in_pages(pages, in.page_size, in.last_page_len[r]);
    c.requests.push_back({in.qo_indptr[r + 1] - in.qo_indptr[r], keys});
  }
  c.heads = (in.key.heads_per_kv_head * in.key.kv_heads.count()).count();
  c.block_size = c.page_size = in.page_size;
  c.arch = in.key.arch;
  c.compute_units = in.key.compute_units.count();
  c.dtype = in.key.dtype;
  c.decode().granularity = in.kv_granularity;
  c.decode().max_split = in.max_split_per_batch;
  c.decode().latent = widths.latent().count();
  c.decode().rope = widths.rope().count();
  if (widths.value().count() != c.decode().latent) c.decode().value = widths.value().count();
  c.causal = in.causal;
  c.planner = PlannerChoice::v12;
  if (in.version == plan::PlannerVersion::v1_1) c.planner = PlannerChoice::v11;
  if (in.version == plan::PlannerVersion::v1_0) c.planner = PlannerChoice::v10;
  if (!planned) c.planner = PlannerChoice::none;
  return c;
}

// kv_indices with each page replaced by its place among the dumped ones.
MaybeError relabel(const DecodeDump& dump, std::int64_t& dumped, CapturedStep& step) {
  const auto pages = dumped_pages(dump.tensors);
  if (!pages) return pages.error();
  if (!dump.planned.cache.kv_indices) return bad("array 'kv_indices' is missing");
  const Words& indices = *dump.planned.cache.kv_indices;
  dumped = std::ssize(*pages);
  std::map<std::int64_t, std::int32_t> place;
  for (const std::int64_t page : *pages)
    if (!place.emplace(page, static_cast<std::int32_t>(place.size())).second)
      return bad(say("page ", page, " stands twice in 'kv_cache_pages'"));
  const std::int64_t live = dump.planned.call.input.kv_indptr.back();
  if (std::ssize(indices) < live)
    return bad(
        say("'kv_indices' has ", indices.size(), " entries, seqlens_kv_indptr asks for ", live));
  for (std::int64_t i = 0; i < std::ssize(indices); ++i) {
    const auto found = place.find(indices[static_cast<std::size_t>(i)]);
    if (found == place.end() && i < live)
      return bad(say("the capture is incomplete: page ", indices[static_cast<std::size_t>(i)],
                     ", entry ", i, " of 'kv_indices', is not in 'kv_cache_pages'"));
    step.lists.kv_indices.push_back(found == place.end() ? -1 : found->second);
  }
  return std::nullopt;
}

// The block table that says the same as kv_indices.
MaybeError fill_table(const PlannerCall& call, std::int64_t dumped, CapturedStep& step) {
  Batch& batch = step.batch;
  for (const RequestSpec& r : batch.requests)
    batch.columns = std::max(batch.columns, ceil_div(r.kv_len, batch.block_size));
  if (const std::int64_t entries = std::ssize(batch.requests) * batch.columns;
      entries > kMostEntries)
    return bad(say("a block table of ", batch.requests.size(), " requests and up to ",
                   batch.columns, " pages has ", entries, " entries: expected at most ",
                   kMostEntries));
  batch.block_table.assign(batch.requests.size() * static_cast<std::size_t>(batch.columns), 0);
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    std::copy(step.lists.kv_indices.begin() + call.input.kv_indptr[r],
              step.lists.kv_indices.begin() + call.input.kv_indptr[r + 1],
              batch.block_table.begin() + static_cast<std::int64_t>(r) * batch.columns);
  batch.cache_blocks = dumped;
  return std::nullopt;
}

// The shape as decided for the case, where the kernel sees what the bundle holds.
Result<ResolvedShape> shape_of(const CapturedStep& step, std::int64_t told_rows, bool planned) {
  auto shape = resolve_shape(step.spec, step.batch, told_rows);
  if (!shape) return shape.error();
  const Route route = planned ? Route::persistent : Route::split;
  if (shape->route != route)
    return Error{ErrorCode::unsupported, say("the bundle has a plan, but this shape takes route ",
                                             name(shape->route), ": ", shape->route_reason)};
  if (shape->heads.kernel != shape->heads.model)
    return Error{ErrorCode::unsupported,
                 say(step.spec.heads, " heads are padded to ", shape->heads.kernel.count(),
                     " before the kernel sees them: dump the padded call")};
  if (shape->leading_rows > 0)
    return Error{ErrorCode::unsupported,
                 say("requests are raised to ", shape->max_qo_len,
                     " rows before the kernel sees them: dump the raised call")};
  return shape;
}

void fill_metadata(const PlannerCall& call, const ResolvedShape& shape, CapturedStep& step) {
  DecodeMetadata& md = step.metadata;
  md.shape = shape;
  step.lists.qo_indptr = call.lists->qo_indptr;
  step.lists.kv_indptr = call.lists->kv_indptr;
  step.lists.last_page_len = call.lists->last_page_len;
  md.qo_indptr = step.lists.qo_indptr;
  md.kv_indptr = step.lists.kv_indptr;
  md.kv_indices = step.lists.kv_indices;
  md.last_page_len = step.lists.last_page_len;
  for (const RequestSpec& r : step.batch.requests) md.kv_lens.push_back(r.kv_len);
  md.keyless_rows = keyless_rows_of(md.qo_indptr, md.kv_lens);
}

// `out` keeps its default where the dump has no scale, or the kernel does not take it.
MaybeError fill_scale(const char* key, const Scale& scale, bool taken, float& out) {
  if (scale.text.empty()) return std::nullopt;
  if (std::isnan(scale.value))
    return bad(say("key '", key, "' is ", scale.text, ": it must be a finite number"));
  if (!taken) return std::nullopt;
  if (!(scale.value >= kSmallestScale && scale.value <= kLargestScale))
    return bad(say("key '", key, "' is ", scale.text, ": expected a number from 1e-15 to 1e15"));
  out = scale.value;
  return std::nullopt;
}

// Kernels get the scale of an fp8 operand only (csrc/py_itfs_cu/asm_mla.cu).
MaybeError fill_scales(const DecodeDump& dump, DtypePair dtype, DecodeTensors& t) {
  const bool q_taken = dtype.q == Dtype::fp8, kv_taken = dtype.kv == Dtype::fp8;
  t.softmax_scale = prop::softmax_scale_of(dump.planned.cache.widths);
  MaybeError wrong = fill_scale("softmax_scale", dump.softmax_scale, true, t.softmax_scale);
  if (!wrong) wrong = fill_scale("q_scale", dump.q_scale, q_taken, t.q_scale);
  if (!wrong) wrong = fill_scale("kv_scale", dump.planned.kv_scale, kv_taken, t.kv_scale);
  return wrong;
}

MaybeError fill_tensors(const Tensors& dump, std::int64_t dumped, CapturedStep& step) {
  DecodeTensors& t = step.tensors;
  const Case& c = step.spec;
  const RowWidths widths = c.widths();
  const std::int64_t key = widths.key().count();
  const auto per_row = [&](std::int64_t elements, const ElementType& type) {
    const std::int64_t last = elements > 1 ? elements : c.heads;
    return Expected{step.batch.rows().count(), c.heads * elements, type, true, last};
  };
  auto q = tensor(dump, "q", per_row(key, element_type(c.dtype.q, c.arch)));
  if (!q) return q.error();
  t.q = std::move(*q);
  t.cache.dtype = c.dtype.kv;
  t.cache.widths = widths;
  t.cache.slots = dumped * c.page_size;
  auto cache = tensor(dump, "kv_cache",
                      {.rows = dumped,
                       .row = c.page_size * key,
                       .type = element_type(c.dtype.kv, c.arch),
                       .last = key});
  if (!cache) return cache.error();
  t.cache.bytes = std::move(*cache);
  if (dump.contains("out")) {
    const auto out = tensor(dump, "out", per_row(widths.value().count(), kBf16Elements));
    if (!out) return out.error();
    step.out.resize(out->size() / 2);
    std::memcpy(step.out.data(), out->data(), out->size());
  }
  if (dump.contains("lse")) {
    const auto lse = tensor(dump, "lse", per_row(1, kFloatElements));
    if (!lse) return lse.error();
    step.lse.resize(lse->size() / 4);
    std::memcpy(step.lse.data(), lse->data(), lse->size());
  }
  return std::nullopt;
}

// What a backend's step has no place for.
MaybeError why_not_replayed(const PlannerCall& call, const DecodeDump& dump) {
  const auto not_replayed = [](const std::string& why) {
    return Error{ErrorCode::unsupported, why + " is not replayed"};
  };
  if (call.input.topk >= 0) return not_replayed("a sparse step");
  if (const std::int64_t row = dump.planned.cache.packed_row; row > 0)
    return not_replayed(say("a step over packed rows of ", row, " bytes (", packed_name(row), ")"));
  if (call.input.cp_round_robin)
    return not_replayed("a step of context parallelism (is_cp_round_robin is true)");
  if (const std::int64_t heads = call.input.key.kv_heads.count(); heads != 1)
    return not_replayed(say("a step of several KV heads (num_heads_k is ", heads, ")"));
  for (const auto& [key, shape] : {std::pair("q_scale", dump.q_scale.shape),
                                   std::pair("kv_scale", dump.planned.kv_scale.shape)})
    if (!shape.empty())
      return not_replayed(
          say("a step whose ", key, " is no single number (its shape is ", shape, ")"));
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<CapturedStep>> captured_step(const Dump& from) {
  const auto* dump = std::get_if<DecodeDump>(&from.step);
  if (dump == nullptr)
    return Error{ErrorCode::unsupported,
                 say(std::holds_alternative<PrefillDump>(from.step) ? "a prefill" : "an FA",
                     " step is not replayed, only decode steps are")};
  if (dump->launch && !*dump->launch) return dump->launch->error();
  const Launch launch = dump->launch ? **dump->launch : Launch{};
  // The tensors are those of the launch: so are heads, rows, dtypes, pages and mask.
  const PlannerCall call = told_as_launched(dump->planned.call, launch);
  if (MaybeError wrong = why_not_replayed(call, *dump)) return *wrong;
  const bool planned = !runs_unplanned(dump->planned, &launch);
  auto step = std::make_unique<CapturedStep>();
  step->spec = case_of(call, dump->planned.cache.widths, planned);
  step->batch.requests = step->spec.requests;
  step->batch.live = Requests(std::ssize(step->spec.requests));
  step->batch.block_size = step->spec.block_size;
  std::int64_t dumped = 0;
  if (MaybeError wrong = relabel(*dump, dumped, *step)) return *wrong;
  if (!planned) {
    const auto splits = launched_splits(call, launch, std::ssize(step->lists.kv_indices));
    if (!splits) return splits.error();
    step->spec.decode().kv_splits = *splits;
  }
  const auto shape = shape_of(*step, call.input.key.max_qo_len, planned);
  if (!shape) return shape.error();
  fill_metadata(call, *shape, *step);
  if (planned) {
    const Result<FoundPlan>& found = *dump->planned.plan;
    if (!found) return found.error();
    step->metadata.plan = plan::Plan::copy_of(found->view());
  }
  if (MaybeError wrong = fill_scales(*dump, step->spec.dtype, step->tensors)) return *wrong;
  step->spec.decode().q_scale = step->tensors.q_scale;
  step->spec.decode().kv_scale = step->tensors.kv_scale;
  if (MaybeError wrong = fill_tensors(dump->tensors, dumped, *step)) return *wrong;
  if (MaybeError wrong = fill_table(call, dumped, *step)) return *wrong;
  return step;
}

}  // namespace mla::dump
