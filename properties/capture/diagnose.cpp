#include "properties/capture/diagnose.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"
#include "core/units.hpp"

namespace mla::cli {
namespace {

// More than these are another plan, not a damaged one.
constexpr std::size_t kFewWords = 4;

constexpr std::array kSizes = {&plan::BufferSizes::work_indptr, &plan::BufferSizes::work_items,
                               &plan::BufferSizes::reduce_indptr,
                               &plan::BufferSizes::reduce_final_rows,
                               &plan::BufferSizes::reduce_partial_map};

std::string number(std::int64_t n) {
  return std::to_string(n);
}

// Only what the planner wrote counts: works after the last one are left over from earlier steps in
// any buffer that is used again.
void compare(const plan::PlanBuffer& planned, const std::vector<std::int32_t>& found,
             std::vector<Difference>& out) {
  const std::int64_t end = std::min(planned.used(), std::ssize(found));
  for (std::int64_t i = 0; i < end && out.size() <= kFewWords; ++i) {
    const std::int32_t word = found[static_cast<std::size_t>(i)];
    if (planned.written(i) && word != planned.at(i))
      out.push_back({word_name(std::string(planned.name()), i), word, planned.at(i)});
  }
}

// What a builder may have asked: a planner call, and lists of its own where it counts differently.
struct Question {
  plan::PlanInput input;
  std::vector<std::int32_t> kv_indptr, last_page_len;

