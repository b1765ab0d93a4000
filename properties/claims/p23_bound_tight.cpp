// P23: the sizes that an engine reserves grow with what it declares, hold what any batch can need,
// and exceed that need by a bounded factor only.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/prefill_scratch.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

// The size query packs 16 rows a tile where it knows no better, the planner up to 128.
constexpr std::int64_t kTileSlack = 8;

struct Need {
  std::int64_t works = 0;
  std::int64_t partials = 0;
};

// What a walk over the slots can need at most: a piece for every tile and one more for every
// boundary between slots; a boundary that cuts leaves at most two pieces of a cut tile.
Need worst_need(const PlanShape& shape, std::int64_t batch, std::int64_t q) {
  const std::int64_t tiles = batch * shape.fold_ratio * shape.tiles(q);
  const std::int64_t cuts = shape.slots.count() - 1;
  return {tiles + cuts, std::min(tiles + cuts, 2 * cuts)};
}

std::string figures(const char* what, std::int64_t size, std::int64_t need) {
  return say(size, " ", what, " are reserved where at most ", need, " are needed");
}

bool smaller(const plan::BufferSizes& a, const plan::BufferSizes& b) {
  return a.work_items < b.work_items || a.reduce_indptr < b.reduce_indptr ||
         a.reduce_final_rows < b.reduce_final_rows || a.reduce_partial_map < b.reduce_partial_map;
}

std::optional<std::string> check_query(const Functions& functions, const plan::SizeQuery& query,
                                       const PlanKey& key) {
  const auto sizes = functions.query_sizes(query);
  const auto shape = resolve_plan_shape(key);
  if (!sizes || !shape) return std::nullopt;
  const std::string where =
      say("for ", query.batch.count(), " requests of ", query.max_qo_len, " rows, ",
          query.heads.count(), " heads and ", query.compute_units.count(), " compute units ");
  const Need need = worst_need(*shape, query.batch.count(), query.max_qo_len);
  const std::int64_t tiles = functions.query_tiles(query);
  const std::int64_t planned = shape->fold_ratio * shape->tiles(query.max_qo_len);
  if (tiles > kTileSlack * planned) return where + figures("tiles", tiles, planned);
  // A slot boundary is given all tiles of a request, although it cuts at most one.
  if (sizes->work_items < need.works || sizes->work_items > tiles * need.works)
    return where + figures("works", sizes->work_items, need.works);
  const bool capped = query.max_split_per_batch > 0;
  if (!capped && (sizes->reduce_partial_map < need.partials ||
                  sizes->reduce_partial_map > tiles * std::max<std::int64_t>(need.partials, 1)))
    return where + figures("partial rows", sizes->reduce_partial_map, need.partials);

  plan::SizeQuery more = query;
  more.batch += Requests(1);
  if (const auto larger = functions.query_sizes(more); !larger || smaller(*larger, *sizes))
    return where + "more is reserved than for one request more";
  if (!capped) return std::nullopt;
  more = query;
  more.max_split_per_batch += 1;
  if (const auto larger = functions.query_sizes(more); !larger || smaller(*larger, *sizes))
    return say(where, "more is reserved for ", query.max_split_per_batch,
               " splits than for one more");
  return std::nullopt;
}

Outcome decode_bound_tight(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (!metadata->plan || metadata->shape.planner != plan::PlannerVersion::v1_2)
    return skipped("the bound is that of planner v1.2");
  const Functions functions = functions_of(subject);
  PlanQuestion question = subject.builder().question(*metadata);
  const Need need =
      worst_need(metadata->shape.plan, metadata->requests().count(), metadata->shape.max_qo_len);
  if (metadata->plan->works() > need.works)
    return failed(say("the plan has ", metadata->plan->works(),
                      " works, a walk over the slots makes at most ", need.works));
  const std::int64_t product = product_compute_units(question.query.arch).count();
  for (const std::int64_t batch :
       {metadata->requests().count(), std::int64_t{1}, std::int64_t{512}})
    for (const std::int64_t units : {question.query.compute_units.count(), product}) {
      question.query.batch = Requests(batch);
      question.query.compute_units = question.input.key.compute_units = ComputeUnits(units);
      if (const auto why = check_query(functions, question.query, question.input.key))
        return failed(*why);
    }
  return passed();
}

// The scratch that is reserved is not much more than the worst batch found needs.
Outcome prefill_bound_tight(Subject& subject) {
  constexpr std::int64_t kSlack = 4;
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  if (!run->steps.front()->config.fp8) return skipped("the engine has no fp8 prefill");
  Random random(subject.spec(), "P23");
  for (const prefill::EngineConfig& config : configs_of(subject)) {
    const std::int64_t longest = prefill::size_query_of(config).max_qo_len;
    if (longest > config.limits.max_rows.count() || longest > config.limits.max_model_len.count())
      return failed(say("plan buffers are sized for requests of ", longest,
                        " rows where a step has ", config.limits.max_rows.count(), " and a model ",
                        config.limits.max_model_len.count()));
    device::DeviceHeap heap;
    device::Workspace workspace(heap);
    if (const MaybeError bad = prefill::reserve_scratch(config, workspace, subject.hooks()))
      return refusal(*bad);
    const auto worst = worst_scratch(config, subject.hooks(), random);
    if (!worst) return refusal(worst.error());
    const std::int64_t most = std::max<std::int64_t>(kSlack * worst->tiles, 2);
    const std::size_t limit =
        prefill::scratch_layout(most, config.kernel_heads, config.limits.max_rows).bytes();
    if (workspace.reserved_bytes() > limit)
      return failed(say("for ", config.limits.max_requests.count(), " requests of together ",
                        config.limits.max_rows.count(), " rows ", workspace.reserved_bytes(),
                        " bytes are reserved; the worst batch found has ", worst->tiles,
                        " partial tiles and needs ", worst->bytes));
  }
  return passed();
}

}  // namespace

constexpr Property kP23{
    "P23", "bound_tight",
    "Sizes grow with the capacity and exceed what a batch can need by a bounded factor.",
    by_kind<decode_bound_tight, prefill_bound_tight, nullptr>, PrefillSteps::fp8};

}  // namespace mla::prop
