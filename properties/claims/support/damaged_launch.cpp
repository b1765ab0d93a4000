#include "properties/claims/support/damaged_launch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/engine/row_map.hpp"
#include "core/engine/run_decode.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

std::vector<std::int32_t> with_word_after(std::span<const std::int32_t> list, std::int32_t word) {
  std::vector<std::int32_t> out(list.begin(), list.end());
  out.push_back(word);
  return out;
}

bool contains(const std::vector<std::int64_t>& requests, std::int64_t r) {
  return std::ranges::find(requests, r) != requests.end();
}

// Rows of every request but the damaged ones keep their bits. Where a damaged one is the longest, a
// backend may take a kernel for fewer rows, which rounds otherwise: there they keep their bounds.
std::optional<std::string> others_change(Subject& subject, const DecodeResult& damaged,
                                         const std::vector<std::int64_t>& requests) {
  const DecodeMetadata& md = *subject.metadata();
  std::int64_t longest = 0;
  std::int64_t longest_damaged = 0;
  for (std::int64_t r = 0; r < md.requests().count(); ++r) {
    std::int64_t& most = contains(requests, r) ? longest_damaged : longest;
    most = std::max(most, rows_of(md, r));
  }
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < md.requests().count(); ++r) {
    const std::int64_t rows = rows_of(md, r);
    const MatchedRows same{row, row, rows};
    row += rows;
    if (contains(requests, r)) continue;
    const std::int64_t heads = subject.spec().heads;
    auto why = bitwise_difference(*subject.result(), damaged, heads, std::span(&same, 1));
    if (why && longest_damaged > longest && subject.reference()) {
      why.reset();
      for (std::int64_t i = row - rows; i < row && !why; ++i)
        why = beyond_bounds(*subject.result(), damaged, {i, i}, heads, *subject.reference());
    }
    if (why) return why;
  }
  return std::nullopt;
}

// What a head of a row came out as.
struct HeadResult {
  std::span<const std::uint16_t> out;
  float lse = 0;
};

bool is_nan(const HeadResult& h) {
  return std::isnan(h.lse) &&
         std::ranges::all_of(h.out, [](std::uint16_t x) { return std::isnan(bf16_to_float(x)); });
}

bool is_empty(const HeadResult& h) {
  return h.lse == -std::numeric_limits<float>::infinity() &&
         std::ranges::all_of(h.out, [](std::uint16_t x) { return bf16_to_float(x) == 0; });
}

// The first head of the kernel rows for which `holds` does not hold. Rows without any key are
// written by the launcher, whatever the works do.
template <class Holds>
std::optional<std::string> first_other(const DecodeMetadata& md, const DecodeResult& result,
                                       RowRange kernel_rows, Holds holds) {
  const auto map = RowMap::make(md);
  const std::int64_t heads = md.shape.heads.model.count();
  const auto dims = static_cast<std::size_t>(md.shape.widths.value().count());
  std::int64_t row = 0;  // of the result, which has no leading rows
  for (std::int64_t r = 0; map && r < md.requests().count(); ++r) {
    const std::int64_t end = md.qo_indptr[static_cast<std::size_t>(r) + 1];
    for (std::int64_t query = end - rows_of(md, r); query < end; ++query, ++row) {
      if (md.kv_lens[static_cast<std::size_t>(r)] == 0) continue;
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t at = map->place(query, h).kernel_row;
        if (at < kernel_rows.begin || at >= kernel_rows.end) continue;
        const auto pair = static_cast<std::size_t>(row * heads + h);
        const auto out = std::span(result.out).subspan(pair * dims, dims);
        if (!holds(HeadResult{out, result.lse[pair]}))
          return say("row ", row, " head ", h, ": LSE ", result.lse[pair], ", first element ",
                     bf16_to_float(out[0]));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

StepLists::StepLists(const DecodeMetadata& md)
    : kv_indices(md.kv_indices.begin(), md.kv_indices.end()),
      last_page_len(with_word_after(md.last_page_len, 1)),
      qo_indptr_(with_word_after(md.qo_indptr, md.qo_indptr.back())),
      kv_indptr_(with_word_after(md.kv_indptr, md.kv_indptr.back())) {}

DecodeMetadata StepLists::with(const DecodeMetadata& md, std::optional<plan::Plan> plan) const {
  return {.shape = md.shape,
          .qo_indptr = std::span(qo_indptr_).first(md.qo_indptr.size()),
          .kv_indptr = std::span(kv_indptr_).first(md.kv_indptr.size()),
          .kv_indices = kv_indices,
          .last_page_len = std::span(last_page_len).first(md.last_page_len.size()),
          .kv_lens = md.kv_lens,
          .keyless_rows = md.keyless_rows,
          .plan = std::move(plan)};
}

std::int64_t rows_of(const DecodeMetadata& md, std::int64_t r) {
  const auto i = static_cast<std::size_t>(r);
  return std::max<std::int64_t>(md.qo_indptr[i + 1] - md.qo_indptr[i] - md.shape.leading_rows, 0);
}

std::vector<std::int64_t> requests_of_slot(const DecodeMetadata& md, std::int64_t slot) {
  std::vector<std::int64_t> out;
  const plan::Plan& plan = *md.plan;
  for (std::int64_t w = plan.work_indptr.at(slot); w < plan.work_indptr.at(slot + 1); ++w)
    out.push_back(plan.work(w).batch / md.shape.fold_ratio());
  return out;
}

std::vector<std::int64_t> requests_of_tile(const DecodeMetadata& md, std::int64_t tile) {
  std::vector<std::int64_t> out;
  const plan::Plan& plan = *md.plan;
  if (tile + 1 >= plan.reduce_indptr.size() ||
      plan.reduce_indptr.at(tile + 1) - plan.reduce_indptr.at(tile) < 2)
    return out;  // nothing is merged
  const std::int64_t row = plan.reduce_final_map.at(2 * tile);
  for (std::int64_t r = 0; r < md.requests().count(); ++r)
    if (row < md.qo_indptr[static_cast<std::size_t>(r) + 1] * md.shape.fold_ratio()) {
      out.push_back(r);
      break;
    }
  return out;
}

Outcome judge_launch(Subject& subject, const DamagedLaunch& launch) {
  const auto result = run_decode(subject.backend(), {launch.metadata, *subject.tensors()},
                                 {.schedule_seed = subject.spec().schedule_seed}, subject.hooks());
  if (!result && result.error().code != ErrorCode::fault) return passed();  // refused as a whole
  if (!result) return failed(launch.name + " breaks the launch: " + result.error().message);
  if (result->faults.empty()) return failed(launch.name + " is run without a fault");
  if (std::ranges::none_of(result->faults, [&](const Fault& fault) {
        return fault.what.find(launch.words) != std::string::npos;
      }))
    return failed(say(launch.name, " has no fault about ", launch.words, ", but '",
                      result->faults.front().what, "'"));
  if (const auto why = others_change(subject, *result, launch.requests))
    return failed(launch.name + " changes another request: " + *why);
  const DecodeMetadata& md = *subject.metadata();
  if (const auto why = first_other(md, *result, launch.dropped, is_nan))
    return failed(launch.name + " must not run, but a row of it is no NaN: " + *why);
  // AITER's kernels end their slot at such a work and leave its rows unwritten (AITER-13).
  const auto empty_or_unwritten = [](const HeadResult& h) { return is_empty(h) || is_nan(h); };
  if (const auto why = first_other(md, *result, launch.keyless, empty_or_unwritten))
    return failed(launch.name + " sees no key, but a row of it is not empty: " + *why);
  return passed();
}

}  // namespace mla::prop
