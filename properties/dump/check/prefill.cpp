#include <algorithm>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "properties/dump/blame/blame.hpp"
#include "properties/dump/check/lists.hpp"
#include "properties/dump/check/steps.hpp"

namespace mla::dump {
namespace {

// There is one kernel after get_ps_metadata_v1: mla_prefill_ps_fwd, FP8, gfx950, tiles of 256 rows
// by 128 keys of one head, pages of one token (csrc/py_itfs_cu/asm_mla.cu;
// hsa/gfx950/mla/mla_asm.csv). The planner also plans for other tiles, groups of heads and pages.
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileKeys = 128;
constexpr const char* kKernel = "AITER's prefill kernel";

using Sentences = std::vector<std::string>;

// Rows, pages and keys of each request fit each other.
Sentences contradictions(const plan::PsInput& in) {
  Sentences out;
  check_indptr("seqlens_qo_indptr", in.qo_indptr, out);
  check_indptr("pages_kv_indptr", in.kv_indptr, out);
  if (!out.empty()) return out;
  if (in.kv_indptr.size() != in.qo_indptr.size() ||
      in.context_lens.size() + 1 != in.qo_indptr.size()) {
    out.push_back(say("seqlens_qo_indptr is for ", in.qo_indptr.size() - 1,
                      " requests, pages_kv_indptr has ", in.kv_indptr.size(),
                      " entries and context_lens ", in.context_lens.size()));
    return out;
  }
  for (std::size_t r = 0; r + 1 < in.qo_indptr.size(); ++r) {
    const std::int64_t rows = std::int64_t{in.qo_indptr[r + 1]} - in.qo_indptr[r];
    const std::int64_t pages = std::int64_t{in.kv_indptr[r + 1]} - in.kv_indptr[r];
    const std::int64_t keys = in.context_lens[r];
    const std::string request = say("request ", r, " has ", keys, " keys in context_lens, ");
    if (keys < 0 || ceil_div(std::max<std::int64_t>(keys, 0), in.block_size) > pages)
      out.push_back(say(request, "pages_kv_indptr gives it ", pages, " pages of ", in.block_size));
    else if (in.causal && pages > ceil_div(keys, in.block_size))
      out.push_back(say(request, "pages_kv_indptr gives it ", pages, " pages of ", in.block_size,
                        ", by which the kernel counts keys: rows see keys after their own"));
    else if (in.causal && keys < rows)
      out.push_back(say(request, "fewer than its ", rows,
                        " new rows: context_lens counts the new tokens as well"));
  }
  return out;
}

// Pages that no key is in: without a mask no work reads them, but the builder counted them.
Sentences surplus_pages(const plan::PsInput& in) {
  Sentences out;
  for (std::size_t r = 0; r + 1 < in.qo_indptr.size(); ++r) {
    const std::int64_t pages = std::int64_t{in.kv_indptr[r + 1]} - in.kv_indptr[r];
    const std::int64_t used = ceil_div(std::int64_t{in.context_lens[r]}, in.block_size);
    if (pages > used)
      out.push_back(say("request ", r, " has ", in.context_lens[r],
                        " keys in context_lens, for which ", used, " pages of ", in.block_size,
                        " are enough; pages_kv_indptr gives it ", pages));
  }
  return out;
}

// Why the kernel does not take the call; empty if it does.
Sentences refused_by_kernel(const PrefillCall& call) {
  const plan::PsInput& in = call.input;
  Sentences out;
  if (call.arch != Arch::gfx950) out.push_back(say(kKernel, " is not there on ", name(call.arch)));
  if (call.heads != in.kv_heads)
    out.push_back(say(kKernel, " takes as many KV heads as query heads: ", call.heads.count(),
                      " query heads have ", in.kv_heads.count()));
  if (in.qhead_granularity != 1)
    out.push_back(
        say(kKernel, " takes works of one head, qhead_granularity is ", in.qhead_granularity));
  if (in.qlen_granularity != kTileRows)
    out.push_back(say(kKernel, " takes tiles of ", kTileRows, " rows, qlen_granularity is ",
                      in.qlen_granularity));
  if (in.block_size != 1)
    out.push_back(
        say(kKernel, " takes the id of a page for that of a token, block_size is ", in.block_size));
  return out;
}

// Works of a valid plan that the kernel gets wrong; empty without one (AITER-34).
std::string cut_between_tiles(const PrefillPlan& planned) {
  const plan::PlanView view = planned.found.view();
  const auto kv_indptr = planned.call.input.kv_indptr;
  std::string first;
  std::int64_t count = 0;
  const std::int64_t works = view.work_indptr.empty() ? 0 : view.work_indptr.back();
  for (std::int64_t w = 0; w < works; ++w) {
    const plan::WorkItem item = view.work(w);
    const std::int64_t key = item.kv_begin - kv_indptr[static_cast<std::size_t>(item.batch)];
    if (key % kTileKeys == 0 || count++ > 0) continue;
    first =
        say(kKernel, " takes ", kTileKeys, " keys at a time and is wrong for pieces that begin ",
            "elsewhere (AITER-34): work ", w, " begins at key ", key, " of request ", item.batch);
  }
  return count > 1 ? say(first, ", and ", count - 1, " works more") : first;
}

}  // namespace

Result<Answer> check_prefill(const PrefillDump& dump) {
  Answer answer;
  if (!dump.planned) {
    answer.not_checked = "a prefill step without a plan";
    return answer;
  }
  const PrefillPlan& planned = *dump.planned;
  const PrefillCall& call = planned.call;
  for (const std::string& what : contradictions(call.input))
    answer.findings.push_back({kBatchRule, what});
  if (!answer.findings.empty()) {
    accuse(answer, Culprit::builder,
           "the lists of the batch contradict each other, whatever the plan");
    return answer;
  }
  // Lists that are wrong were reported above. These may be right, but are none of an engine.
  if (const MaybeError bad = too_large(call)) return *bad;
  answer.notes = surplus_pages(call.input);
  for (const std::string& what : refused_by_kernel(call))
    answer.findings.push_back({kKernelRule, what});
  if (!answer.findings.empty()) {
    accuse(answer, Culprit::builder, "it asked for a plan that no kernel takes");
  }
  for (const plan::Violation& v : plan::ps_check(planned.check_input()))
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  if (answer.findings.empty())
    if (const std::string what = cut_between_tiles(planned); !what.empty()) {
      answer.findings.push_back({kKernelRule, what});
      accuse(answer, Culprit::builder,
             say("kvlen_granularity is ", call.input.kvlen_granularity,
                 ": the kernel needs a multiple of 128"));
    }
  if (answer.findings.empty())
    if (const std::string what = overrun(planned); !what.empty())
      answer.findings.push_back({kBufferRule, what});
  if (answer.findings.empty() || !answer.culprit.empty()) return answer;
  const Diagnosis diagnosis = blame(planned);
  accuse(answer, diagnosis.culprit, diagnosis.sentence);
  return answer;
}

}  // namespace mla::dump
