// P40: what no planner can digest, and what AITER accepts and gets wrong, is refused with a reason:
// lists that no batch has, lengths that contradict each other, buffers that are too small.
#include <vector>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p40_bad_input_refused/plan_buffers.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using plan::PlannerVersion;

// The planner's question with lists of its own.
struct Question {
  plan::PlanInput input;
  std::vector<std::int32_t> qo;
  std::vector<std::int32_t> kv;
  std::vector<std::int32_t> last;
  std::int64_t request = 0;  // where a list is damaged
  [[nodiscard]] std::size_t at() const { return static_cast<std::size_t>(request); }
  [[nodiscard]] bool is(PlannerVersion version) const { return input.version == version; }
  [[nodiscard]] bool ragged() const { return input.uniform_qo_len <= 0; }
};

// `apply` says whether the question can have this damage. The reason has the word, and the id if
// there is one. What has no form cannot be planned, whether AITER's mistakes are repeated or not.
struct BadInput {
  const char* what;
  const char* word;
  const char* bug;
  bool form;
  bool (*apply)(Question& q);
};

constexpr BadInput kBadInputs[] = {
    {"no entry in kv_indptr", "kv_indptr", "", true,
     [](Question& q) { return q.kv.clear(), true; }},
    {"kv_indptr that runs backwards", "kv_indptr", "", true,
     [](Question& q) { return q.kv[q.at() + 1] = q.kv[q.at()] - 1, true; }},
    {"kv_indptr from -1", "kv_indptr", "", true,
     [](Question& q) {
       for (std::int32_t& entry : q.kv) --entry;
       return true;
     }},
    {"kv_indptr from 1", "kv_indptr", "", false,
     [](Question& q) {
       if (q.is(PlannerVersion::v1_1)) return false;
       for (std::int32_t& entry : q.kv) ++entry;
       return true;
     }},
    {"qo_indptr that runs backwards", "qo_indptr", "", true,
     [](Question& q) {
       if (!q.is(PlannerVersion::v1_1) && !q.ragged()) return false;
       return q.qo[q.at() + 1] = q.qo[q.at()] - 1, true;
     }},
    {"too few query lengths", "qo_indptr", "", true,
     [](Question& q) {
       if (!q.is(PlannerVersion::v1_1) && !q.ragged()) return false;
       return q.qo.pop_back(), true;
     }},
    {"a query length that is not that of qo_indptr", "in qo_indptr", "BUG-016", false,
     [](Question& q) {
       if (q.ragged()) return false;
       return ++q.input.uniform_qo_len, true;
     }},
    {"a longest query that is shorter than a request's", "max_qo_len", "", false,
     [](Question& q) {
       if (q.input.key.max_qo_len < 2) return false;
       return --q.input.key.max_qo_len, true;
     }},
    {"a last page without tokens", "last page", "", false,
     [](Question& q) {
       if (q.kv[q.at() + 1] == q.kv[q.at()]) return false;
       return q.last[q.at()] = 0, true;
     }},
    {"a last page with more tokens than a page", "last page", "", false,
     [](Question& q) {
       if (q.kv[q.at() + 1] == q.kv[q.at()]) return false;
       return q.last[q.at()] = static_cast<std::int32_t>(q.input.page_size + 1), true;
     }},
    {"too few last pages", "last_page_len", "", true,
     [](Question& q) {
       if (q.input.page_size == 1) return false;
       return q.last.pop_back(), true;
     }},
    {"blocks of 3 pages", "kv_granularity", "", true,
     [](Question& q) { return q.input.kv_granularity = 3, true; }},
    {"pages of 3 tokens", "page_size", "", true,
     [](Question& q) { return q.input.page_size = 3, true; }},
    {"no compute unit", "compute units", "", true,
     [](Question& q) { return q.input.key.compute_units = ComputeUnits(0), true; }},
    {"a split cap of 0", "max_split_per_batch", "", false,
     [](Question& q) {
       if (!q.is(PlannerVersion::v1_2)) return false;
       return q.input.max_split_per_batch = 0, true;
     }},
    {"pages of 16 tokens, which the planner does not know", "page_size", "", false,
     [](Question& q) {
       if (q.is(PlannerVersion::v1_2)) return false;
       return q.input.page_size = 16, true;
     }},
    {"ranks in turn, which the planner does not know", "cp_round_robin", "BUG-066", false,
     [](Question& q) {
       if (q.is(PlannerVersion::v1_2)) return false;
       return q.input.cp_round_robin = true, true;
     }},
};

