// What several claims share: choices, rows of a result, and how two rows may differ.
//
// Owns: `Random`, the comparison of rows of two results, kernel requests, and the sentence of a
// refusal. Rows are query rows of a batch, heads are model heads. Fails: a comparison that does not
// hold returns a sentence with the element and both values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "properties/step/property.hpp"

namespace mla::prop {

// Further than any list or buffer goes, with room to add.
inline constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max() / 2;

// The choices of one claim about one case. They depend on the data seed and the claim's id alone,
// so that a choice stays the same while a failing case shrinks.
class Random {
 public:
  Random(const Case& c, std::string_view claim);
  std::uint64_t next();
  std::int64_t below(std::int64_t n) {  // 0 to n-1
    if (n <= 0) throw std::logic_error("a choice between no numbers");
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

 private:
  std::uint64_t state_;
};

// A stage refused the case: the claim says nothing about it. One that broke is a failure.
Outcome refusal(const Error& error);

// A row of one result and a row of another.
struct RowPair {
  std::int64_t a = 0;
  std::int64_t b = 0;
};

// Nothing when each element of the two rows differs by no more than two results of one exact value
// may: by twice the reference's bound at row `pair.a`. Infinities have to match, NaN never does.
std::optional<std::string> beyond_bounds(const DecodeResult& a, const DecodeResult& b,
                                         const RowPair& pair, std::int64_t heads,
                                         const cpu::ReferenceResult& reference);

// The first query row of a request.
std::int64_t first_row(const Batch& batch, std::int64_t request);

// A request as the kernel sees it: rows [row, row + qo_len) of the batch, all of one request.
struct KernelRequest {
  std::int64_t request = 0;
  std::int64_t row = 0;
  std::int64_t qo_len = 0;
  std::int64_t kv_len = 0;  // keys of the request that it may read
};
// What a shape makes of the requests of a batch, by the rule that the shape states, in words of its
// own (P05 and P18 check the builder against it).
std::vector<KernelRequest> kernel_requests(const Batch& batch, const ResolvedShape& shape);

// "request 3", for sentences.
std::string request_name(std::int64_t request);

}  // namespace mla::prop
