// P34: a causal planner never sees a request with keys, but fewer than query rows: the builder
// refuses it, and so does the planner if it is asked all the same.
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"

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

// 128 fp8 heads on gfx942 take one row a tile, so the early tiles of a short request are empty.
std::optional<std::string> check_planner(plan::Fidelity fidelity, Random& random) {
  const std::int64_t q = random.between(2, 8);
  const std::int64_t n = random.between(1, q - 1);
  const std::vector<std::int32_t> qo{0, static_cast<std::int32_t>(q)};
  const std::vector<std::int32_t> kv{0, static_cast<std::int32_t>(n)};
  const std::vector<std::int32_t> last{1};
  plan::PlanInput input{.key = {.arch = Arch::gfx942,
                                .heads_per_kv_head = Heads(128),
                                .dtype = {Dtype::fp8, Dtype::fp8},
                                .max_qo_len = q},
                        .qo_indptr = qo,
                        .kv_indptr = kv,
                        .last_page_len = last};
  input.uniform_qo_len = q;
  input.fidelity = fidelity;
  const auto plan =
      plan_step(input, {.max_qo_len = q, .heads = Heads(128), .dtype = {Dtype::fp8, Dtype::fp8}});
  const std::string what = say(q, " rows in tiles of one over ", n, " keys ");
  if (plan.ok()) return "the planner takes " + what;
  if (plan.error().code != ErrorCode::refused || plan.error().bug != "BUG-075")
    return what + "are refused for another reason: " + plan.error().message;
  return std::nullopt;
}

Outcome decode_n_ge_q(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (const auto why = check_lengths(*metadata)) return failed(*why);
  Random random(subject.spec(), "P34");
  const plan::Fidelity fidelity = subject.builder().question(*metadata).input.fidelity;
  if (const auto why = check_planner(fidelity, random)) return failed(*why);
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
