// Comparison of results: against the reference with its bounds, and of two runs bit for bit.
//
// Masks come first: an element that was never written, is NaN, or is infinite where the reference
// is not fails whatever the bound. Then |value - reference| <= bound must hold for every element of
// out and LSE; no share of wrong elements is tolerated. Last, a fault the backend reported fails.
// Units: rows are query rows of the batch, heads are model heads. Fails: sizes that do not match
// are a failure of the comparison itself, named as such.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// What every comparison with a reference asks of an element.
bool within_bound(double got, double want, double bound);

// Rows of any step with their reference. Passes, or fails with the worst element in the message;
// details hold up to five of the worst (row, head) pairs, the lines of `blame` for the worst one,
// and the backend's faults.
struct Judged {
  std::span<const std::uint16_t> out;  // [rows, heads, dims]
  std::span<const float> lse;          // [rows, heads]
  const std::vector<Fault>& faults;
  const cpu::ReferenceResult& reference;
  std::span<const RequestSpec> requests;  // names the rows: the batch with its padding
  std::int64_t heads = 16;
  std::int64_t dims = kValueDim;
  std::function<std::vector<std::string>(std::int64_t row, std::int64_t head)> blame;
};
Outcome compare_elements(const Judged& judged);

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

// "request 3 row 1 (row 17 of the batch)"; says so if no request has the row.
std::string row_name(std::span<const RequestSpec> requests, std::int64_t row);

}  // namespace mla::prop
