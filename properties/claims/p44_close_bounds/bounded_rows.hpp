// BoundedRows: the rows of a step of any kind, for the claim about their bounds. Units: rows of the
// batch; pairs are row * heads + head.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/case/batch.hpp"
#include "properties/claims/p44_close_bounds/row_arithmetic.hpp"
#include "properties/step/subject.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

struct RequestAt {
  std::int64_t request = 0;
  std::int64_t row = 0;  // within the request
};
RequestAt request_at(const Batch& batch, std::int64_t row);

struct BoundedRows {
  const Batch& batch;
  std::int64_t heads = 1;
  std::vector<std::int64_t> pairs;  // that the reference evaluated; empty: all
  const cpu::ReferenceResult& reference;
  std::span<const std::uint16_t> out;  // what the backend made of the rows
  std::span<const float> lse;          // empty where no LSE is compared
  std::function<RowArithmetic(const RequestAt& at)> arithmetic_of;
  std::function<RowKeys(std::int64_t pair, const RequestAt& at)> keys_of;
};

// P44 for some of the rows, drawn from the case's data seed. A pass has one line of details: how
// close the backend's results come to the bounds of these rows.
Outcome close_bounds(Subject& subject, const BoundedRows& rows);

}  // namespace mla::prop
