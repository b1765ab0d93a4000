// P32: planner and reducer stay inside their scratch memory (LDS): the parallel planner runs only
// where its arrays fit, on either side of that limit the plan is the serial one, and no tile has
// more pieces than the reducer's list holds.
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

std::int64_t scratch_bytes(Arch arch) {
  return arch == Arch::gfx942 ? 65536 : 163840;
}

// Requests of one row whose arrays just fit: three words, and five for each request (aiter.md 3.2).
std::int64_t most_requests(Arch arch) {
  return (scratch_bytes(arch) - 12) / 20;
}

// Index lists of requests with one row and few keys.
struct OneRowBatch {
  std::vector<std::int32_t> qo{0};
  std::vector<std::int32_t> kv{0};
  std::vector<std::int32_t> last;

  OneRowBatch(std::int64_t requests, Random& random) : last(static_cast<std::size_t>(requests), 1) {
    for (std::int64_t r = 0; r < requests; ++r) {
      kv.push_back(kv.back() + static_cast<std::int32_t>(random.between(1, 40)));
      qo.push_back(static_cast<std::int32_t>(r + 1));
    }
  }
  [[nodiscard]] plan::PlanInput input(Arch arch) const {
    plan::PlanInput in{.key = {.arch = arch,
                               .compute_units = product_compute_units(arch),
                               .dtype = {Dtype::bf16, Dtype::bf16}},
                       .qo_indptr = qo,
                       .kv_indptr = kv,
                       .last_page_len = last};
    in.uniform_qo_len = 1;
    return in;
  }
};

std::optional<std::string> check_choice(const Functions& functions, Arch arch,
                                        std::int64_t requests, Random& random) {
  const std::int64_t limit = most_requests(arch);
  const OneRowBatch batch(requests, random);
  plan::PlanInput input = batch.input(arch);
  const auto shape = resolve_plan_shape(input.key);
  if (!shape) return "the planner refuses one row of 16 heads: " + shape.error().message;
  const bool fits = requests <= limit;
  const plan::V12Kernel chosen = functions.choose_v12_kernel(input, *shape);
  if ((chosen == plan::V12Kernel::parallel) != fits)
    return say(requests, " requests ", fits ? "fit" : "do not fit", " the scratch memory of ",
               name(arch), " for ", limit, ", but the ", fits ? "serial" : "parallel",
               " planner is chosen");
  return std::nullopt;
}

std::optional<std::string> check_planner(const Functions& functions, Arch arch, Random& random) {
  const std::int64_t limit = most_requests(arch);
  for (const std::int64_t requests : {limit, limit + 1})
    if (auto why = check_choice(functions, arch, requests, random)) return why;
  const std::int64_t requests = limit + random.between(-1, 2);
  const OneRowBatch batch(requests, random);
  plan::PlanInput input = batch.input(arch);
  const auto sizes = plan::query_sizes({.arch = arch,
                                        .compute_units = input.key.compute_units,
                                        .batch = Requests(requests),
                                        .dtype = input.key.dtype});
  if (!sizes) return "no sizes: " + sizes.error().message;
  const auto plan = plan::make_plan(input, *sizes);
  input.kernel = plan::V12Kernel::serial;
  const auto serial = plan::make_plan(input, *sizes);
  if (!plan || !serial) return "no plan: " + (plan ? serial : plan).error().message;
  if (!(*plan == *serial)) return say("the planners disagree about ", requests, " requests");
  return std::nullopt;
}

// Planner v1.1 keeps a word and two for each slot, and four and four for each tile of a request
// (aiter.md 3.3).
std::optional<std::string> check_v11(const Functions& functions, Arch arch, Random& random) {
  const Heads heads(random.below(2) == 0 ? 16 : 128);
  const std::int64_t rows =  // at most
      heads == Heads(128) ? random.between(1, 2)
                          : random.pick(std::vector<std::int64_t>{1, 8, 9, 17});
  const std::int64_t tiles = ceil_div(rows * heads.count(), 128);
  const std::int64_t words = scratch_bytes(arch) / 4 - 1 - 2 * product_compute_units(arch).count();
  const std::int64_t limit = words / (4 + 4 * tiles);
  for (const std::int64_t requests : {limit, limit + 1}) {
    const OneRowBatch batch(requests, random);
    plan::PlanInput input = batch.input(arch);
    input.version = plan::PlannerVersion::v1_1;
    input.key.max_qo_len = rows;
    input.key.heads_per_kv_head = heads;
    const auto sizes = functions.query_sizes({.arch = arch,
                                              .compute_units = input.key.compute_units,
                                              .batch = Requests(requests),
                                              .max_qo_len = rows,
                                              .heads = heads,
                                              .dtype = input.key.dtype,
                                              .fast_mode = false});
    if (!sizes) return "no sizes: " + sizes.error().message;
    const auto plan = functions.make_plan(input, *sizes);
    if (plan.ok() != (requests == limit))
      return say("planner v1.1 ", plan ? "takes " : "refuses ", requests, " requests of up to ",
                 rows, " rows of ", heads.count(), " heads, of which ", limit,
                 " fit the scratch memory of ", name(arch));
  }
  return std::nullopt;
}