// Of a planner that gets a damage in its input: it plans, or it has another reason not to.
std::optional<std::string> wrong_answer(const Functions& functions, const Question& q,
                                        const BadInput& damage, const plan::BufferSizes& sizes) {
  plan::PlanInput input = q.input;
  input.qo_indptr = q.qo;
  input.kv_indptr = q.kv;
  input.last_page_len = q.last;
  for (const auto fidelity : {plan::Fidelity::safe, plan::Fidelity::as_aiter}) {
    if (fidelity == plan::Fidelity::as_aiter && !damage.form) continue;
    input.fidelity = fidelity;
    const auto plan = functions.make_plan(input, sizes);
    const std::string what = say(fidelity == plan::Fidelity::safe ? "" : "as AITER, ", "with ",
                                 damage.what, " at request ", q.request);
    if (plan.ok()) return what + " the planner plans";
    const Error& error = plan.error();
    if (error.bug != damage.bug || error.message.find(damage.word) == std::string::npos)
      return say(what, " the planner gives another reason: ", error.message,
                 error.bug.empty() ? "" : " (" + error.bug + ")");
  }
  return std::nullopt;
}

struct SizeDamage {
  const char* what;
  void (*apply)(plan::SizeQuery& query);
};

constexpr SizeDamage kSizeDamages[] = {
    {"no head", [](plan::SizeQuery& q) { q.heads = Heads(0); }},
    {"12 heads", [](plan::SizeQuery& q) { q.heads = Heads(12); }},
    {"a negative batch", [](plan::SizeQuery& q) { q.batch = Requests(-1); }},
    {"a longest query of 0 rows", [](plan::SizeQuery& q) { q.max_qo_len = 0; }},
    {"no compute unit", [](plan::SizeQuery& q) { q.compute_units = ComputeUnits(0); }},
    {"no split", [](plan::SizeQuery& q) { q.intra_batch_mode = true, q.num_kv_splits = 0; }},
};

Outcome check_sizes(const Functions& functions, const PlanQuestion& question) {
  for (const SizeDamage& damage : kSizeDamages) {
    plan::SizeQuery query = question.query;
    damage.apply(query);
    if (functions.query_sizes(query).ok())
      return failed(say("the size query answers with ", damage.what));
  }
  return passed();
}

// What the original writes into and past this buffer is what it writes into one that is large
// enough.
std::optional<std::string> other_words(const plan::PlanBuffer& small,
                                       const plan::PlanBuffer& whole) {
  for (std::int64_t i = 0; i < whole.used(); ++i) {
    const plan::Overruns& overruns = small.overruns();
    const auto past = std::ranges::lower_bound(overruns, i, {}, &plan::Overruns::value_type::first);
    const bool kept =
        i < small.size() ? small.written(i) : past != overruns.end() && past->first == i;
    const std::int32_t word = i < small.size() ? small.at(i) : kept ? past->second : 0;
    if (kept != whole.written(i) || (kept && word != whole.at(i)))
      return say("word ", i, " of ", whole.name(), " of ", small.size(),
                 " words is not that of a buffer with room for it");
  }
  return std::nullopt;
}

// As AITER, with room for some of the works: those past the end are kept.
std::optional<std::string> check_past_the_end(const Functions& functions, plan::PlanInput input,
                                              const plan::BufferSizes& sizes, std::int64_t works) {
  input.fidelity = plan::Fidelity::as_aiter;
  const auto all = functions.make_plan(input, sizes);
  for (const std::int64_t room : {works - 1, works / 2, std::int64_t{0}}) {
    plan::BufferSizes small = sizes;
    small.work_items = room;
    const auto most = functions.make_plan(input, small);
    if (!all || !most) return std::nullopt;
    if (auto why = other_words(most->work_info, all->work_info)) return why;
  }
  return std::nullopt;
}

