// P06: nothing is ever written past the end of a buffer: not by the step, and not by any batch that
// fits the declared capacity.
#include "core/engine/decode_step.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

std::optional<std::string> overrun_of(const plan::Plan& plan) {
  for (const plan::PlanBuffer* b : plan.all())
    if (!b->overruns().empty())
      return say("element ", b->overruns().rbegin()->first, " of ", b->name(),
                 " is written, which has ", b->size(), " elements");
  return std::nullopt;
}

// Lengths that a search for the worst case tries: one request takes all, all take the same, many
// take next to nothing, or anything.
std::vector<std::int32_t> drawn_pages(Random& random, std::int64_t requests, std::int64_t least) {
  const std::int64_t kind = random.below(4);
  std::vector<std::int32_t> indptr{0};
  for (std::int64_t r = 0; r < requests; ++r) {
    std::int64_t pages = least + random.below(3000);
    if (kind == 1) pages = least + (r == 0 ? 100000 : 0);
    if (kind == 2) pages = least + 1600;
    if (kind == 3) pages = least + random.below(2);
    indptr.push_back(indptr.back() + static_cast<std::int32_t>(pages));
  }
  return indptr;
}

// Planning tiles of a request with so many rows, where they are the most that a step has.
std::int64_t tiles_of(PlanKey key, std::int64_t rows) {
  key.max_qo_len = rows;
  const auto shape = resolve_plan_shape(key);
  return shape ? shape->tiles(rows) * shape->fold_ratio : 0;
}

// Plans a batch that fits a capacity into the buffers that the size query gives for it.
std::optional<std::string> try_capacity(const Functions& functions, const PlanQuestion& question,
                                        Random& random) {
  const std::int64_t capacity = random.between(1, 48);
  const std::int64_t requests = random.below(2) == 0 ? capacity : random.between(1, capacity);
  const std::int64_t q = question.input.key.max_qo_len;
  const std::vector<std::int32_t> kv = drawn_pages(random, requests, q);
  std::vector<std::int32_t> qo;
  for (std::int64_t r = 0; r <= requests; ++r) qo.push_back(static_cast<std::int32_t>(r * q));
  const std::vector<std::int32_t> last(static_cast<std::size_t>(requests), 1);
  plan::PlanInput input = question.input;
  input.qo_indptr = qo;
  input.kv_indptr = kv;
  input.last_page_len = last;
  if (input.uniform_qo_len > 0) input.uniform_qo_len = q;
  input.fidelity = plan::Fidelity::as_aiter;  // keep overruns instead of refusing
  plan::SizeQuery query = question.query;
  query.batch = Requests(capacity);
  // Engines provision for the longest request that they may get. Where a request of fewer rows has
  // more tiles, AITER's sizes are too small (AITER-33).
  const std::int64_t provisioned = random.between(q, std::max<std::int64_t>(q, 17));
  if (tiles_of(input.key, provisioned) >= tiles_of(input.key, q)) query.max_qo_len = provisioned;
  const auto sizes = functions.query_sizes(query);
  if (!sizes) return "the size query refuses: " + sizes.error().message;
  const auto plan = plan::make_plan(input, *sizes);
  if (!plan) return std::nullopt;  // the planner is not asked for such a batch
  if (auto why = overrun_of(*plan))
    return say(*why, " (", requests, " requests, capacity ", capacity, ", ", kv.back(),
               " pages, sized for ", query.max_qo_len, " rows)");
  return std::nullopt;
}

// Ragged steps are not raised, so an engine that raises rows provisions no less than one that does
// not, also where what it would raise to has no kernel.
std::optional<std::string> raising_provisions_less(const Case& c, Random& random) {
  Case plain = c;
  plain.planner = random.below(2) == 0 ? PlannerChoice::automatic : PlannerChoice::v11;
  plain.decode().kernel_rows = 0;
  plain.decode().kv_splits = 0;
  Case raising = plain;
  raising.decode().kernel_rows = random.between(2, 17);
  const engine::StepLimits limits{
      .max_requests = random.between(1, 48), .max_qo_len = random.between(1, 8), .max_pages = 1};
  const auto least = engine::DecodeStepBuilder(plain, limits, StepHooks::none()).provision();
  if (!least) return std::nullopt;
  const auto sizes = engine::DecodeStepBuilder(raising, limits, StepHooks::none()).provision();
  const std::string engine = say("an engine of up to ", limits.max_qo_len, " rows, raised to ",
                                 raising.decode().kernel_rows, ", ");
  if (!sizes) return engine + "provisions nothing: " + sizes.error().message;
  if (sizes->work_indptr < least->work_indptr || sizes->work_items < least->work_items ||
      sizes->reduce_indptr < least->reduce_indptr ||
      sizes->reduce_final_rows < least->reduce_final_rows ||
      sizes->reduce_partial_map < least->reduce_partial_map)
    return engine + "provisions less than without raising";
  return std::nullopt;
}

Outcome decode_capacity_guard(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) {
    if (metadata.error().code == ErrorCode::overrun) return failed(metadata.error().message);
    return refusal(metadata.error());
  }
  if (metadata->plan) {
    if (const auto why = overrun_of(*metadata->plan)) return failed(*why);
    // v1.0 and v1.1 fold heads that the size query takes for native (aiter.md 2).
    if (metadata->shape.planner == plan::PlannerVersion::v1_2) {
      const Functions functions = functions_of(subject);
      const PlanQuestion question = subject.builder().question(*metadata);
      Random random(subject.spec(), "P06");
      for (int round = 0; round < 3; ++round)
        if (const auto why = try_capacity(functions, question, random)) return failed(*why);
    }
  }
  Random raised(subject.spec(), "P06 raised");
  if (const auto why = raising_provisions_less(subject.spec(), raised)) return failed(*why);
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  if (!result->faults.empty()) return failed("the backend saw: " + result->faults[0].what);
  return passed();
}

}  // namespace

constexpr Property kP06{"P06", "capacity_guard",
                        "No batch within the declared capacity writes past the end of a buffer.",
                        by_kind<decode_capacity_guard, nullptr, nullptr>};

}  // namespace mla::prop