  explicit Question(const plan::PlanInput& call) : input(call) {
    input.fidelity = plan::Fidelity::as_aiter;
  }
  // Counts the keys of the requests in pages of `page_size`.
  void count(const std::vector<std::int64_t>& keys, std::int64_t page_size) {
    kv_indptr = {0};
    for (const std::int64_t n : keys) {
      const std::int64_t pages = ceil_div(n, page_size);
      kv_indptr.push_back(static_cast<std::int32_t>(kv_indptr.back() + pages));
      last_page_len.push_back(
          static_cast<std::int32_t>(n == 0 ? page_size : n - (pages - 1) * page_size));
    }
    input.kv_indptr = kv_indptr;
    input.last_page_len = last_page_len;
    input.page_size = page_size;
  }
};

Result<plan::BufferSizes> asked_sizes(const plan::PlanInput& in) {
  return plan::query_sizes(
      {.arch = in.key.arch,
       .compute_units = in.key.compute_units,
       .batch = Requests(in.batch()),
       .max_qo_len = std::max(in.key.max_qo_len, longest_request(in.qo_indptr)),
       .heads = in.key.heads_per_kv_head * in.key.kv_heads.count(),
       .dtype = in.key.dtype,
       .fast_mode = true});  // the query of the others counts pieces that no plan has
}

// Buffers for the plan of a question. Nothing where they are larger than any engine's.
std::optional<plan::BufferSizes> room_for(const plan::PlanInput& in, const FoundPlan& found) {
  const plan::BufferSizes captured = sizes_of(found);
  const auto asked = asked_sizes(in);
  if (!asked) return captured;
  if (asked->work_items > kMostWords / plan::kWorkItemWords) return std::nullopt;
  return with_room(captured, *asked);
}

// Where the captured buffers are not what the planner gives; at most a few of many places. Nothing
// if it gives no plan.
std::optional<std::vector<Difference>> differences(const plan::PlanInput& input,
                                                   const FoundPlan& found) {
  const auto sizes = room_for(input, found);
  if (!sizes) return std::nullopt;
  const auto plan = plan::make_plan(input, *sizes);
  if (!plan) return std::nullopt;
  return differences(*plan, found);
}

bool gives(const plan::PlanInput& input, const FoundPlan& found) {
  const auto different = differences(input, found);
  return different && different->empty();
}

// What the planner writes past the end of a captured buffer, in words. Empty: nothing.
std::string overrun(const plan::PlanInput& input, const FoundPlan& found) {
  const auto room = room_for(input, found);
  if (!room) return {};
  const auto plan = plan::make_plan(input, at_most(sizes_of(found), *room));
  return plan ? past_the_end(*plan) : std::string();
}

// Each list of works is followed by a workgroup, whether the planner fills it or not.
std::string unfilled_slots(const plan::PlanInput& input, const FoundPlan& found) {
  const auto plan = plan::make_plan(input, sizes_of(found));
  const auto asked = asked_sizes(input);
  if (!plan || !asked || plan->work_indptr.size() <= asked->work_indptr) return {};
  const plan::PlanBuffer& slots = plan->work_indptr;
  return say(slots.name(), " has ", slots.size(), " entries, of which the planner fills ",
             slots.used(), " for ", input.key.compute_units.count(), " compute units");
}

// The planner's calls for what was asked: AITER chooses between two kernels of v1.2.
std::vector<plan::PlanInput> asked_of(const PlannerCall& call) {
  std::vector<plan::PlanInput> out{Question(call.input).input};
  for (const auto kernel : {plan::V12Kernel::serial, plan::V12Kernel::parallel}) {
    if (call.input.version != plan::PlannerVersion::v1_2) break;
    out.push_back(out[0]);
    out.back().kernel = kernel;
  }
  return out;
}

// A question that the builder may have asked instead; false if it is the same one.
struct Mistake {
  std::string sentence;
  std::function<void(Question&)> ask;
};

// Rows of each request if all have as many, otherwise -1.
std::int64_t equal_rows(std::span<const std::int32_t> qo_indptr) {
  for (std::size_t r = 2; r < qo_indptr.size(); ++r)
    if (qo_indptr[r] - qo_indptr[r - 1] != qo_indptr[1]) return -1;
  return qo_indptr.size() < 2 ? -1 : qo_indptr[1];
}

std::vector<Mistake> wrong_arguments(const plan::PlanInput& in) {
  std::vector<Mistake> out;
  const std::int64_t heads = in.key.heads_per_kv_head.count();
  // With other heads a builder may know of other uniform rows, which folding needs.
  const std::int64_t rows = equal_rows(in.qo_indptr);
  const bool told = in.key.max_qo_len > 0;
  const std::int64_t longest = told ? in.key.max_qo_len : longest_request(in.qo_indptr);
  std::array<std::int64_t, 7> counts = {8, 16, 32, 48, 64, 96, 128};
  std::ranges::stable_partition(counts, [&](std::int64_t h) {
    return find_persistent_kernel(in.key.arch, in.key.dtype, h, longest).has_value();
  });
  for (const std::int64_t h : counts)
    for (const std::int64_t uniform : {in.uniform_qo_len, rows})
      if (h != heads)
        out.push_back(
            {"it is the plan of " + number(h) + " heads, the kernel gets " + number(heads),
             [h, uniform](Question& x) {
               x.input.key.heads_per_kv_head = Heads(h);
               x.input.uniform_qo_len = uniform;
             }});
  for (std::int64_t q = 1; q <= 17; ++q)
    if (q != in.key.max_qo_len)
      out.push_back({"it is the plan of " + number(q) + " query rows a request, " +
                         (q == longest ? "the call does not say how many the longest has"
                                       : "the longest has " + number(longest)),
                     [q](Question& x) {
                       x.input.key.max_qo_len = q;
                       x.input.uniform_qo_len = q;
                     }});
  for (const DtypePair d : {DtypePair{Dtype::bf16, Dtype::bf16}, DtypePair{Dtype::fp8, Dtype::fp8},
                            DtypePair{Dtype::bf16, Dtype::fp8}})
    if (d != in.key.dtype)
      out.push_back({say("it is the plan of ", name(d.q), "/", name(d.kv), " tensors, these are ",
                         name(in.key.dtype.q), "/", name(in.key.dtype.kv)),
                     [d](Question& x) { x.input.key.dtype = d; }});
  // Before the pages: planned with larger ones, a plan is not trimmed to the mask either.
  out.push_back({in.causal ? "it is the plan of a step without a causal mask"
                           : "it is the plan of a causal step",
                 [](Question& x) { x.input.causal = !x.input.causal; }});
  for (const std::int64_t p : {1, 16, 64})
    if (p != in.page_size)
      out.push_back({"it is the plan of a page size of " + number(p) +
                         ", the lists count pages of " + number(in.page_size),
                     [p](Question& x) { x.input.page_size = p; }});
  const Arch other = in.key.arch == Arch::gfx942 ? Arch::gfx950 : Arch::gfx942;
  out.push_back({say("it is the plan of a ", name(other)),
                 [other](Question& x) { x.input.key.arch = other; }});
  return out;
}

std::vector<std::int64_t> keys_of(const plan::PlanInput& in) {
  std::vector<std::int64_t> keys;
  for (std::size_t r = 0; r + 1 < in.kv_indptr.size(); ++r)
    keys.push_back(
        keys_in_pages(in.kv_indptr[r + 1] - in.kv_indptr[r], in.page_size, in.last_page_len[r]));
  return keys;
}

// A search ends somewhere: requests that the plan may lack, and steps that it may be old.
constexpr std::int64_t kRequestsLeftOut = 64;
constexpr std::int64_t kStepsBefore = 17;

// Lists that count in other pages, lack requests, or are of an earlier step.
std::vector<Mistake> wrong_lists(const plan::PlanInput& in) {
  std::vector<Mistake> out;
  const std::vector<std::int64_t> keys = keys_of(in);
  if (std::accumulate(keys.begin(), keys.end(), std::int64_t{0}) >
      std::numeric_limits<std::int32_t>::max())
    return out;
  const auto tokens = [](std::int64_t n) { return number(n) + (n == 1 ? " token" : " tokens"); };
  for (const std::int64_t p : {1, 16, 64})
    if (p != in.page_size)
      out.push_back({"it is the plan of lists that count pages of " + tokens(p) +
                         ", these count pages of " + number(in.page_size),
                     [p, keys](Question& x) { x.count(keys, p); }});
  const std::int64_t batch = std::ssize(keys);
  for (std::int64_t n = batch - 1; n >= std::max<std::int64_t>(batch - kRequestsLeftOut, 1); --n)
    out.push_back(
        {"it is the plan of the first " + number(n) + " requests, the batch has " + number(batch),
         [n = static_cast<std::size_t>(n)](Question& x) {
           x.input.qo_indptr = x.input.qo_indptr.first(n + 1);
           x.input.kv_indptr = x.input.kv_indptr.first(n + 1);
           x.input.last_page_len = x.input.last_page_len.first(n);
         }});
  for (std::int64_t back = 1; back <= kStepsBefore; ++back) {
    std::vector<std::int64_t> before = keys;
    for (std::int64_t& n : before) n = std::max<std::int64_t>(n - back, 0);
    out.push_back({"it is the plan of an earlier step: every request had " + number(back) +
                       (back == 1 ? " key fewer" : " keys fewer"),
                   [p = in.page_size, before](Question& x) { x.count(before, p); }});
  }
  return out;
}

// The few words in which the buffers differ from a plan for this call; empty if they are many.
std::string damage(const std::vector<plan::PlanInput>& asked, const FoundPlan& found) {
  std::vector<Difference> least(kFewWords + 1);
  for (const plan::PlanInput& input : asked)
    if (const auto d = differences(input, found); d && d->size() < least.size()) least = *d;
  return few_words(least);
}

}  // namespace

std::string word_name(const std::string& buffer, std::int64_t i) {
  constexpr const char* kWords[] = {"batch",    "partial_row", "q_begin",   "q_end",
                                    "kv_begin", "kv_end",      "kv_offset", "pad"};
  if (buffer == "work_info_set")
    return "work " + number(i / plan::kWorkItemWords) + " " + kWords[i % plan::kWorkItemWords];
  if (buffer == "reduce_final_map")
    return "reduce entry " + number(i / 2) + (i % 2 == 0 ? " q_begin" : " q_end");
  return buffer + "[" + number(i) + "]";
}

plan::BufferSizes sizes_of(const FoundPlan& found) {
  return {.work_indptr = std::ssize(found.work_indptr),
          .work_items = std::ssize(found.work_info) / plan::kWorkItemWords,
          .reduce_indptr = std::ssize(found.reduce_indptr),
          .reduce_final_rows = std::ssize(found.reduce_final_map) / 2,
          .reduce_partial_map = std::ssize(found.reduce_partial_map)};
}

plan::BufferSizes with_room(plan::BufferSizes captured, const plan::BufferSizes& asked) {
  constexpr std::int64_t kLarge = 1 << 20;  // larger ones are no engine's
  for (const auto size : kSizes)
    captured.*size = std::clamp(captured.*size, asked.*size, std::max(asked.*size, kLarge));
  return captured;
}

plan::BufferSizes at_most(plan::BufferSizes captured, const plan::BufferSizes& room) {
  for (const auto size : kSizes) captured.*size = std::min(captured.*size, room.*size);
  return captured;
}

std::string past_the_end(const plan::Plan& planned) {
  for (const plan::PlanBuffer* b :
       {&planned.work_indptr, &planned.work_info, &planned.reduce_indptr, &planned.reduce_final_map,
        &planned.reduce_partial_map})
    if (!b->overruns().empty())
      return say("the planner writes element ", b->overruns().rbegin()->first, " of ", b->name(),
                 ", which was allocated with ", b->size());
  return {};
}

std::vector<Difference> differences(const plan::Plan& planned, const FoundPlan& found) {
  std::vector<Difference> out;
  compare(planned.work_indptr, found.work_indptr, out);
  compare(planned.work_info, found.work_info, out);
  compare(planned.reduce_indptr, found.reduce_indptr, out);
  compare(planned.reduce_final_map, found.reduce_final_map, out);
  compare(planned.reduce_partial_map, found.reduce_partial_map, out);
  return out;
}

std::string few_words(const std::vector<Difference>& words) {
  if (words.empty() || words.size() > kFewWords) return {};
  std::string out = "it differs from the planner's in " +
                    (words.size() == 1 ? "one word: " : number(std::ssize(words)) + " words: ");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Difference& d = words[i];
    out += (i > 0 ? "; " : "") + d.word + " is " +
           (d.found == plan::kPoison ? "unwritten" : number(d.found)) + ", planned " +
           number(d.planned);
  }
  return out;
}

