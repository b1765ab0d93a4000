#include "core/shape/plan_shape.hpp"

#include <string>

#include "core/say.hpp"

namespace mla {
namespace {

// Head counts whose kernel takes all heads at once. `neither fp8` counts as bf16 here, so a bf16
// query with an fp8 cache is native for 16 heads only.
bool takes_all_heads(const PlanKey& key, std::int64_t h) {
  const bool fp8 = key.dtype.both(Dtype::fp8);
  const bool bf16 = key.dtype.neither(Dtype::fp8);
  const std::int64_t q = key.max_qo_len;
  if (h == 16) return true;
  if (h == 64 && fp8 && q == 1) return true;
  if (key.arch == Arch::gfx950 && bf16) return true;
  if (key.arch == Arch::gfx942 && h == 128 && fp8) return true;
  if (key.arch == Arch::gfx950 && fp8 && (h == 32 || h == 64 || h == 128)) return true;
  return key.experimental && fp8 && h * q == 128 && (h == 16 || h == 32 || h == 64 || h == 128);
}

bool has_small_head_kernel(const PlanKey& key, std::int64_t h) {
  if (h != 8) return false;
  if (key.arch == Arch::gfx950) return key.max_qo_len == 4 && key.dtype.both(Dtype::fp8);
  return key.max_qo_len == 2 && key.dtype.neither(Dtype::fp8);
}

std::int64_t packed_rows(const PlanKey& key, std::int64_t h) {
  if (key.arch != Arch::gfx950) return 128;
  const std::int64_t packed = h * key.max_qo_len;
  const bool bf16_half =
      key.dtype.neither(Dtype::fp8) && packed >= 64 && h <= 64 && (packed < 128 || h == 48);
  const bool fp8_half = key.dtype.both(Dtype::fp8) && h == 32 && key.max_qo_len == 3;
  return bf16_half || fp8_half ? 64 : 128;
}

Error unsupported_heads(const PlanKey& key, std::int64_t heads) {
  return {ErrorCode::unsupported,
          say("no planner entry for ", heads, " heads with ", name(key.dtype.q), "/",
              name(key.dtype.kv), " and ", key.max_qo_len, " query rows on ", name(key.arch),
              ": heads must be 16, 64 or 128, a multiple of 16 that folds, or one of the 8-head "
              "kernels")};
}

}  // namespace

std::int64_t PlanShape::tiles(std::int64_t qo_len) const {
  if (!query_split) return 1;
  const std::int64_t heads = plan_heads.count();
  return 2 * heads > rows_per_workgroup ? qo_len : ceil_div(qo_len * heads, rows_per_workgroup);
}

std::int64_t PlanShape::tile_rows(std::int64_t qo_len) const {
  const std::int64_t count = tiles(qo_len);
  return count == 0 ? 0 : ceil_div(qo_len, count);
}

Result<PlanShape> resolve_plan_shape(const PlanKey& key) {
  const std::int64_t h = key.kv_heads.count() * key.heads_per_kv_head.count();
  if (key.kv_heads.count() < 1 || h < 1) return unsupported_heads(key, h);
  PlanShape shape;
  shape.native = takes_all_heads(key, h);
  const bool fold = !shape.native && h % 16 == 0;
  shape.fold_ratio = fold ? h / 16 : 1;
  const std::int64_t nh = fold ? 16 : h;
  // Whatever is neither native nor folded is no multiple of 16.
  if (!shape.native && !fold && !has_small_head_kernel(key, h)) return unsupported_heads(key, h);
  shape.plan_heads = Heads(nh);
  shape.rows_per_workgroup = packed_rows(key, nh);
  // The unfolded head count decides whether the query is split (aiter.md 3.2, `X`).
  const std::int64_t packed = key.max_qo_len * key.heads_per_kv_head.count();
  shape.query_split = !(0 < packed && packed <= shape.rows_per_workgroup);
  // Two slots a compute unit only for the experimental HK m16x4 kernel.
  const bool doubled = key.experimental && key.arch == Arch::gfx950 && key.dtype.both(Dtype::fp8) &&
                       h * key.max_qo_len == 64;
  shape.slots = ComputeUnits(key.compute_units.count() * (doubled ? 2 : 1) / key.kv_heads.count());
  return shape;
}

Result<PlanShape> resolve_plan_shape_v11(const PlanKey& key) {
  const std::int64_t h = key.kv_heads.count() * key.heads_per_kv_head.count();
  PlanShape shape;
  shape.native = h == 16 || h == 128;
  const bool fold = !shape.native && h % 16 == 0 && h > 0 && h < 128;
  shape.fold_ratio = fold ? h / 16 : 1;
  shape.plan_heads = Heads(fold ? 16 : h);
  if (key.kv_heads.count() < 1 || (!shape.native && !fold)) return unsupported_heads(key, h);
  shape.rows_per_workgroup = 128;
  shape.query_split = true;
  shape.slots = key.compute_units;
  return shape;
}

}  // namespace mla
