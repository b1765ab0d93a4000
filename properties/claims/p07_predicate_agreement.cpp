// P07: who sizes the buffers, who plans, who picks the kernel and who pads the heads agree on
// heads, folding, rows and tiles: for the case, and for a sample of all shapes.
#include "core/say.hpp"
#include "core/shape/dispatch.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

std::string describe(const PlanKey& key) {
  return say(key.heads_per_kv_head.count(), " heads, ", key.max_qo_len, " rows, ",
             name(key.dtype.q), "/", name(key.dtype.kv), " on ", name(key.arch));
}

// For one request.
plan::SizeQuery query_of(const PlanKey& key) {
  return {.arch = key.arch,
          .compute_units = key.compute_units,
          .batch = Requests(1),
          .max_qo_len = key.max_qo_len,
          .heads = key.heads_per_kv_head,
          .dtype = key.dtype,
          .experimental = key.experimental};
}

// The size query counts at least the tiles that the planner makes of any request that fits.
std::optional<std::string> tiles_fit(const Functions& functions, const PlanKey& key,
                                     const PlanShape& shape) {
  const std::int64_t sized = functions.query_tiles(query_of(key));
  for (std::int64_t q = 1; q <= key.max_qo_len; ++q)
    if (shape.fold_ratio * shape.tiles(q) > sized)
      return say(describe(key), ": the planner makes ", shape.fold_ratio * shape.tiles(q),
                 " tiles of ", q, " rows, the size query counts ", sized);
  return std::nullopt;
}

PlanKey drawn_key(Random& random) {
  const std::vector<DtypePair> dtypes = {
      {Dtype::bf16, Dtype::bf16}, {Dtype::bf16, Dtype::fp8}, {Dtype::fp8, Dtype::fp8}};
  return {.arch = random.below(2) == 0 ? Arch::gfx942 : Arch::gfx950,
          .compute_units = ComputeUnits(random.between(1, 304)),
          .heads_per_kv_head = Heads(16 * random.between(1, 8)),
          .kv_heads = Heads(1),
          .dtype = random.pick(dtypes),
          .max_qo_len = random.between(1, 17),
          .experimental = random.below(4) == 0};
}

// A listed kernel can be planned for, and its buffers sized.
std::optional<std::string> check_key(const Functions& functions, const PlanKey& key) {
  const std::int64_t heads = key.heads_per_kv_head.count();
  if (!find_persistent_kernel(key.arch, key.dtype, heads, key.max_qo_len)) return std::nullopt;
  const auto shape = resolve_plan_shape(key);
  if (!shape)
    return describe(key) +
           ": a kernel is listed, but the planner refuses: " + shape.error().message;
  if (shape->fold_ratio * shape->plan_heads.count() != heads)
    return say(describe(key), ": ", shape->fold_ratio, " groups of ", shape->plan_heads.count(),
               " heads");
  const auto sizes = functions.query_sizes(query_of(key));
  if (sizes && sizes->work_indptr != shape->slots.count() + 1)
    return say(describe(key), ": the planner fills ", shape->slots.count(),
               " slots, the size query counts ", sizes->work_indptr - 1);
  return tiles_fit(functions, key, *shape);
}

std::optional<std::string> check_case(const Functions& functions, const ResolvedShape& shape,
                                      const PlanQuestion& question) {
  const PlanKey& key = question.input.key;
  const plan::SizeQuery& query = question.query;
  const PlanKey decided = shape.plan_key();
  if (query.heads != decided.heads_per_kv_head || key.heads_per_kv_head != query.heads)
    return say("the kernel has ", decided.heads_per_kv_head.count(),
               " heads, the planner is asked for ", key.heads_per_kv_head.count(),
               " and the size query for ", query.heads.count());
  if (query.max_qo_len != decided.max_qo_len || key.max_qo_len != decided.max_qo_len)
    return say("the kernel takes ", decided.max_qo_len, " rows, the planner is asked for ",
               key.max_qo_len, " and the size query for ", query.max_qo_len);
  const auto planned = resolve_plan_shape(key);
  if (!planned) return "the planner refuses the shape: " + planned.error().message;
  if (planned->fold_ratio != shape.fold_ratio() || planned->plan_heads != shape.row_heads())
    return say("the planner folds ", planned->fold_ratio, " times, the kernel ", shape.fold_ratio(),
               " times");
  return tiles_fit(functions, key, *planned);
}

// The kernels for 8 heads are few: all of them.
std::optional<std::string> check_8_heads(const Functions& functions) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950})
    for (const DtypePair dtype :
         {DtypePair{Dtype::bf16, Dtype::bf16}, DtypePair{Dtype::fp8, Dtype::fp8}})
      for (std::int64_t rows = 1; rows <= 8; ++rows)
        if (auto why = check_key(functions, {.arch = arch,
                                             .compute_units = product_compute_units(arch),
                                             .heads_per_kv_head = Heads(8),
                                             .dtype = dtype,
                                             .max_qo_len = rows}))
          return why;
  return std::nullopt;
}

Outcome decode_predicate_agreement(Subject& subject) {
  const auto& shape = subject.shape();
  if (!shape) return refusal(shape.error());
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P07");
  if (shape->heads.kernel.count() != shape->kernel.heads)
    return failed(say("heads are padded to ", shape->heads.kernel.count(), ", the kernel ",
                      shape->kernel.label, " takes ", shape->kernel.heads));
  // The old planners ignore architecture and dtype: their own predicate is another one.
  // So is that of an AITER that chose the kernel itself.
  if (shape->route != Route::split && shape->planner == plan::PlannerVersion::v1_2 &&
      !chosen_by_dispatch(*shape)) {
    DecodeBuffers buffers = make_decode_buffers(subject.spec(), *subject.batch(), *shape);
    const auto md = subject.builder().lists(*subject.batch(), *shape, buffers);
    if (!md) return refusal(md.error());
    if (const auto why = check_case(functions, *shape, subject.builder().question(*md)))
      return failed(*why);
  }
  if (const auto why = check_8_heads(functions)) return failed(*why);
  for (int round = 0; round < 12; ++round)
    if (const auto why = check_key(functions, drawn_key(random))) return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP07{
    "P07", "predicate_agreement",
    "Size query, planner, kernel table and head padding agree on heads, folding and tiles.",
    by_kind<decode_predicate_agreement, nullptr, nullptr>};

}  // namespace mla::prop
