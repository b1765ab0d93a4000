// Batches for planner tests: lengths in, a planner call out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/planner.hpp"

namespace mla::plan_test {

using Lengths = std::vector<std::int64_t>;

// Owns what the spans of `input` point to; make it and leave it where it is.
struct Batch {
  std::vector<std::int32_t> qo_indptr, kv_indptr, last_page_len;
  plan::PlanInput input;

  // `keys` and `rows` by request; with one page size for all. Uniform unless the rows differ.
  Batch(const Lengths& keys, const Lengths& rows, std::int64_t page_size = 1);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Buffers as the size query gives them for this call.
  [[nodiscard]] plan::BufferSizes sizes() const;
  [[nodiscard]] Result<plan::Plan> make() const { return plan::make_plan(input, sizes()); }
  // The refusal sentence, or "planned".
  [[nodiscard]] std::string refusal() const;
  [[nodiscard]] std::string bug() const;
};

// `count` requests of `rows` rows each.
Lengths all(std::size_t count, std::int64_t rows);

// Written elements with their values, the plan's works as lists of seven words; for messages.
std::string shown(const plan::Plan& plan);
std::vector<std::int32_t> used(const plan::PlanBuffer& buffer);

}  // namespace mla::plan_test
