// The dense reference through the C interface.
#include "cpu_backend/decode/reference.hpp"
#include "core/say.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/paging/pages.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/stage1_inputs.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

// The batch with its keys one after the other, which is all that the reference wants to know.
struct Logical {
  Batch batch;
  DecodeTensors tensors;
};

Error about(std::size_t request, const std::string& what) {
  return {ErrorCode::usage, say("request ", request, " ", what)};
}

Result<RequestSpec> request_of(const cpu::Stage1Call& call, std::size_t r) {
  const std::int64_t rows = std::int64_t{call.qo_indptr[r + 1]} - call.qo_indptr[r];
  const std::int64_t first = call.kv_indptr[r];
  const std::int64_t pages = call.kv_indptr[r + 1] - first;
  const std::int64_t last = call.last_page_len[r];
  if (pages < 0 || first < 0 || first + pages > std::ssize(call.kv_indices))
    return about(r, say("has the pages [", first, ", ", first + pages,
                        ") of kv_page_indices, which has ", call.kv_indices.size(), " entries"));
  if (pages > 0 && (last < 1 || last > call.page_size))
    return about(r, say("has ", last, " tokens in its last page; expected 1 to ", call.page_size));
  const std::int64_t keys = pages > 0 ? keys_in_pages(pages, call.page_size, last) : 0;
  if (keys > 0 && keys < rows)
    return about(
        r, say("has ", keys, " keys for ", rows, " query rows; expected none or at least as many"));
  return RequestSpec{rows, keys};
}

MaybeError append_keys(const cpu::Stage1Call& call, std::size_t r, std::int64_t keys,
                       std::vector<std::byte>& bytes) {
  for (std::int64_t k = 0; k < keys; ++k) {
    const auto entry = static_cast<std::size_t>(call.kv_indptr[r] + k / call.page_size);
    const std::int64_t slot = call.kv_indices[entry] * call.page_size + k % call.page_size;
    if (slot < 0 || slot >= call.cache.slots)
      return about(r, say("has page ", call.kv_indices[entry], ", which is not in ", "the cache"));
    const std::byte* row = call.cache.row(slot);
    bytes.insert(bytes.end(), row, row + call.cache.row_bytes);
  }
  return std::nullopt;
}

Result<Logical> logical(const cpu::Stage1Call& call) {
  Logical out;
  std::int64_t total = 0;
  for (std::size_t r = 0; r + 1 < call.qo_indptr.size(); ++r) {
    const auto request = request_of(call, r);
    if (!request) return request.error();
    out.batch.requests.push_back(*request);
    out.batch.columns = std::max(out.batch.columns, request->kv_len);
    if (MaybeError bad = append_keys(call, r, request->kv_len, out.tensors.cache.bytes))
      return *bad;
    total += request->kv_len;
  }
  const std::int64_t requests = std::ssize(out.batch.requests);
  out.batch.live = Requests(requests);
  out.batch.cache_blocks = total;
  out.batch.block_table.assign(static_cast<std::size_t>(requests * out.batch.columns), 0);
  std::int32_t next = 0;
  for (std::int64_t r = 0; r < requests; ++r)
    for (std::int64_t k = 0; k < out.batch.requests[static_cast<std::size_t>(r)].kv_len; ++k)
      out.batch.block_table[static_cast<std::size_t>(r * out.batch.columns + k)] = next++;
  const std::size_t q_bytes =
      static_cast<std::size_t>(call.q_rows * call.heads * call.widths.key_bytes(call.dtype.q));
  out.tensors.q.assign(call.q, call.q + q_bytes);
  out.tensors.cache.dtype = call.dtype.kv;
  out.tensors.cache.widths = call.widths;
  out.tensors.cache.slots = total;
  out.tensors.softmax_scale = call.softmax_scale;
  out.tensors.q_scale = call.q_scale;
  out.tensors.kv_scale = call.kv_scale;
  return out;
}

// What is NaN or overflows f32 would make every element NaN, and each comparison with a bound
// false.
MaybeFailure check_scales(const cpu::Stage1Call& call) {
  const std::pair<const char*, float> scales[] = {{"softmax_scale", call.softmax_scale},
                                                  {"q_scale", call.q_scale},
                                                  {"kv_scale", call.kv_scale}};
  for (const auto& [name, value] : scales)
    if (!std::isfinite(value))
      return usage(say(name, " is ", std::to_string(value), "; expected a finite number of f32"));
  return std::nullopt;
}

MaybeFailure reference(std::int64_t arch_number, std::int64_t page_size, std::int64_t causal,
                       const mla_stage1_tensors* tensors, double softmax_scale,
                       const mla_reference_results* results) {
  if (tensors == nullptr || results == nullptr) return usage("tensors or results is NULL");
  for (const double* to : {results->out, results->out_bound, results->lse, results->lse_bound})
    if (to == nullptr) return usage("one of the four results is NULL");
  const auto arch = arch_of(arch_number);
  if (!arch) return failure_of(arch.error());
  if (auto bad = check_fields({{"page_size", page_size, 1, kMaxGranularity}})) return bad;
  if (auto bad = check_flags({{"causal", causal}})) return bad;
  if (auto bad = check_inputs(*tensors, page_size)) return bad;
  ValueDims values;
  if (auto bad = read_value_width(*tensors, values)) return bad;
  cpu::Stage1Call call = inputs_of(*tensors, page_size, values);
  call.softmax_scale = static_cast<float>(softmax_scale);
  if (auto bad = set_scales(call, *tensors)) return bad;
  if (auto bad = check_scales(call)) return bad;
  if (call.q_rows != call.qo_indptr.back())
    return bad_tensor("q", say(call.qo_indptr.back(), " rows as qo_indptr"),
                      std::to_string(call.q_rows));
  const auto step = logical(call);
  if (!step) return failure_of(step.error());
  const cpu::ReferenceResult found = cpu::dense_reference({.batch = step->batch,
                                                           .tensors = step->tensors,
                                                           .arch = *arch,
                                                           .dtype = call.dtype,
                                                           .model_heads = call.heads,
                                                           .causal = causal != 0});
  std::copy(found.out.begin(), found.out.end(), results->out);
  std::copy(found.out_bound.begin(), found.out_bound.end(), results->out_bound);
  std::copy(found.lse.begin(), found.lse.end(), results->lse);
  std::copy(found.lse_bound.begin(), found.lse_bound.end(), results->lse_bound);
  return std::nullopt;
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_reference(int64_t arch, int64_t page_size, int64_t causal,
                             const mla_stage1_tensors* tensors, double softmax_scale,
                             const mla_reference_results* results) {
  return mla::c_api::at_border([&] {
    return mla::c_api::reference(arch, page_size, causal, tensors, softmax_scale, results);
  });
}
