// RowArithmetic: what the roundings of one (row, head) pair can add up to, worked out a second
// time.
//
// The reference derives its bounds term by term and without approximation (error_model.hpp). Here
// the same arithmetic is summed to first order, key by key, with constants written out again and
// nothing of the reference's code. The two have to agree within kSlack, so neither a bound that is
// a few times too wide nor one that is too narrow passes. Units: elements, keys, natural log.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "cpu_backend/decode/reference.hpp"

namespace mla::prop {

// How a kernel rounds, and what it computes with.
struct RowArithmetic {
  DtypePair dtype;
  Arch arch = Arch::gfx942;
  double output_unit = 0;   // unit roundoff of the final cast, the worst that may make it
  double score_scale = 1;   // of the products of Q and a key
  double output_scale = 1;  // of the values
  std::int64_t merges = 0;  // of finished bf16 parts that a part passes
};

// Keys [first, last) are visible, of [0, all). `load` leaves key and value j in the two spans.
struct RowKeys {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t all = 0;
  std::int64_t value_dims = 0;
  std::vector<double> q = {};
  std::function<void(std::int64_t j, std::span<double> key, std::span<double> value)> load = {};
};

// Where the reference keeps the pair.
struct RowBounds {
  std::span<const double> out, out_bound;  // [value_dims]
  std::optional<double> lse, lse_bound;    // none where no LSE is compared
};
RowBounds bounds_of(const cpu::ReferenceResult& reference, std::int64_t pair, std::int64_t dims);

// What is wrong with a value or a bound of the reference, with both numbers; nothing if the two
// derivations agree. Says nothing of an LSE whose own error is above an eighth: then a weight is
// not known to first order.
std::optional<std::string> wrong_bound(const RowArithmetic& arithmetic, const RowKeys& keys,
                                       const RowBounds& bounds);

}  // namespace mla::prop
