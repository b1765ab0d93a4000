// P34: a causal planner never sees a request with keys, but fewer than query rows: the builder
// refuses it, and so does the planner if it is asked all the same.
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

std::optional<std::string> check_lengths(const DecodeMetadata& md) {
  if (!md.shape.causal) return std::nullopt;
  for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
    const std::int64_t q = md.qo_indptr[r + 1] - md.qo_indptr[r] - md.shape.leading_rows;
    const std::int64_t pages = md.kv_indptr[r + 1] - md.kv_indptr[r];
    const std::int64_t n = keys_in_pages(pages, md.shape.page_size, md.last_page_len[r]);
    if (n > 0 && n < q)
      return say(request_name(static_cast<std::int64_t>(r)), " has ", n, " keys for ", q,
                 " query rows");
  }
  return std::nullopt;
}

// The case with a last request that is too short.
Case too_short(const Case& c, Random& random) {
  Case other = c;
  const std::int64_t q = std::max<std::int64_t>(2, c.requests[0].qo_len);
  other.requests.push_back({q, random.between(1, q - 1)});
  other.causal = true;
  other.pad_requests = 0;
  return other;
}

using plan::PlannerVersion;

// One request of 128 heads on gfx942, which take one row a tile.
struct Asked {
  PlannerVersion version = PlannerVersion::v1_2;
  std::int64_t rows = 1;
  std::int64_t keys = 1;
  Dtype dtype = Dtype::fp8;
  bool causal = true;
};

std::string text(const Asked& asked) {
  return say(asked.version == PlannerVersion::v1_0   ? "planner v1.0: "
             : asked.version == PlannerVersion::v1_1 ? "planner v1.1: "
                                                     : "planner v1.2: ",
             asked.rows, " rows in tiles of one over ", asked.keys, " keys, ", name(asked.dtype),
             asked.causal ? ", causal" : ", not causal");
}

Result<plan::Plan> answer(const Asked& asked, plan::Fidelity fidelity) {
  const std::vector<std::int32_t> qo{0, static_cast<std::int32_t>(asked.rows)};
  const std::vector<std::int32_t> kv{0, static_cast<std::int32_t>(asked.keys)};
  const std::vector<std::int32_t> last{1};
  const DtypePair dtype{asked.dtype, asked.dtype};
  const plan::PlanInput input{.key = {.arch = Arch::gfx942,
                                      .heads_per_kv_head = Heads(128),
                                      .dtype = dtype,
                                      .max_qo_len = asked.rows},
                              .qo_indptr = qo,
                              .kv_indptr = kv,
                              .last_page_len = last,
                              .causal = asked.causal,
                              .uniform_qo_len = asked.rows,
                              .version = asked.version,
                              .fidelity = fidelity};
  return plan_step(input, {.max_qo_len = asked.rows,
                           .heads = Heads(128),
                           .dtype = dtype,
                           .num_kv_splits = 16,
                           .intra_batch_mode = asked.version == PlannerVersion::v1_0});
}

// `bug` is the id that the refusal names; empty: none.
std::optional<std::string> not_refused(const Asked& asked, plan::Fidelity fidelity,
                                       std::string_view bug) {
  const auto plan = answer(asked, fidelity);
  if (plan.ok()) return text(asked) + ": planned";
  if (plan.error().code != ErrorCode::refused || plan.error().bug != bug)
    return text(asked) + ": refused for another reason: " + plan.error().message;
  return std::nullopt;
}

std::optional<std::string> not_planned(const Asked& asked, plan::Fidelity fidelity) {
  const auto plan = answer(asked, fidelity);
  if (plan.ok()) return std::nullopt;
  return text(asked) + ": refused: " + plan.error().message;
}

// The early tiles of a causal request with fewer keys than rows would end before they begin.
std::optional<std::string> check_planners(plan::Fidelity fidelity, Random& random) {
  for (const auto version : {PlannerVersion::v1_2, PlannerVersion::v1_1, PlannerVersion::v1_0}) {
    const bool reads_causal = version != PlannerVersion::v1_0;
    Asked asked{.version = version, .rows = random.between(2, 8)};
    asked.keys = random.between(1, asked.rows - 1);
    if (auto why = not_refused(asked, fidelity, "BUG-075")) return why;
    asked.causal = false;
    if (auto why = reads_causal ? not_planned(asked, fidelity) : not_refused(asked, fidelity, ""))
      return why;
    asked.causal = true;
    asked.keys = asked.rows;
    if (auto why = not_planned(asked, fidelity)) return why;
    asked.keys = 0;
    if (version == PlannerVersion::v1_2)
      if (auto why = not_planned(asked, fidelity)) return why;
    if (version == PlannerVersion::v1_0)
      if (auto why = not_refused(asked, fidelity, "")) return why;
  }
  return std::nullopt;
}

// Planner v1.0 makes every row of 128 heads a request: of an fp8 query it always trims the keys, of
// a bf16 query never, whatever it is told. With one row nothing is to be trimmed.
std::optional<std::string> check_row_requests(plan::Fidelity fidelity, Random& random) {
  const std::int64_t rows = random.between(2, 8);
  for (const Dtype dtype : {Dtype::fp8, Dtype::bf16}) {
    Asked asked{.version = PlannerVersion::v1_0,
                .rows = rows,
                .keys = random.between(rows, 12),
                .dtype = dtype,
                .causal = dtype == Dtype::bf16};
    if (auto why = not_refused(asked, fidelity, "")) return why;
    asked.causal = !asked.causal;
    if (auto why = not_planned(asked, fidelity)) return why;
    asked.causal = !asked.causal;
    asked.rows = 1;
    if (auto why = not_planned(asked, fidelity)) return why;
  }
  return std::nullopt;
}

Outcome decode_n_ge_q(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (const auto why = check_lengths(*metadata)) return failed(*why);
  Random random(subject.spec(), "P34");
  const plan::Fidelity fidelity = subject.builder().question(*metadata).input.fidelity;
  if (const auto why = check_planners(fidelity, random)) return failed(*why);
  if (const auto why = check_row_requests(fidelity, random)) return failed(*why);
  Subject other = subject.sibling(too_short(subject.spec(), random));
  if (!other.shape()) return passed();
  if (other.metadata())
    return failed("as " + format_case(other.spec()) +
                  " a request has fewer keys than rows, and the step is built");
  if (other.metadata().error().code != ErrorCode::refused)
    return failed("as " + format_case(other.spec()) +
                  " the step is refused for another reason: " + other.metadata().error().message);
  return passed();
}

}  // namespace

constexpr Property kP34{
    "P34", "n_ge_q",
    "No request with fewer keys than causal rows reaches a planner, and none is planned.",
    by_kind<decode_n_ge_q, nullptr, nullptr>};

}  // namespace mla::prop
