#include "hip_backend/aiter/dialect.hpp"

#include <algorithm>

namespace mla::hip::aiter {
namespace {

class Rows {
 public:
  explicit Rows(const Manifest& manifest) : manifest_(manifest) {}

  // A decode row with a plan, whatever else its key says.
  [[nodiscard]] bool has(ElementType type, std::int64_t heads, std::int64_t qo_len) const {
    return any([&](const RowKey& k) { return takes(k, type, heads, qo_len); });
  }
  [[nodiscard]] bool has_lse(ElementType type, std::int64_t heads, std::int64_t qo_len) const {
    return any([&](const RowKey& k) { return takes(k, type, heads, qo_len) && k.lse; });
  }
  [[nodiscard]] bool has_ranks(ElementType type) const {
    return any([&](const RowKey& k) { return k.q == type && k.kv == type && k.cprr; });
  }

 private:
  static bool takes(const RowKey& k, ElementType type, std::int64_t heads, std::int64_t qo_len) {
    return k.q == type && k.kv == type && k.persistent && !k.prefill && k.heads == heads &&
           k.qo_len == qo_len;
  }
  template <class Predicate>
  [[nodiscard]] bool any(const Predicate& holds) const {
    return std::any_of(manifest_.begin(), manifest_.end(),
                       [&](const ManifestRow& row) { return holds(row.key); });
  }

  const Manifest& manifest_;
};

}  // namespace

Dialect dialect_of(const Manifest& manifest) {
  const bool earlier = std::any_of(manifest.begin(), manifest.end(), [](const ManifestRow& row) {
    return row.asked_for.has_value();
  });
  Dialect dialect;
  if (!earlier) return dialect;
  const Rows rows(manifest);
  constexpr auto kB = ElementType::bf16;
  constexpr auto kF = ElementType::fp8;
  dialect.asks_for_masks = false;
  dialect.fp8_on_16x4 = rows.has_ranks(kF);
  // Its kernel that returns the LSE came with it; the plain one is older.
  dialect.fp8_on_32x4 = rows.has_lse(kF, 32, 4);
  dialect.bf16_gathered = rows.has(kB, 64, 1);
  dialect.small_bf16_gathered = rows.has_ranks(kB);
  dialect.bf16_32x1_on_32x4 = !dialect.small_bf16_gathered && rows.has_lse(kB, 32, 4);
  dialect.bf16_heads_as_stride = !dialect.bf16_gathered && rows.has(kB, 32, 4);
  return dialect;
}

}  // namespace mla::hip::aiter
