#include "properties/dump/blame/questions.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"

namespace mla::dump {
namespace {

// Counts the keys of the requests in pages of `page_size`.
void count(PlannerCall& call, const std::vector<std::int64_t>& keys, std::int64_t page_size) {
  CallLists lists{call.lists->qo_indptr, {0}, {}};
  for (const std::int64_t n : keys) {
    const std::int64_t pages = ceil_div(n, page_size);
    lists.kv_indptr.push_back(static_cast<std::int32_t>(lists.kv_indptr.back() + pages));
    lists.last_page_len.push_back(
        static_cast<std::int32_t>(n == 0 ? page_size : n - (pages - 1) * page_size));
  }
  call.refer_to(std::move(lists));
  call.input.page_size = page_size;
}

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
        out.push_back({say("it is the plan of ", h, " heads, the kernel gets ", heads),
                       [h, uniform](PlannerCall& x) {
                         x.input.key.heads_per_kv_head = Heads(h);
                         x.input.uniform_qo_len = uniform;
                       }});
  for (std::int64_t q = 1; q <= 17; ++q)
    if (q != in.key.max_qo_len)
      out.push_back({say("it is the plan of ", q, " query rows a request, ",
                         q == longest ? "the call does not say how many the longest has"
                                      : say("the longest has ", longest)),
                     [q](PlannerCall& x) {
                       x.input.key.max_qo_len = q;
                       x.input.uniform_qo_len = q;
                     }});
  for (const DtypePair d : {DtypePair{Dtype::bf16, Dtype::bf16}, DtypePair{Dtype::fp8, Dtype::fp8},
                            DtypePair{Dtype::bf16, Dtype::fp8}})
    if (d != in.key.dtype)
      out.push_back({say("it is the plan of ", name(d.q), "/", name(d.kv), " tensors, these are ",
                         name(in.key.dtype.q), "/", name(in.key.dtype.kv)),
                     [d](PlannerCall& x) { x.input.key.dtype = d; }});
  // Before the pages: planned with larger ones, a plan is not trimmed to the mask either.
  out.push_back({in.causal ? "it is the plan of a step without a causal mask"
                           : "it is the plan of a causal step",
                 [](PlannerCall& x) { x.input.causal = !x.input.causal; }});
  for (const std::int64_t p : {1, 16, 64})
    if (p != in.page_size)
      out.push_back(
          {say("it is the plan of a page size of ", p, ", the lists count pages of ", in.page_size),
           [p](PlannerCall& x) { x.input.page_size = p; }});
  const Arch other = in.key.arch == Arch::gfx942 ? Arch::gfx950 : Arch::gfx942;
  out.push_back({say("it is the plan of a ", name(other)),
                 [other](PlannerCall& x) { x.input.key.arch = other; }});
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
  for (const std::int64_t p : {1, 16, 64})
    if (p != in.page_size)
      out.push_back({say("it is the plan of lists that count pages of ", p,
                         p == 1 ? " token" : " tokens", ", these count pages of ", in.page_size),
                     [p, keys](PlannerCall& x) { count(x, keys, p); }});
  const std::int64_t batch = std::ssize(keys);
  for (std::int64_t n = batch - 1; n >= std::max<std::int64_t>(batch - kRequestsLeftOut, 1); --n)
    out.push_back({say("it is the plan of the first ", n, " requests, the batch has ", batch),
                   [n = static_cast<std::size_t>(n)](PlannerCall& x) {
                     x.input.qo_indptr = x.input.qo_indptr.first(n + 1);
                     x.input.kv_indptr = x.input.kv_indptr.first(n + 1);
                     x.input.last_page_len = x.input.last_page_len.first(n);
                   }});
  for (std::int64_t back = 1; back <= kStepsBefore; ++back) {
    std::vector<std::int64_t> before = keys;
    for (std::int64_t& n : before) n = std::max<std::int64_t>(n - back, 0);
    out.push_back({say("it is the plan of an earlier step: every request had ", back,
                       back == 1 ? " key fewer" : " keys fewer"),
                   [p = in.page_size, before](PlannerCall& x) { count(x, before, p); }});
  }
  return out;
}

}  // namespace

std::vector<Mistake> likely_mistakes(const PlannerCall& call) {
  std::vector<Mistake> out = wrong_arguments(call.input);
  for (Mistake& mistake : wrong_lists(call.input)) out.push_back(std::move(mistake));
  return out;
}

}  // namespace mla::dump
