#include "properties/claims/p40_bad_input_refused/planner_refusals.hpp"

#include <algorithm>
#include <vector>

#include "core/say.hpp"

namespace mla::prop {
namespace {

using plan::PlannerVersion;
using Sentence = std::optional<std::string>;

// The planner's question with lists of its own.
struct Asked {
  plan::PlanInput input;
  std::vector<std::int32_t> qo, kv, last;
  std::size_t request = 0;  // where a list is damaged

  Asked(const plan::PlanInput& from, std::size_t at)
      : input(from),
        qo(from.qo_indptr.begin(), from.qo_indptr.end()),
        kv(from.kv_indptr.begin(), from.kv_indptr.end()),
        last(from.last_page_len.begin(), from.last_page_len.end()),
        request(at) {}

  [[nodiscard]] bool is(PlannerVersion version) const { return input.version == version; }
  [[nodiscard]] bool ragged() const { return input.uniform_qo_len <= 0; }
  [[nodiscard]] bool has_pages() const { return kv[request + 1] > kv[request]; }
  [[nodiscard]] Result<plan::Plan> planned(const Functions& functions,
                                           const plan::BufferSizes& sizes) {
    input.qo_indptr = qo;
    input.kv_indptr = kv;
    input.last_page_len = last;
    return functions.make_plan(input, sizes);
  }
};

// `apply` says whether the question can have this damage. The reason has the word and the id.
struct BadCall {
  const char* what;
  const char* word;
  const char* bug;
  bool (*apply)(Asked& q);
};

constexpr BadCall kBadCalls[] = {
    {"a query length that is not that of qo_indptr", "in qo_indptr", "BUG-016",
     [](Asked& q) {
       if (q.ragged()) return false;
       return ++q.input.uniform_qo_len, true;
     }},
    {"a longest query that is shorter than a request's", "max_qo_len", "",
     [](Asked& q) {
       // With one row less the shape may be another, and be refused before the lengths are read.
       std::int32_t longest = 0;
       for (std::size_t r = 1; r < q.qo.size(); ++r)
         longest = std::max(longest, q.qo[r] - q.qo[r - 1]);
       if (longest < 2 || q.input.key.max_qo_len != longest) return false;
       return --q.input.key.max_qo_len, true;
     }},
    {"a last page without tokens", "last page", "",
     [](Asked& q) {
       if (!q.has_pages()) return false;
       return q.last[q.request] = 0, true;
     }},
    {"a last page with more tokens than a page", "last page", "",
     [](Asked& q) {
       if (!q.has_pages()) return false;
       return q.last[q.request] = static_cast<std::int32_t>(q.input.page_size + 1), true;
     }},
};

// What no planner can plan, whether it repeats AITER's mistakes or not.
constexpr BadCall kFormDamages[] = {
    {"no entry in kv_indptr", "kv_indptr", "", [](Asked& q) { return q.kv.clear(), true; }},
    {"kv_indptr that runs backwards", "kv_indptr", "",
     [](Asked& q) { return q.kv[q.request + 1] = q.kv[q.request] - 1, true; }},
    {"kv_indptr from -1", "kv_indptr", "",
     [](Asked& q) {
       for (std::int32_t& entry : q.kv) --entry;
       return true;
     }},
    {"qo_indptr that runs backwards", "qo_indptr", "",
     [](Asked& q) {
       if (!q.is(PlannerVersion::v1_1) && !q.ragged()) return false;
       return q.qo[q.request + 1] = q.qo[q.request] - 1, true;
     }},
    {"too few query lengths", "qo_indptr", "",
     [](Asked& q) {
       if (!q.is(PlannerVersion::v1_1) && !q.ragged()) return false;
       return q.qo.pop_back(), true;
     }},
    {"too few last pages", "last_page_len", "",
     [](Asked& q) {
       if (q.input.page_size == 1) return false;
       return q.last.pop_back(), true;
     }},
    {"blocks of 3 pages", "kv_granularity", "",
     [](Asked& q) { return q.input.kv_granularity = 3, true; }},
    {"pages of 3 tokens", "page_size", "", [](Asked& q) { return q.input.page_size = 3, true; }},
    {"no compute unit", "compute units", "",
     [](Asked& q) { return q.input.key.compute_units = ComputeUnits(0), true; }},
};

Sentence wrong_reason(const Result<plan::Plan>& plan, const BadCall& damage) {
  if (plan.ok()) return say("the planner plans with ", damage.what);
  const Error& error = plan.error();
  if (error.bug == damage.bug && error.message.find(damage.word) != std::string::npos)
    return std::nullopt;
  return say("with ", damage.what, " the planner gives another reason: ", error.message,
             error.bug.empty() ? "" : " (" + error.bug + ")");
}

// What an engine writes as last page of a request without pages means nothing.
Sentence reads_no_last_page(const Functions& functions, const PlanQuestion& question,
                            const plan::BufferSizes& sizes) {
  Asked q(question.input, 0);
  // One such request after the others; the buffers have no room for it.
  q.kv.push_back(q.kv.back());
  q.qo.push_back(q.qo.empty() ? 0 : q.qo.back());
  q.last.push_back(1);
  if (!q.ragged()) q.qo.back() += static_cast<std::int32_t>(q.input.uniform_qo_len);
  plan::BufferSizes room = sizes;
  room.work_items += 1024;
  room.reduce_indptr += 1024;
  room.reduce_final_rows += 1024;
  const auto whole = q.planned(functions, room);
  if (!whole) return std::nullopt;  // v1.0 plans no request without keys
  for (const std::int64_t tokens : {std::int64_t{0}, q.input.page_size + 1}) {
    for (std::size_t r = 0; r < q.last.size(); ++r)
      if (q.kv[r] == q.kv[r + 1]) q.last[r] = static_cast<std::int32_t>(tokens);
    const auto same = q.planned(functions, room);
    const std::string what = say("with ", tokens, " as last page of requests without pages ");
    if (!same) return what + "the planner refuses: " + same.error().message;
    if (!(*same == *whole)) return what + "the plan changes";
  }
  return std::nullopt;
}

// Planner v1.0 reads no query lengths, so that it needs one for all. Few steps are planned by it.
Sentence plans_no_length(const Functions& functions, Random& random) {
  const std::vector<std::int32_t> qo{0, 1};
  const std::vector<std::int32_t> kv{0, static_cast<std::int32_t>(random.between(200, 900))};
  plan::PlanInput input{.qo_indptr = qo,
                        .kv_indptr = kv,
                        .uniform_qo_len = 1,
                        .max_split_per_batch = 32,
                        .version = PlannerVersion::v1_0};
  const auto sizes = functions.query_sizes({.intra_batch_mode = true});
  if (!sizes) return "no sizes for planner v1.0: " + sizes.error().message;
  if (const auto plan = functions.make_plan(input, *sizes); !plan)
    return "planner v1.0 refuses one request of one row: " + plan.error().message;
  input.uniform_qo_len = random.between(-1, 0);
  return wrong_reason(
      functions.make_plan(input, *sizes),
      {"no query length for all, which planner v1.0 needs", "uniform_qo_len", "", nullptr});
}

// An idle rank asks for the buffers of no request.
Sentence sizes_of_nobody(const Functions& functions, const PlanQuestion& question) {
  plan::SizeQuery query = question.query;
  query.batch = Requests(0);
  const auto sizes = functions.query_sizes(query);
  if (!sizes) return "the size query refuses a batch of 0 requests: " + sizes.error().message;
  if (sizes->reduce_indptr != 1 || sizes->reduce_final_rows != 0)
    return "the size query finds rows to merge in a batch of 0 requests";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal_misjudged(const Functions& functions,
                                             const PlanQuestion& question,
                                             const plan::BufferSizes& sizes, Random& random) {
  const auto at = static_cast<std::size_t>(random.below(question.input.batch()));
  for (const BadCall& damage : kBadCalls) {
    Asked q(question.input, at);
    if (!damage.apply(q)) continue;
    if (auto why = wrong_reason(q.planned(functions, sizes), damage)) return why;
  }
  for (const auto fidelity : {plan::Fidelity::safe, plan::Fidelity::as_aiter})
    for (const BadCall& damage : kFormDamages) {
      Asked q(question.input, at);
      if (!damage.apply(q)) continue;
      q.input.fidelity = fidelity;
      if (auto why = wrong_reason(q.planned(functions, sizes), damage))
        return (fidelity == plan::Fidelity::safe ? "" : "as AITER, ") + *why;
    }
  if (auto why = sizes_of_nobody(functions, question)) return why;
  if (auto why = plans_no_length(functions, random)) return why;
  return reads_no_last_page(functions, question, sizes);
}

}  // namespace mla::prop