// Buffers with one record or entry less than the plan needs.
Outcome check_room(const Functions& functions, const PlanQuestion& question,
                   const plan::BufferSizes& sizes) {
  const Result<plan::Plan> whole = functions.make_plan(question.input, sizes);
  if (!whole) return refusal(whole.error());
  if (auto why = misread_words(*whole)) return failed(std::move(*why));
  if (question.input.page_size == 1) {
    plan::PlanInput no_list = question.input;
    no_list.last_page_len = {};
    const auto same = functions.make_plan(no_list, sizes);
    if (!same || *same != *whole)
      return failed(
          "pages of one token, of which the last is always full, are not planned without "
          "last_page_len");
  }
  if (question.input.version == PlannerVersion::v1_2 && question.input.uniform_qo_len > 0) {
    plan::PlanInput no_list = question.input;
    no_list.qo_indptr = {};
    const auto same = functions.make_plan(no_list, sizes);
    if (!same || *same != *whole)
      return failed("requests of equal rows are not planned without qo_indptr");
  }
  plan::BufferSizes small = sizes;
  if (whole->works() > 0) {
    small.work_items = whole->works();
    const auto exact = functions.make_plan(question.input, small);
    if (!exact)
      return failed("there is room for all works, and none left: " + exact.error().message);
    if (auto why = misread_words(*exact)) return failed(std::move(*why));
    small.work_items = whole->works() - 1;
    if (functions.make_plan(question.input, small).ok())
      return failed(
          say("a plan of ", whole->works(), " works is made where there is room for one less"));
    if (auto why = check_past_the_end(functions, question.input, sizes, whole->works()))
      return failed(std::move(*why));
  }
  small = sizes;
  const std::int64_t used = whole->reduce_partial_map.used();
  if (used > 0) {
    small.reduce_partial_map = used - 1;
    if (functions.make_plan(question.input, small).ok())
      return failed(
          say("a plan of ", used, " partial tiles is made where there is room for one less"));
  }
  return passed();
}

// Lists of the engine of which one has an entry less than the step needs: nothing is written.
Outcome check_short_lists(Subject& subject) {
  const DecodeMetadata& md = *subject.metadata();
  const struct {
    const char* name;
    std::vector<std::int32_t> DecodeBuffers::* list;
    std::size_t needed;
  } lists[] = {
      {"qo_indptr", &DecodeBuffers::qo_indptr, md.qo_indptr.size()},
      {"kv_indptr", &DecodeBuffers::kv_indptr, md.kv_indptr.size()},
      {"last_page_len", &DecodeBuffers::last_page_len, md.last_page_len.size()},
      {"kv_indices", &DecodeBuffers::kv_indices, static_cast<std::size_t>(md.kv_indptr.back())}};
  for (const auto& tried : lists) {
    if (tried.needed == 0) continue;
    DecodeBuffers before;
    for (const auto& each : lists) (before.*each.list).assign(each.needed, -7);
    (before.*tried.list).pop_back();
    DecodeBuffers after = before;
    const std::string room = say(tried.name, " of ", tried.needed - 1, " entries");
    if (subject.builder().build(*subject.batch(), *subject.shape(), after).ok())
      return failed(say("a step that needs ", tried.needed, " is built in ", room));
    for (const auto& each : lists)
      if (before.*each.list != after.*each.list)
        return failed(say("a step is refused for ", room, " and writes to ", each.name));
  }
  return passed();
}

Outcome decode_bad_input_refused(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (Outcome outcome = check_short_lists(subject); outcome.verdict != Verdict::pass)
    return outcome;
  if (Outcome outcome = decode_beyond_limits_refused(subject); outcome.verdict != Verdict::pass)
    return outcome;
  if (!metadata->plan) return skipped("the step has no plan");
  if (auto why = misread_words(*metadata->plan)) return failed(std::move(*why));
  const Functions functions = functions_of(subject);
  const PlanQuestion question = subject.builder().question(*metadata);
  if (Outcome outcome = check_sizes(functions, question); outcome.verdict != Verdict::pass)
    return outcome;
  const auto sizes = functions.query_sizes(question.query);
  if (!sizes) return refusal(sizes.error());
  if (Outcome outcome = check_room(functions, question, *sizes); outcome.verdict != Verdict::pass)
    return outcome;
  Random random(subject.spec(), "P40");
  const auto copy = [](std::span<const std::int32_t> list) {
    return std::vector<std::int32_t>(list.begin(), list.end());
  };
  for (const BadInput& damage : kBadInputs) {
    Question q{.input = question.input,
               .qo = copy(question.input.qo_indptr),
               .kv = copy(question.input.kv_indptr),
               .last = copy(question.input.last_page_len),
               .request = random.below(question.input.batch())};
    if (!damage.apply(q)) continue;
    if (auto why = wrong_answer(functions, q, damage, *sizes)) return failed(std::move(*why));
  }
  return passed();
}

}  // namespace

constexpr Property kP40{
    "P40", "bad_input_refused",
    "Lists that no batch has and buffers that are too small are refused.",
    by_kind<decode_bad_input_refused, prefill_bad_input_refused, fa_bad_input_refused>};

}  // namespace mla::prop
