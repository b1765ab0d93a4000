#include "tests/core/plan/batches.hpp"

#include <algorithm>
#include <sstream>

namespace mla::plan_test {
namespace {

std::vector<std::int32_t> indptr(const Lengths& lengths) {
  std::vector<std::int32_t> sums = {0};
  for (const std::int64_t n : lengths) sums.push_back(sums.back() + static_cast<std::int32_t>(n));
  return sums;
}

}  // namespace

Batch::Batch(const Lengths& keys, const Lengths& rows, std::int64_t page_size)
    : qo_indptr(indptr(rows)) {
  Lengths pages;
  for (const std::int64_t n : keys) {
    pages.push_back(ceil_div(n, page_size));
    last_page_len.push_back(static_cast<std::int32_t>(n - (pages.back() - 1) * page_size));
  }
  kv_indptr = indptr(pages);
  const std::int64_t longest = rows.empty() ? 1 : *std::max_element(rows.begin(), rows.end());
  const bool uniform = std::all_of(rows.begin(), rows.end(), [&](auto q) { return q == longest; });
  input.qo_indptr = qo_indptr;
  input.kv_indptr = kv_indptr;
  input.last_page_len = last_page_len;
  input.page_size = page_size;
  input.key.max_qo_len = longest;
  input.uniform_qo_len = uniform ? longest : -1;
}

plan::BufferSizes Batch::sizes() const {
  const bool sparse = input.topk >= 0;
  const std::int64_t rows = std::max(input.key.max_qo_len, input.uniform_qo_len);
  const auto sizes =
      plan::query_sizes({.arch = input.key.arch,
                         .compute_units = input.key.compute_units,
                         .batch = Requests(std::max<std::int64_t>(input.batch(), 0)),
                         .max_qo_len = sparse ? qo_indptr[1] - qo_indptr[0] : rows,
                         .heads = input.key.heads_per_kv_head * input.key.kv_heads.count(),
                         .dtype = input.key.dtype,
                         .sparse = sparse,
                         .fast_mode = input.version == plan::PlannerVersion::v1_2,
                         .num_kv_splits = 16,
                         .intra_batch_mode = input.version == plan::PlannerVersion::v1_0});
  return sizes.ok() ? *sizes : plan::BufferSizes{};
}

std::string Batch::refusal() const {
  const auto plan = make();
  return plan.ok() ? "planned" : plan.error().message;
}

std::string Batch::bug() const {
  const auto plan = make();
  return plan.ok() ? "planned" : plan.error().bug;
}

Lengths all(std::size_t count, std::int64_t rows) {
  return Lengths(count, rows);
}

std::vector<std::int32_t> used(const plan::PlanBuffer& buffer) {
  return {buffer.data().begin(), buffer.data().begin() + buffer.used()};
}

std::string shown(const plan::Plan& plan) {
  std::ostringstream text;
  for (std::int64_t w = 0; w < plan.works(); ++w) {
    const plan::WorkItem i = plan.work(w);
    text << '[' << i.batch << ' ' << i.partial_row << ' ' << i.q_begin << ' ' << i.q_end << ' '
         << i.kv_begin << ' ' << i.kv_end << ' ' << i.kv_offset << "] ";
  }
  return text.str();
}

}  // namespace mla::plan_test
