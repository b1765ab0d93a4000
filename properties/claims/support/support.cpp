#include "properties/claims/support/support.hpp"

#include <cmath>
#include <cstdio>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"

namespace mla::prop {
namespace {

std::string text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string apart(double x, double y, double bound) {
  return " holds " + text(x) + " and " + text(y) + ", more than twice the bound " + text(bound) +
         " apart";
}

// Whether two values may stand for one exact value that each misses by at most `bound`.
bool within(double a, double b, double bound) {
  if (std::isnan(a) || std::isnan(b)) return false;
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= 2 * bound;
}

}  // namespace

Random::Random(const Case& c, std::string_view claim)
    : state_(c.data.seed * 0x9E3779B97F4A7C15ULL) {
  for (const char ch : claim) state_ = (state_ ^ static_cast<unsigned char>(ch)) * 0x100000001B3ULL;
}

// splitmix64 (Steele, Lea and Flood 2014).
std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

Outcome refusal(const Error& error) {
  // Nobody refused: a device, or what should have planned the step, broke.
  if (error.code == ErrorCode::fault) return failed("a launch failed: " + error.message);
  return skipped("the case is refused: " + error.message);
}

std::optional<std::string> beyond_bounds(const DecodeResult& a, const DecodeResult& b,
                                         const RowPair& pair, std::int64_t heads,
                                         const cpu::ReferenceResult& reference) {
  const auto at = [&](std::int64_t row, std::int64_t head) {
    return static_cast<std::size_t>(row * heads + head);
  };
  const std::size_t dims = reference.dims();
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::string where = say("row ", pair.a, ", head ", h);
    for (std::size_t d = 0; d < dims; ++d) {
      const double bound = reference.out_bound[at(pair.a, h) * dims + d];
      const double x = bf16_to_float(a.out[at(pair.a, h) * dims + d]);
      const double y = bf16_to_float(b.out[at(pair.b, h) * dims + d]);
      if (!within(x, y, bound)) return say(where, ", dim ", d, apart(x, y, bound));
    }
    const double bound = reference.lse_bound[at(pair.a, h)];
    const double x = a.lse[at(pair.a, h)];
    const double y = b.lse[at(pair.b, h)];
    if (!within(x, y, bound)) return where + ", LSE" + apart(x, y, bound);
  }
  return std::nullopt;
}

std::int64_t first_row(const Batch& batch, std::int64_t request) {
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < request; ++r)
    row += batch.requests[static_cast<std::size_t>(r)].qo_len;
  return row;
}

std::vector<KernelRequest> kernel_requests(const Batch& batch, const ResolvedShape& shape) {
  std::vector<KernelRequest> out;
  std::int64_t row = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const std::int64_t q = batch.requests[r].qo_len;
    const std::int64_t n = batch.requests[r].kv_len;
    const auto request = static_cast<std::int64_t>(r);
    if (shape.route == Route::persistent_rows) {
      for (std::int64_t i = 0; i < q; ++i) {
        const std::int64_t hidden = shape.causal && n > 0 ? q - 1 - i : 0;
        out.push_back({request, row + i, 1, n - hidden});
      }
    } else {
      out.push_back({request, row, q + shape.leading_rows, q > 0 ? n : 0});
    }
    row += shape.leading_rows + q;
  }
  return out;
}

std::string request_name(std::int64_t request) {
  return say("request ", request);
}

}  // namespace mla::prop
