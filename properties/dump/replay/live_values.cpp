#include "properties/dump/replay/live_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"

namespace mla::dump {
namespace {

// "NaN at element 17", or nothing if all elements of a row of Q or of the cache are finite.
std::optional<std::string> not_finite(std::span<const std::byte> row, Dtype dtype,
                                      Fp8Variant variant) {
  const auto width = static_cast<std::size_t>(element_bytes(dtype));
  for (std::size_t i = 0; i < row.size() / width; ++i) {
    float value = 0;
    if (dtype == Dtype::fp8) {
      value = fp8_to_float(std::to_integer<std::uint8_t>(row[i]), variant);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &row[i * width], width);
      value = bf16_to_float(bits);
    }
    if (!std::isfinite(value))
      return (std::isnan(value) ? "NaN" : "infinity") + say(" at element ", i);
  }
  return std::nullopt;
}

std::span<const std::byte> row_of(const std::vector<std::byte>& bytes, std::int64_t row,
                                  std::int64_t row_bytes) {
  return std::span(bytes).subspan(static_cast<std::size_t>(row * row_bytes),
                                  static_cast<std::size_t>(row_bytes));
}

// The first of many findings, and how many there are.
struct Found {
  std::string first;
  std::int64_t count = 0;

  void add(const std::string& sentence) {
    if (count++ == 0) first = sentence;
  }
  void put(const char* unit, std::vector<std::string>& out) const {
    if (count > 0)
      out.push_back(first + (count > 1 ? say(" (", count, " ", unit, " in all)") : ""));
  }
};

}  // namespace

std::int64_t ValueFindings::affected() const {
  return std::count(rows.begin(), rows.end(), true);
}

ValueFindings check_live_values(const CapturedStep& step) {
  const Case& c = step.spec;
  const KvCache& cache = step.tensors.cache;
  const Fp8Variant variant = step.metadata.shape.fp8;
  const std::int64_t q_bytes = c.widths().key_bytes(c.dtype.q);
  ValueFindings out;
  Found keys;
  Found queries;
  for (std::int64_t r = 0; r < std::ssize(step.batch.requests); ++r) {
    const RequestSpec& request = step.batch.requests[static_cast<std::size_t>(r)];
    const std::string of = say(" of request ", r);
    bool bad_key = false;
    const std::int64_t last_page = (request.kv_len - 1) / c.page_size * c.page_size;
    for (std::int64_t k = 0; k < request.kv_len && request.qo_len > 0; ++k) {
      const auto bad = not_finite(row_of(cache.bytes, step.batch.slot(r, k), cache.row_bytes()),
                                  c.dtype.kv, variant);
      if (!bad) {
        out.at_ends = out.at_ends && !bad_key;
        continue;
      }
      out.at_ends = out.at_ends && k > 0 && k >= last_page;
      keys.add(say("key ", k, of, " holds ", *bad));
      bad_key = true;
    }
    for (std::int64_t i = 0; i < request.qo_len; ++i) {
      const std::int64_t row = std::ssize(out.rows);
      bool bad_query = false;
      for (std::int64_t h = 0; h < c.heads; ++h) {
        const auto bad =
            not_finite(row_of(step.tensors.q, row * c.heads + h, q_bytes), c.dtype.q, variant);
        if (!bad) continue;
        queries.add(say("q of row ", i, of, ", head ", h, ", holds ", *bad));
        bad_query = true;
      }
      out.rows.push_back(bad_key || bad_query);
    }
  }
  out.at_ends = out.at_ends && keys.count > 0 && queries.count == 0;
  keys.put("keys", out.sentences);
  queries.put("heads of rows", out.sentences);
  return out;
}

}  // namespace mla::dump
