#include "properties/show/drawn_plan.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/say.hpp"
#include "core/units.hpp"
#include "properties/show/svg.hpp"

namespace mla::show {
namespace {

using plan::WorkItem;

std::int64_t written(std::span<const std::int32_t> words) {
  const auto last = std::find_if(words.rbegin(), words.rend(),
                                 [](std::int32_t word) { return word != plan::kPoison; });
  return words.rend() - last;
}

WorkItem record_at(const plan::PlanView& view, std::int64_t index) {
  const auto w = view.work_info.subspan(static_cast<std::size_t>(index * plan::kWorkItemWords),
                                        static_cast<std::size_t>(plan::kWorkItemWords));
  return {w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]};
}

// The slot of each record, first come first served. Records after the last run are memory that
// no work reads.
void place_works(const plan::PlanView& view, DrawnPlan& out) {
  const std::int64_t used = written(view.work_indptr);
  const std::int64_t records =
      static_cast<std::int64_t>(view.work_info.size()) / plan::kWorkItemWords;
  std::int64_t whole = 0;
  for (std::int64_t i = 0; i < used; ++i)
    whole = std::max<std::int64_t>(whole, view.work_indptr[static_cast<std::size_t>(i)]);
  whole = std::min(whole, records);
  out.slots = std::max<std::int64_t>(0, static_cast<std::int64_t>(view.work_indptr.size()) - 1);
  for (std::int64_t i = 0; i < whole; ++i)
    out.works.push_back({.index = i, .record = record_at(view, i)});
  for (std::int64_t slot = 0; slot + 1 < used; ++slot) {
    const auto bound = [&](std::int64_t i) {
      return std::clamp<std::int64_t>(view.work_indptr[static_cast<std::size_t>(i)], 0, whole);
    };
    for (std::int64_t w = bound(slot); w < bound(slot + 1); ++w)
      if (out.works[static_cast<std::size_t>(w)].slot < 0)
        out.works[static_cast<std::size_t>(w)].slot = slot;
  }
  for (const Work& w : out.works) out.unplaced += w.slot < 0 ? 1 : 0;
}

// Keys of a work within its request.
void place_keys(const DrawnPlan& out, Work& w) {
  const auto requests = static_cast<std::int64_t>(out.requests.size());
  if (w.record.batch < 0 || w.record.batch >= requests) return;
  w.request = w.record.batch;
  const plan::PlanningRequest& r = out.requests[static_cast<std::size_t>(w.request)];
  const auto key_of = [&](std::int64_t page) {
    return std::clamp<std::int64_t>((page - r.kv_begin) * out.page_size, 0, r.tokens);
  };
  w.key_begin = key_of(w.record.kv_begin);
  w.key_end = std::max(w.key_begin, key_of(w.record.kv_end));
}

void place_tiles(const plan::PlanView& view, DrawnPlan& out) {
  std::unordered_map<std::int32_t, std::int64_t> writers;  // of a first partial row
  for (const Work& w : out.works)
    if (w.slot >= 0 && w.record.partial_row >= 0) writers.emplace(w.record.partial_row, w.index);
  const auto entries = static_cast<std::int64_t>(view.reduce_partial_map.size());
  const auto rows = static_cast<std::int64_t>(view.reduce_final_map.size()) / 2;
  const std::int64_t used = written(view.reduce_indptr);
  for (std::int64_t t = 0; t + 1 < used && t < rows; ++t) {
    const auto bound = [&](std::int64_t i) {
      return std::clamp<std::int64_t>(view.reduce_indptr[static_cast<std::size_t>(i)], 0, entries);
    };
    if (bound(t + 1) <= bound(t)) continue;
    Tile tile{.index = t,
              .row_begin = view.reduce_final_map[static_cast<std::size_t>(2 * t)],
              .row_end = view.reduce_final_map[static_cast<std::size_t>(2 * t + 1)],
              .partial_rows = {},
              .works = {}};
    for (std::int64_t i = bound(t); i < bound(t + 1); ++i) {
      const std::int32_t row = view.reduce_partial_map[static_cast<std::size_t>(i)];
      const auto writer = writers.find(row);
      tile.partial_rows.push_back(row);
      tile.works.push_back(writer == writers.end() ? -1 : writer->second);
    }
    out.tiles.push_back(std::move(tile));
  }
}

void measure_buffers(const plan::PlanView& view, DrawnPlan& out) {
  std::int64_t merged = 0;
  for (const Tile& tile : out.tiles) merged += std::ssize(tile.works);
  const auto buffer = [&out](const char* name, std::span<const std::int32_t> words,
                             std::int64_t used) {
    const auto capacity = static_cast<std::int64_t>(words.size());
    out.buffers.push_back({name, capacity, std::min(capacity, used)});
  };
  buffer("work_indptr", view.work_indptr, written(view.work_indptr));
  buffer("work_info_set", view.work_info, std::ssize(out.works) * plan::kWorkItemWords);
  buffer("reduce_indptr", view.reduce_indptr, written(view.reduce_indptr));
  buffer("reduce_final_map", view.reduce_final_map,
         out.tiles.empty() ? 0 : 2 * (out.tiles.back().index + 1));
  buffer("reduce_partial_map", view.reduce_partial_map, merged);
}

Share share_of(const plan::PlanCheckInput& input, const PlannerPromise& promise,
               const DrawnPlan& out) {
  Share share;
  share.granularity = std::max<std::int64_t>(1, promise.granularity);
  share.overhead = ceil_div(16, input.page_size);
  if (!promise.known) return share;
  std::int64_t demand = 0;
  for (const plan::PlanningRequest& r : out.requests)
    demand += (ceil_div(ceil_div(r.tokens, input.page_size), share.granularity) + share.overhead) *
              input.shape.tiles(r.q_end - r.q_begin);
  const std::int64_t slots = std::max<std::int64_t>(1, input.shape.slots.count());
  const auto planned = static_cast<std::int64_t>(out.requests.size());
  const std::int64_t budget = promise.max_split < 0
                                  ? slots
                                  : std::clamp<std::int64_t>(promise.max_split * planned, 1, slots);
  share.payload = ceil_div(demand, budget) + share.overhead;
  share.tail = ceil_div(ceil_div(input.max_qo_len, input.page_size), share.granularity);
  return share;
}

}  // namespace

