// Comparison of results with the reference and its bounds, of steps of any kind.
//
// Masks come first: an element that was never written, is NaN, or is infinite where the reference
// is not fails whatever the bound. Then |value - reference| <= bound must hold for every element of
// out and LSE; no share of wrong elements is tolerated. Last, a fault the backend reported fails.
// Units: rows are query rows of the batch, heads are model heads. Fails: sizes that do not match
// are a failure of the comparison itself, named as such.
#pragma once

#include <cstdint>
#include <functional>
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
// details say how far the damage goes (requests, rows, heads, dims) and whether one factor
// explains it, then hold up to four of the next worst (row, head) pairs, the lines of `blame` for
// the worst one, and the backend's faults.
struct ComparedRows {
  std::span<const std::uint16_t> out;  // [rows, heads, dims]
  std::span<const float> lse;          // [rows, heads]; empty if the reference has none
  const std::vector<Fault>& faults;
  const cpu::ReferenceResult& reference;
  std::span<const RequestSpec> requests;  // names the rows: the batch with its padding
  std::int64_t heads = 16;
  std::int64_t dims = 0;
  std::function<std::vector<std::string>(std::int64_t row, std::int64_t head)> blame = {};
  std::function<std::string(std::int64_t row)> run = {};  // the run of an FA step that has the row
};
Outcome compare_elements(const ComparedRows& rows);

// "request 3 row 1 (row 17 of the batch)"; says so if no request has the row.
std::string row_name(std::span<const RequestSpec> requests, std::int64_t row);

}  // namespace mla::prop
