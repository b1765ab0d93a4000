#include "properties/capture/checked_prefill.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "properties/capture/checked_lists.hpp"
#include "properties/capture/diagnose.hpp"
#include "properties/capture/json_fields.hpp"
#include "properties/capture/planner_call.hpp"
#include "properties/capture/prefill_kernel.hpp"

namespace mla::cli {
namespace {

Status read_call(const nlohmann::json& object, PrefillCall& c) {
  static constexpr std::string_view kOthers[] = {"name",
                                                 "format",
                                                 "note",
                                                 "decisions",
                                                 "context_chunks",
                                                 "buffer_sizes",
                                                 "work_indptr",
                                                 "work_info",
                                                 "reduce_indptr",
                                                 "reduce_final_map",
                                                 "reduce_partial_map",
                                                 "overruns",
                                                 "expected"};
  Fields fields(object);
  c.arch = read_arch(fields);
  plan::PsInput& in = c.input;
  c.qo_indptr = fields.words("seqlens_qo_indptr");
  c.kv_indptr = fields.words("pages_kv_indptr");
  c.context_lens = fields.words("context_lens");
  const auto at_least_1 = [&](const char* key, std::int64_t value) {
    if (value < 1) fields.reject(key, say("is ", value, ": it must be at least 1"));
    return value;
  };
  const auto size = [&](const char* key, std::int64_t absent) {
    return at_least_1(key, fields.number_or(key, absent));
  };
  in.compute_units = ComputeUnits(at_least_1("num_cu", read_compute_units(fields).count()));
  in.kv_heads = read_heads(fields, "num_heads_k");
  c.heads = in.kv_heads * read_heads(fields, "gqa_ratio").count();
  in.qhead_granularity = size("qhead_granularity", 1);
  in.qlen_granularity = size("qlen_granularity", 256);
  in.kvlen_granularity = size("kvlen_granularity", 16);
  in.block_size = size("block_size", 16);
  const std::string granularity = say("is ", in.kvlen_granularity, ": it must be a ");
  if (!is_power_of_two(in.kvlen_granularity))
    fields.reject("kvlen_granularity", granularity + "power of two");
  else if (in.block_size > 0 && in.kvlen_granularity % in.block_size != 0)
    fields.reject("kvlen_granularity",
                  say(granularity, "multiple of block_size, which is ", in.block_size));
  in.causal = fields.truth_or("is_causal", true);
  in.fidelity = plan::Fidelity::as_aiter;
  fields.reject_unknown(kOthers);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  in.qo_indptr = c.qo_indptr;
  in.kv_indptr = c.kv_indptr;
  in.context_lens = c.context_lens;
  return std::nullopt;
}

using Sentences = std::vector<std::string>;

// Rows, pages and keys of each request fit each other.
Sentences contradictions(const PrefillCall& c) {
  Sentences out;
  check_indptr("seqlens_qo_indptr", c.qo_indptr, out);
  check_indptr("pages_kv_indptr", c.kv_indptr, out);
  if (!out.empty()) return out;
  if (c.kv_indptr.size() != c.qo_indptr.size() || c.context_lens.size() + 1 != c.qo_indptr.size()) {
    out.push_back(say("seqlens_qo_indptr is for ", c.qo_indptr.size() - 1,
                      " requests, pages_kv_indptr has ", c.kv_indptr.size(),
                      " entries and context_lens ", c.context_lens.size()));
    return out;
  }
  for (std::size_t r = 0; r + 1 < c.qo_indptr.size(); ++r) {
    const std::int64_t rows = std::int64_t{c.qo_indptr[r + 1]} - c.qo_indptr[r];
    const std::int64_t pages = std::int64_t{c.kv_indptr[r + 1]} - c.kv_indptr[r];
    const std::int64_t keys = c.context_lens[r];
    const std::string request = say("request ", r, " has ", keys, " keys in context_lens, ");
    if (keys < 0 || ceil_div(std::max<std::int64_t>(keys, 0), c.input.block_size) > pages)
      out.push_back(
          say(request, "pages_kv_indptr gives it ", pages, " pages of ", c.input.block_size));
    else if (c.input.causal && pages > ceil_div(keys, c.input.block_size))
      out.push_back(say(request, "pages_kv_indptr gives it ", pages, " pages of ",
                        c.input.block_size,
                        ", by which the kernel counts keys: rows see keys after their own"));
    else if (c.input.causal && keys < rows)
      out.push_back(say(request, "fewer than its ", rows,
                        " new rows: context_lens counts the new tokens as well"));
  }
  return out;
}

// Pages that no key is in: without a mask no work reads them, but the builder counted them.
Sentences surplus_pages(const PrefillCall& c) {
  Sentences out;
  for (std::size_t r = 0; r + 1 < c.qo_indptr.size(); ++r) {
    const std::int64_t pages = std::int64_t{c.kv_indptr[r + 1]} - c.kv_indptr[r];
    const std::int64_t used = ceil_div(std::int64_t{c.context_lens[r]}, c.input.block_size);
    if (pages > used)
      out.push_back(say("request ", r, " has ", c.context_lens[r],
                        " keys in context_lens, for which ", used, " pages of ", c.input.block_size,
                        " are enough; pages_kv_indptr gives it ", pages));
  }
  return out;
}

// The plan of the captured call, in buffers that hold it.
Result<plan::Plan> planned_again(const PrefillCall& call, const plan::BufferSizes& captured) {
  const auto asked = plan::query_ps_sizes(prefill_sizes(call.input));
  return plan::plan_ps_prefill(call.input, asked ? with_room(captured, *asked) : captured);
}

// What the planner wrote past the end of a captured buffer when it made this plan; empty: nothing.
std::string prefill_overrun(const PrefillCall& call) {
  const plan::BufferSizes captured = sizes_of(call.found);
  const auto planned = planned_again(call, captured);
  if (!planned || !differences(*planned, call.found).empty()) return {};
  const auto allocated = plan::plan_ps_prefill(call.input, at_most(captured, planned->sizes()));
  return allocated ? past_the_end(*allocated) : std::string();
}

// Who made a plan that is not valid.
Diagnosis diagnose_prefill(const PrefillCall& call) {
  const auto planned = planned_again(call, sizes_of(call.found));
  if (!planned)
    return {Culprit::builder, "the planner does not take this call: " + planned.error().message};
  const std::vector<Difference> words = differences(*planned, call.found);
  if (const Status bad = words.empty() ? plan::refused_requests(call.input) : std::nullopt)
    return {Culprit::builder, "the planner gives this plan for the lists: " + bad->message};
  if (const std::string what = prefill_overrun(call); !what.empty())
    return {Culprit::builder, what};
  if (words.empty())
    return {Culprit::planner,
            "the original planner gives these buffers for this call, and they are no valid plan"};
  const std::string few = few_words(words);
  return {Culprit::stale, few.empty() ? "the planner does not give these buffers for this call: "
                                        "they are of another step, or damaged"
                                      : few};
}

}  // namespace

plan::PsCheckInput PrefillCall::check_input() const {
  return {.plan = found.view(),
          .qo_indptr = qo_indptr,
          .kv_indptr = kv_indptr,
          .context_lens = context_lens,
          .heads = heads,
          .qhead_granularity = input.qhead_granularity,
          .qlen_granularity = input.qlen_granularity,
          .block_size = input.block_size,
          .causal = input.causal,
          .most_pieces = input.compute_units.count()};
}

Result<PrefillCall> read_prefill_call(const nlohmann::json& object) {
  PrefillCall call;
  if (const Status bad = read_call(object, call)) return *bad;
  // This planner writes every element of its buffers, zeros after the plan.
  auto found = read_plan(object, 0);
  if (!found) return found.error();
  call.found = std::move(*found);
  return call;
}

bool is_prefill(const nlohmann::json& object) {
  return object.value("format", nlohmann::json()) == "mla-testbed prefill 1" ||
         object.contains("pages_kv_indptr") || object.contains("context_lens");
}

Result<PlanAnswer> check_prefill_object(const nlohmann::json& object, std::string name) {
  PlanAnswer answer;
  answer.name = std::move(name);
  if (!has_plan(object)) {
    answer.not_checked = "a prefill step without a plan";
    return answer;
  }
  const auto read = read_prefill_call(object);
  if (!read) return read.error();
  const PrefillCall& call = *read;
  for (const std::string& what : contradictions(call))
    answer.findings.push_back({kBatchRule, what});
  if (!answer.findings.empty()) {
    answer.culprit = cli::name(Culprit::builder);
    answer.diagnosis = "the lists of the batch contradict each other, whatever the plan";
    return answer;
  }
  // Lists that are wrong were reported above. These may be right, but are none of an engine.
  if (const Status bad = too_large(call.input)) return *bad;
  answer.notes = surplus_pages(call);
  for (const std::string& what : refused_by_kernel(call))
    answer.findings.push_back({kKernelRule, what});
  if (!answer.findings.empty()) {
    answer.culprit = cli::name(Culprit::builder);
    answer.diagnosis = "it asked for a plan that no kernel takes";
  }
  for (const plan::Violation& v : plan::ps_check(call.check_input()))
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  if (answer.findings.empty())
    if (const std::string what = cut_between_tiles(call); !what.empty()) {
      answer.findings.push_back({kKernelRule, what});
      answer.culprit = cli::name(Culprit::builder);
      answer.diagnosis = say("kvlen_granularity is ", call.input.kvlen_granularity,
                             ": the kernel needs a multiple of 128");
    }
  if (answer.findings.empty())
    if (const std::string what = prefill_overrun(call); !what.empty())
      answer.findings.push_back({kBufferRule, what});
  if (answer.findings.empty() || !answer.culprit.empty()) return answer;
  const Diagnosis diagnosis = diagnose_prefill(call);
  answer.culprit = cli::name(diagnosis.culprit);
  answer.diagnosis = diagnosis.sentence;
  return answer;
}

}  // namespace mla::cli