// The serial planner keeps the key count of each planning request there, as long as those of all
// folded requests fit (aiter.md 3.2, step 2).
std::optional<std::string> check_lengths(const Functions& functions, Random& random) {
  constexpr std::int64_t kWords = 65536 / 4;  // of gfx942
  struct {
    std::int64_t requests, heads, rows;
    bool sparse, fits;
  } const steps[] = {
      {kWords / 8, 128, 1, false, true},      // the lengths of 8 folded requests each fill it
      {kWords / 8 + 1, 128, 1, false, true},  // and are left out where they would not fit
      {kWords / 4, 16, 4, true, true},        // a length for each sparse row
      {kWords / 4 + 1, 16, 4, true, false},   // those of the requests fit, those of the rows do not
      {kWords / 32 + 1, 128, 4, true, false},
  };
  for (const auto& step : steps) {
    OneRowBatch batch(step.requests, random);
    for (std::int32_t& row : batch.qo) row *= static_cast<std::int32_t>(step.rows);
    plan::PlanInput input = batch.input(Arch::gfx942);
    input.key.heads_per_kv_head = Heads(step.heads);
    input.topk = step.sparse ? 64 : -1;
    const auto sizes = functions.query_sizes({.arch = input.key.arch,
                                              .compute_units = input.key.compute_units,
                                              .batch = Requests(step.requests),
                                              .max_qo_len = step.rows,
                                              .heads = input.key.heads_per_kv_head,
                                              .dtype = input.key.dtype,
                                              .sparse = step.sparse});
    if (!sizes) return "no sizes: " + sizes.error().message;
    for (const auto fidelity : {plan::Fidelity::safe, plan::Fidelity::as_aiter}) {
      input.fidelity = fidelity;
      const auto plan = functions.make_plan(input, *sizes);
      if (plan.ok() != step.fits)
        return say("planner v1.2 ", plan ? "takes " : "refuses ", step.requests, " requests of ",
                   step.heads, " heads and ", step.rows, step.sparse ? " sparse" : "",
                   " rows, whose lengths ", step.fits ? "fit" : "do not fit",
                   " the scratch memory of gfx942");
    }
  }
  return std::nullopt;
}

// The sorting network of v1.1 works on a power of two of entries, padded with some that cost
// nothing. A request in the first half that costs nothing either comes after them, so that padding
// would be planned for it.
std::optional<std::string> check_padded_sort(const Functions& functions, Random& random) {
  constexpr std::int64_t kEntries = 64;
  OneRowBatch batch(kEntries - 1, random);
  const auto empty = static_cast<std::size_t>(random.below(kEntries / 2));
  const std::int32_t keys = batch.kv[empty + 1] - batch.kv[empty];
  for (std::size_t r = empty + 1; r < batch.kv.size(); ++r) {
    --batch.qo[r];
    batch.kv[r] -= keys;
  }
  ++batch.qo.back();  // v1.1 takes no fewer rows than requests
  plan::PlanInput input = batch.input(Arch::gfx942);
  input.version = plan::PlannerVersion::v1_1;
  input.uniform_qo_len = -1;
  input.key.max_qo_len = 2;
  const auto sizes = functions.query_sizes({.compute_units = input.key.compute_units,
                                            .batch = Requests(kEntries - 1),
                                            .max_qo_len = 2,
                                            .dtype = input.key.dtype,
                                            .fast_mode = false});
  if (!sizes) return "no sizes: " + sizes.error().message;
  const auto plan = functions.make_plan(input, *sizes);
  if (!plan && plan.error().message.find("sorting network") != std::string::npos)
    return std::nullopt;
  return say("planner v1.1 ", plan ? "takes " : "refuses for another reason ", kEntries - 1,
             " requests of which request ", empty,
             " costs nothing, as the padding of its sorting network does",
             plan ? "" : ": " + plan.error().message);
}

// The list has room for every slot, or for the splits that the caller names (aiter.md 7).
std::optional<std::string> check_reducer(const DecodeMetadata& md, const plan::SizeQuery& query) {
  const std::int64_t named = query.intra_batch_mode ? query.num_kv_splits : 0;
  const std::int64_t room = std::max(md.shape.plan.slots.count(), named);
  const plan::PlanBuffer& lists = md.plan->reduce_indptr;
  for (std::int64_t tile = 0; tile + 1 < lists.size(); ++tile) {
    const std::int64_t pieces = std::int64_t{lists.at(tile + 1)} - lists.at(tile);
    if (pieces > room)
      return say("tile ", tile, " has ", pieces, " pieces, the reducer's list holds ", room);
  }
  return std::nullopt;
}

Outcome scratch_bounds(Subject& subject) {
  Random random(subject.spec(), "P32");
  if (const auto why = check_planner(functions_of(subject), subject.spec().arch, random))
    return failed(*why);
  // Buffers for thousands of requests take 50 ms: for one case of 16.
  if (random.below(16) == 0) {
    if (const auto why = check_v11(functions_of(subject), subject.spec().arch, random))
      return failed(*why);
    if (const auto why = check_lengths(functions_of(subject), random)) return failed(*why);
  }
  if (auto why = check_padded_sort(functions_of(subject), random)) return failed(std::move(*why));
  const auto& metadata = subject.metadata();
  if (!metadata || !metadata->plan) return passed();
  if (const auto why = check_reducer(
          *metadata, DecodeMetadataBuilder({}, StepHooks::none()).question(*metadata).query))
    return failed(*why);
  const auto& result = subject.result();
  if (result && !result->faults.empty())
    return failed("the backend saw: " + result->faults[0].what);
  return passed();
}

}  // namespace

constexpr Property kP32{.id = "P32",
                        .name = "scratch_bounds",
                        .sentence = "Planner and reducer stay inside their scratch memory.",
                        .check = scratch_bounds,
                        .held = Held::own};

}  // namespace mla::prop