std::string DrawnPlan::request_name(std::int64_t planning_request) const {
  const std::int64_t request = planning_request / fold;
  std::string name = say("request ", request);
  if (fold > 1) name += say(" group ", planning_request % fold);
  return name;
}

std::string DrawnPlan::work_name(const Work& work) const {
  const std::string request = work.request < 0 ? "no request" : request_name(work.request);
  return work_heads == 0 ? request
                         : request + " " + span_text("head", work.head, work.head + work_heads);
}

std::int64_t DrawnPlan::visible(const plan::PlanningRequest& request, std::int64_t row) const {
  if (!causal) return request.tokens;
  return std::clamp<std::int64_t>(request.tokens - (request.q_end - 1 - row), 0, request.tokens);
}

std::int64_t DrawnPlan::blocks(const Work& work) const {
  const std::int64_t pages =
      std::max<std::int64_t>(0, std::int64_t{work.record.kv_end} - work.record.kv_begin);
  return ceil_div(pages, share.granularity) + share.overhead;
}

namespace {

// The works, their pieces and the buffers, once the requests are known.
void place(const plan::PlanView& view, DrawnPlan& out) {
  place_works(view, out);
  for (Work& w : out.works) place_keys(out, w);
  place_tiles(view, out);
  measure_buffers(view, out);
}

void mark(std::vector<Finding> findings, DrawnPlan& out) {
  out.findings = std::move(findings);
  std::int64_t marked = 0;
  for (std::size_t i = 0; i < out.findings.size() && marked < kMostMarked; ++i) {
    const std::int64_t work = out.findings[i].work;
    if (work < 0 || work >= std::ssize(out.works)) continue;
    Work& w = out.works[static_cast<std::size_t>(work)];
    if (w.wrong()) continue;
    w.finding = static_cast<std::int64_t>(i);
    ++marked;
  }
}

}  // namespace

DrawnPlan draw_plan(const plan::PlanCheckInput& input, const PlannerPromise& promise,
                    std::vector<Finding> findings) {
  DrawnPlan out;
  out.requests = planning_requests(input);
  out.fold = std::max<std::int64_t>(1, input.shape.fold_ratio);
  out.page_size = input.page_size;
  out.causal = input.causal;
  place(input.plan, out);
  out.share = share_of(input, promise, out);
  mark(std::move(findings), out);
  return out;
}

DrawnPlan draw_prefill_plan(const plan::PsCheckInput& input, std::int64_t granularity,
                            std::vector<Finding> findings) {
  DrawnPlan out;
  for (std::size_t r = 0; r + 1 < input.qo_indptr.size(); ++r)
    out.requests.push_back({.q_begin = input.qo_indptr[r],
                            .q_end = input.qo_indptr[r + 1],
                            .kv_begin = input.kv_indptr[r],
                            .kv_end = input.kv_indptr[r + 1],
                            .tokens = input.context_lens[r]});
  out.work_heads = input.qhead_granularity;
  out.page_size = input.block_size;
  out.causal = input.causal;
  place(input.plan, out);
  for (Work& w : out.works) w.head = w.record.first_head();
  out.share.granularity = std::max<std::int64_t>(1, granularity);
  mark(std::move(findings), out);
  return out;
}

}  // namespace mla::show
