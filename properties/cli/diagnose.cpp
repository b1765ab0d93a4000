#include "properties/cli/diagnose.hpp"

#include <algorithm>
#include <functional>

namespace mla::cli {
namespace {

// Every element that the planner wrote stands in the captured buffer.
bool same(const plan::PlanBuffer& planned, const std::vector<std::int32_t>& found) {
  const auto size = static_cast<std::int64_t>(found.size());
  for (std::int64_t i = 0; i < planned.used(); ++i)
    if (planned.written(i) && (i >= size || found[static_cast<std::size_t>(i)] != planned.at(i)))
      return false;
  return true;
}

// Works behind the last one are left over from earlier steps in any buffer that is used again.
bool same_plan(const plan::Plan& planned, const FoundPlan& found) {
  return same(planned.work_indptr, found.work_indptr) && same(planned.work_info, found.work_info) &&
         same(planned.reduce_indptr, found.reduce_indptr) &&
         same(planned.reduce_final_map, found.reduce_final_map) &&
         same(planned.reduce_partial_map, found.reduce_partial_map);
}

// The planner fills some tails, so the buffers have to be as large as the captured ones.
plan::BufferSizes sizes_of(const FoundPlan& found) {
  return {.work_indptr = std::ssize(found.work_indptr),
          .work_items = std::ssize(found.work_info) / plan::kWorkItemWords,
          .reduce_indptr = std::ssize(found.reduce_indptr),
          .reduce_final_rows = std::ssize(found.reduce_final_map) / 2,
          .reduce_partial_map = std::ssize(found.reduce_partial_map)};
}

bool gives(plan::PlanInput input, const FoundPlan& found) {
  input.fidelity = plan::Fidelity::as_aiter;
  const auto plan = plan::make_plan(input, sizes_of(found));
  return plan.ok() && same_plan(*plan, found);
}

// What the planner writes behind the captured buffers, in words; empty if it stays inside.
std::string overrun(plan::PlanInput input, const FoundPlan& found) {
  input.fidelity = plan::Fidelity::as_aiter;
  const auto plan = plan::make_plan(input, sizes_of(found));
  if (!plan) return {};
  for (const plan::PlanBuffer* b : {&plan->work_indptr, &plan->work_info, &plan->reduce_indptr,
                                    &plan->reduce_final_map, &plan->reduce_partial_map})
    if (!b->overruns().empty())
      return "the planner writes element " + std::to_string(b->overruns().rbegin()->first) +
             " of " + b->name() + ", which was allocated with " + std::to_string(b->size());
  return {};
}

// A question that the builder may have asked instead; false if it is the same one.
struct Mistake {
  std::string sentence;
  std::function<void(plan::PlanInput&)> ask;
};

std::string number(std::int64_t n) {
  return std::to_string(n);
}

std::vector<Mistake> mistakes(const plan::PlanInput& in) {
  std::vector<Mistake> out;
  const std::int64_t heads = in.key.heads_per_kv_head.count();
  for (const std::int64_t h : {8, 16, 32, 48, 64, 96, 128})
    if (h != heads)
      out.push_back({"it is the plan of " + number(h) + " heads, the kernel gets " + number(heads),
                     [h](plan::PlanInput& x) { x.key.heads_per_kv_head = Heads(h); }});
  for (std::int64_t q = 1; q <= 17; ++q)
    if (q != in.key.max_qo_len)
      out.push_back({"it is the plan of " + number(q) + " query rows a request, the longest has " +
                         number(in.key.max_qo_len),
                     [q](plan::PlanInput& x) {
                       x.key.max_qo_len = q;
                       x.uniform_qo_len = q;
                     }});
  for (const DtypePair d : {DtypePair{Dtype::bf16, Dtype::bf16}, DtypePair{Dtype::fp8, Dtype::fp8},
                            DtypePair{Dtype::bf16, Dtype::fp8}})
    if (d != in.key.dtype)
      out.push_back({"it is the plan of " + std::string(name(d.q)) + "/" + std::string(name(d.kv)) +
                         " tensors, these are " + std::string(name(in.key.dtype.q)) + "/" +
                         std::string(name(in.key.dtype.kv)),
                     [d](plan::PlanInput& x) { x.key.dtype = d; }});
  for (const std::int64_t p : {1, 16, 64})
    if (p != in.page_size)
      out.push_back({"it is the plan of pages of " + number(p) +
                         " tokens, the lists count pages of " + number(in.page_size),
                     [p](plan::PlanInput& x) { x.page_size = p; }});
  out.push_back({in.causal ? "it is the plan of a step without a causal mask"
                           : "it is the plan of a causal step",
                 [](plan::PlanInput& x) { x.causal = !x.causal; }});
  const Arch other = in.key.arch == Arch::gfx942 ? Arch::gfx950 : Arch::gfx942;
  out.push_back({"it is the plan of a " + std::string(name(other)),
                 [other](plan::PlanInput& x) { x.key.arch = other; }});
  return out;
}

}  // namespace

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
  }
  return {};
}

Diagnosis diagnose(const PlannerCall& call, const FoundPlan& found, bool broken) {
  if (!broken) return {};
  if (gives(call.input, found)) {
    const std::string what = overrun(call.input, found);
    if (!what.empty()) return {Culprit::builder, what};
    return {Culprit::planner,
            "the original planner gives these buffers for this call, and they are no valid plan"};
  }
  for (const auto kernel : {plan::V12Kernel::serial, plan::V12Kernel::parallel}) {
    plan::PlanInput input = call.input;
    if (input.version != plan::PlannerVersion::v1_2) break;
    input.kernel = kernel;
    if (gives(input, found))
      return {Culprit::planner, "the planner's other kernel gives these buffers for this call"};
  }
  for (const Mistake& mistake : mistakes(call.input)) {
    plan::PlanInput input = call.input;
    mistake.ask(input);
    if (gives(input, found)) return {Culprit::builder, mistake.sentence};
  }
  return {Culprit::stale,
          "no planner gives these buffers for this batch, nor for one that differs in heads, rows, "
          "dtype, page size, mask or architecture: they are of another step, or damaged"};
}

}  // namespace mla::cli
