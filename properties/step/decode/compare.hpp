// Comparison of decode steps: against the reference, and of two results bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/engine/backend.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

struct Comparison {
  const DecodeResult& result;
  const cpu::ReferenceResult& reference;
  const DecodeMetadata& metadata;         // whose plan is blamed
  std::span<const RequestSpec> requests;  // names the rows: the batch with its padding
  std::int64_t heads = 16;                // model heads
};

// compare_elements() of a decode step, with the works that produced the worst pair.
Outcome compare(const Comparison& comparison);

// Rows [first_a, first_a + count) of one result against [first_b, first_b + count) of another.
struct MatchedRows {
  std::int64_t first_a = 0;
  std::int64_t first_b = 0;
  std::int64_t count = 0;
};

// The first difference of out or LSE in the bits, with its coordinates; nothing if the rows are
// equal. Rows that one of the results does not have are a difference.
std::optional<std::string> bitwise_difference(const DecodeResult& a, const DecodeResult& b,
                                              std::int64_t heads,
                                              std::span<const MatchedRows> rows);
// The same for all rows of both.
std::optional<std::string> bitwise_difference(const DecodeResult& a, const DecodeResult& b,
                                              std::int64_t heads);
bool bitwise_equal(const DecodeResult& a, const DecodeResult& b, std::int64_t heads);

}  // namespace mla::prop