std::string_view name(Culprit culprit) {
  switch (culprit) {
    case Culprit::none:
      return "none found";
    case Culprit::planner:
      return "the planner";
    case Culprit::builder:
      return "the builder";
    case Culprit::stale:
      return "the builder, or what came after it";
    case Culprit::after:
      return "what came after the planner";
  }
  return {};
}

std::string planner_overrun(const PlannerCall& call, const FoundPlan& found) {
  for (const plan::PlanInput& input : asked_of(call))
    if (gives(input, found)) return overrun(input, found);
  return {};
}

Diagnosis diagnose(const PlannerCall& call, const FoundPlan& found, bool broken) {
  if (!broken) return {};
  const std::vector<plan::PlanInput> asked = asked_of(call);
  if (gives(asked[0], found)) {
    for (const auto& wrong_size : {overrun, unfilled_slots})
      if (const std::string what = wrong_size(asked[0], found); !what.empty())
        return {Culprit::builder, what};
    return {
        Culprit::planner,
        "the original planner gives these buffers for this call, and they are not a valid plan"};
  }
  for (std::size_t other = 1; other < asked.size(); ++other)
    if (gives(asked[other], found)) {
      const std::string what = overrun(asked[other], found);
      if (!what.empty()) return {Culprit::builder, what};
      return {Culprit::planner, "the planner's other kernel gives these buffers for this call"};
    }
  std::vector<Mistake> mistakes = wrong_arguments(call.input);
  for (Mistake& mistake : wrong_lists(call.input)) mistakes.push_back(std::move(mistake));
  for (const Mistake& mistake : mistakes) {
    Question question(call.input);
    mistake.ask(question);
    if (gives(question.input, found)) return {Culprit::builder, mistake.sentence};
  }
  if (const std::string words = damage(asked, found); !words.empty())
    return {Culprit::stale, words};
  return {
      Culprit::stale,
      "no planner gives these buffers for this batch, nor for one that differs in heads, rows, "
      "dtype, page size, mask or architecture, lacks requests, or is a few steps older: they are "
      "of another step, or damaged"};
}

}  // namespace mla::cli
