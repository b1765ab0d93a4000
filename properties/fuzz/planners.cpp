// Target about the decode planners: lists that an engine builds, and lists that none would.
#include <algorithm>

#include "core/engine/decode_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/fuzz/target.hpp"
#include "properties/fuzz/words.hpp"

namespace mla::prop::fuzz {
namespace {

constexpr std::int64_t kMostRows = 256;  // of a batch whose longest request is not named

struct Lists {
  Words qo{0}, kv{0}, last;
  std::int64_t longest = 1;
  std::int64_t uniform = 1;  // -1 when ragged
};

Lists draw_lists(ByteChoices& choices, std::int64_t page_size, std::int64_t max_rows) {
  Lists l;
  const std::int64_t count = choices.between(1, 10);
  const std::int64_t rows = choices.between(1, max_rows);
  const bool ragged = choices.between(0, 3) == 0;
  const std::int64_t most = choices.between(0, 1) == 0 ? 40 : 3000;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t q = ragged ? choices.between(0, rows) : rows;
    const std::int64_t n = choices.between(0, most);
    l.qo.push_back(l.qo.back() + static_cast<std::int32_t>(q));
    l.kv.push_back(l.kv.back() + static_cast<std::int32_t>(ceil_div(n, page_size)));
    l.last.push_back(n == 0 ? 1 : static_cast<std::int32_t>((n - 1) % page_size + 1));
    l.longest = std::max(l.longest, q);
  }
  l.uniform = ragged ? -1 : rows;
  return l;
}

// One entry becomes something that no engine writes.
void spoil(ByteChoices& choices, Lists& l) {
  Words* const lists[] = {&l.qo, &l.kv, &l.last};
  Words& list = *lists[choices.between(0, 2)];
  const std::int64_t at = choices.between(0, std::ssize(list) - 1);
  list[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(choices.between(-70000, 70000));
}

struct Call {
  Lists lists;
  plan::PlanInput input;
  plan::BufferSizes sizes;
  std::int64_t longest = 0;  // rows of a request, for which the launch takes its kernel
  bool spoilt = false;

  [[nodiscard]] std::string shown() const {
    const plan::PlanInput& in = input;
    const char* const planner = in.version == plan::PlannerVersion::v1_0   ? "v1.0, "
                                : in.version == plan::PlannerVersion::v1_1 ? "v1.1, "
                                                                           : "v1.2, ";
    return say(planner, name(in.key.arch), ", ", in.key.compute_units.count(), " units, ",
               in.key.heads_per_kv_head.count(), " heads ", name(in.key.dtype.q), "/",
               name(in.key.dtype.kv), ", page ", in.page_size, ", granularity ", in.kv_granularity,
               ", cap ", in.max_split_per_batch, ", uniform ", in.uniform_qo_len, ", longest ",
               in.key.max_qo_len, in.cp_round_robin ? ", round robin" : "",
               in.causal ? ", causal;" : ";", words_text("qo_indptr", lists.qo),
               words_text("kv_indptr", lists.kv), words_text("last_page_len", lists.last));
  }
};

// What the planner is told of the longest request: mostly the truth, or nothing (AITER's default).
// Returns the length that the buffers are for: engines provision for more rows than a step has.
std::int64_t draw_lengths(ByteChoices& choices, Call& call) {
  const std::int64_t told = choices.between(0, 9);
  const std::int64_t more = told >= 7 ? choices.between(1, 20) : 0;
  std::int64_t rows = 1;
  for (std::size_t r = 1; r < call.lists.qo.size(); ++r)
    rows = std::max<std::int64_t>(rows, std::int64_t{call.lists.qo[r]} - call.lists.qo[r - 1]);
  // Nothing else limits the rows of a spoilt list.
  const bool untold = (told == 5 || told == 6) && call.lists.qo.back() <= kMostRows;
  call.longest = untold ? rows : call.lists.longest + (told == 7 ? more : 0);
  call.input.key.max_qo_len = untold ? -1 : call.longest;
  return call.longest + (told > 7 ? more : 0);
}

// False where the sizes are refused. The spans refer to `call`, which stays where it is.
bool draw_call(ByteChoices& choices, Call& call) {
  plan::PlanInput& in = call.input;
  constexpr std::int64_t kHeads[] = {16, 32, 48, 64, 96, 128, 8, 24, 40, 56};
  constexpr DtypePair kPairs[] = {
      {Dtype::bf16, Dtype::bf16}, {Dtype::fp8, Dtype::fp8}, {Dtype::bf16, Dtype::fp8}};
  in.key.arch = choices.between(0, 1) == 0 ? Arch::gfx942 : Arch::gfx950;
  in.key.compute_units = ComputeUnits(choices.between(1, 40));
  in.key.heads_per_kv_head = Heads(kHeads[choices.between(0, 9)]);
  in.key.dtype = kPairs[choices.between(0, 2)];
  constexpr std::int64_t kPages[] = {1, 2, 4, 16, 64};
  in.page_size = kPages[choices.between(0, 4)];
  in.kv_granularity = std::int64_t{1} << choices.between(0, 6);
  in.max_split_per_batch = choices.between(0, 2) == 0 ? choices.between(1, 20) : -1;
  in.causal = choices.between(0, 4) > 0;
  in.version = choices.between(0, 5) == 0   ? plan::PlannerVersion::v1_1
               : choices.between(0, 5) == 0 ? plan::PlannerVersion::v1_0
                                            : plan::PlannerVersion::v1_2;
  if (in.version != plan::PlannerVersion::v1_2) {  // what an engine may still ask them for
    in.key.heads_per_kv_head = Heads(16);
    in.page_size = 1;
  }
  // Planner v1.0 knows no tiles: a workgroup holds 8 rows of 16 heads.
  const bool tiles = in.version != plan::PlannerVersion::v1_0;
  call.lists = draw_lists(choices, in.page_size, tiles ? 9 : 4);
  in.uniform_qo_len = call.lists.uniform;
  call.spoilt = choices.between(0, 5) == 0;
  if (call.spoilt) spoil(choices, call.lists);
  in.qo_indptr = call.lists.qo;
  in.kv_indptr = call.lists.kv;
  in.last_page_len = call.lists.last;
  const std::int64_t sized = draw_lengths(choices, call);
  in.cp_round_robin = in.causal && choices.between(0, 7) == 7;
  const auto sizes =
      plan::query_sizes({.arch = in.key.arch,
                         .compute_units = in.key.compute_units,
                         .batch = Requests(in.batch()),
                         .max_qo_len = sized,
                         .heads = in.key.heads_per_kv_head,
                         .dtype = in.key.dtype,
                         .fast_mode = in.version == plan::PlannerVersion::v1_2,
                         .intra_batch_mode = in.version == plan::PlannerVersion::v1_0,
                         .max_split_per_batch = in.max_split_per_batch});
  if (!sizes) return false;
  call.sizes = *sizes;
  return true;
}

std::optional<std::string> invalid(const Call& call, const plan::Plan& plan) {
  const plan::PlanInput& in = call.input;
  const bool old = in.version != plan::PlannerVersion::v1_2;
  PlanKey key = in.key;
  key.max_qo_len = call.longest;
  const auto shape = old ? resolve_plan_shape_v11(key) : resolve_plan_shape(key);
  if (!shape) return "there is a plan, although the shape is refused";
  // Kernels for ranks take pages of one key. On two ranks rows see less of the first one's keys
  // than on more.
  const std::vector<std::int32_t> global = plan::fewest_global_kv(in.kv_indptr, 2, 0);
  const bool dealt = in.cp_round_robin && in.page_size == 1;
  const auto violations =
      plan::plan_check({.plan = plan.view(),
                        .qo_indptr = in.qo_indptr,
                        .kv_indptr = in.kv_indptr,
                        .last_page_len = in.last_page_len,
                        .shape = *shape,
                        .causal = in.causal,
                        .cp_round_robin = in.cp_round_robin,
                        .dealt = {.ranks = dealt ? 2 : 0, .rank = 0, .global_kv_indptr = global},
                        .kernel_masks = true,
                        .page_size = in.page_size,
                        .max_qo_len = call.longest});
  if (violations.empty()) return std::nullopt;
  return say(plan::name(violations.front().rule), ": ", violations.front().what);
}

std::optional<std::string> judge(Call& call) {
  plan::PlanInput& in = call.input;
  const auto plan = plan_step(in, call.sizes);
  if (!plan && plan.error().message.empty()) return "refused without a reason";
  // What a spoilt list stands for may be anything, but is a plan only if it is a valid one.
  if (plan)
    if (auto why = invalid(call, *plan)) return why;
  if (in.version == plan::PlannerVersion::v1_2 && plan) {
    // The kernel that was not chosen; the plan of the other one was judged above.
    const auto shape = resolve_plan_shape(in.key);
    const bool serial = shape && plan::choose_v12_kernel(in, *shape) == plan::V12Kernel::serial;
    in.kernel = serial ? plan::V12Kernel::parallel : plan::V12Kernel::serial;
    const auto other = plan_step(in, call.sizes);
    if (other)
      if (auto why = invalid(call, *other)) return why;
    in.kernel = plan::V12Kernel::automatic;
  }
  // The original may break, but only in ways that are recorded.
  in.fidelity = plan::Fidelity::as_aiter;
  if (!call.spoilt) static_cast<void>(plan::make_plan(in, call.sizes));
  return std::nullopt;
}

}  // namespace

std::optional<Finding> fuzz_planners(Bytes bytes) {
  ByteChoices choices(bytes);
  Call call;
  if (!draw_call(choices, call)) return std::nullopt;
  const auto why = judge(call);
  if (!why) return std::nullopt;
  return Finding{call.shown(), *why};
}

}  // namespace mla::prop::fuzz
