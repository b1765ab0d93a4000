#include "cpu_backend/calls/reduce_call.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/calls/element.hpp"
#include "cpu_backend/decode/reduce.hpp"
#include "cpu_backend/merge.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kHeads64[] = {64};
constexpr std::int64_t kHeads128[] = {1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128};
constexpr std::int64_t kHeads512[] = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128};

std::span<const std::int64_t> heads_with(std::int64_t dim) {
  if (dim == 64) return kHeads64;
  if (dim == 128) return kHeads128;
  if (dim == 512) return kHeads512;
  return {};
}

MaybeError check_kernel(const ReduceCall& call) {
  const auto heads = heads_with(call.dim);
  if (std::find(heads.begin(), heads.end(), call.heads) != heads.end()) return std::nullopt;
  std::string list;
  for (const std::int64_t h : heads) list += say(list.empty() ? "" : ", ", h);
  return Error{ErrorCode::unsupported,
               say("no reduce for ", call.heads, " heads of ", call.dim, " elements; ",
                   list.empty() ? "there are 64, 128 and 512 elements"
                                : "with so many elements there are " + list + " heads")};
}

// Without a final map the rows of tile i are those between its first two partial rows, and all
// tiles before it are taken to have as many. Nonsense becomes a row that read_reduce() reports.
std::vector<std::int32_t> uniform_map(const ReduceCall& call) {
  std::vector<std::int32_t> map;
  const auto& partials = call.reduce_partial_map;
  const auto tiles = static_cast<std::int64_t>(call.reduce_indptr.size()) - 1;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = call.reduce_indptr[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::size_t>(first);
    const bool two = first >= 0 && at + 1 < partials.size();
    const std::int64_t rows = two ? std::int64_t{partials[at + 1]} - partials[at] : 0;
    const auto clamped = [](std::int64_t row) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(row, -1, INT32_MAX));
    };
    map.push_back(clamped(i * rows));
    map.push_back(clamped((i + 1) * rows));
  }
  return map;
}

}  // namespace

std::vector<std::int32_t> final_map_of(const ReduceCall& call) {
  if (!call.has_final_map) return uniform_map(call);
  return {call.reduce_final_map.begin(), call.reduce_final_map.end()};
}

namespace {

MergeList merges_of(const ReduceCall& call) {
  const std::vector<std::int32_t> uniform =
      call.has_final_map ? std::vector<std::int32_t>() : uniform_map(call);
  const plan::PlanView view{
      plan::kNoAddresses,
      {.reduce_indptr = call.reduce_indptr,
       .reduce_final_map = call.has_final_map ? call.reduce_final_map : plan::WordSpan(uniform),
       .reduce_partial_map = call.reduce_partial_map}};
  TaskList stage1;  // of which nothing is known
  stage1.partial_rows = call.partial_rows;
  stage1.owner.assign(static_cast<std::size_t>(call.out_rows), -1);
  return read_reduce(view, stage1);
}

std::uint16_t rounded(float value, const ReduceCall& call) {
  return call.type == ReducedType::f16 ? f16_from_float(value)
                                       : bf16_from_float(value, reduce_rounding(call.arch));
}

void merge_all(const ReduceCall& call, const MergeList& list, int threads) {
  const auto rows = static_cast<std::int64_t>(list.rows.size());
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> merged(static_cast<std::size_t>(call.dim));
    std::vector<const float*> parts;
    std::vector<float> lse;
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t head = 0; head < call.heads; ++head) {
        const MergeRow& row = list.rows[static_cast<std::size_t>(i)];
        parts.clear();
        lse.clear();
        for (std::int64_t k = row.first; k < row.first + row.count; ++k) {
          const std::int64_t at = list.partials[static_cast<std::size_t>(k)] * call.heads + head;
          parts.push_back(call.partial_out + at * call.dim);
          lse.push_back(call.partial_lse[at]);
        }
        const float total = merge_partials(row.form, parts, lse, merged);
        if (call.lse != nullptr) call.lse[row.row * call.heads + head] = total;
        std::uint16_t* to = call.out + row.row * call.row_stride + head * call.head_stride;
        for (const float value : merged) *to++ = rounded(value, call);
      }
    }
  }
}

}  // namespace

Result<MergeList> prepare_reduce_call(const ReduceCall& call) {
  if (MaybeError bad = check_kernel(call)) return *bad;
  return merges_of(call);
}

CallReport run_reduce_merges(const ReduceCall& call, MergeList list, int threads) {
  merge_all(call, list, team(threads));
  CallReport report;
  report.faults = std::move(list.faults);
  report.launches.add({"cpu", kHost, StepKind::decode, "reduce"});
  return report;
}

}  // namespace mla::cpu
