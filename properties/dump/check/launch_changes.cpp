#include "properties/dump/check/launch_changes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "core/say.hpp"
#include "core/text.hpp"
#include "properties/dump/blame/differences.hpp"

namespace mla::dump {
namespace {

// Some of the words that changed are enough for a sentence.
constexpr std::size_t kShown = 4;

void add(LaunchChanges& out, const std::string& sentence) {
  ++out.count;
  if (out.first.size() < kShown) out.first.push_back(sentence);
}

// `planned` and `found` up to `live`, where `name` names the word at a place.
template <class Name>
void compare(std::span<const std::int32_t> planned, std::span<const std::int32_t> found,
             std::int64_t live, const Name& name, LaunchChanges& out) {
  for (std::int64_t i = 0; i < live; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (planned[at] != plan::kPoison && planned[at] != found[at])
      add(out, say(name(i), " was planned as ", planned[at], " and is ",
                   found[at] == plan::kPoison ? "unwritten" : std::to_string(found[at]),
                   " at the launch"));
  }
}

// A list of the launch against the planned one, whose first `live` entries are used. What follows
// them is a graph's padding, or page ids that no request has.
void compare_list(const char* key, std::span<const std::int32_t> planned, std::int64_t live,
                  const std::optional<Words>& found, LaunchChanges& out) {
  if (!found) return;
  if (std::ssize(*found) < live)
    out.violations.push_back(
        say(key, " has ", found->size(), " entries at the launch, the planned batch has ", live));
  else
    compare(
        planned, *found, std::min<std::int64_t>(live, std::ssize(planned)),
        [key](std::int64_t i) { return say(key, "[", i, "]"); }, out);
}

// A dump may have page ids of the launch alone.
void compare_lists(const Planning& planned, const Launch& launch, LaunchChanges& out) {
  const plan::PlanInput& in = planned.call.input;
  const std::int64_t used = in.kv_indptr.empty() ? 0 : in.kv_indptr.back();
  const Words none;
  const Words& pages = planned.cache.kv_indices ? *planned.cache.kv_indices : none;
  compare_list("seqlens_qo_indptr", in.qo_indptr, std::ssize(in.qo_indptr), launch.qo_indptr, out);
  compare_list("seqlens_kv_indptr", in.kv_indptr, std::ssize(in.kv_indptr), launch.kv_indptr, out);
  compare_list("kv_last_page_lens", in.last_page_len, std::ssize(in.last_page_len),
               launch.last_page_len, out);
  compare_list("kv_indices", pages, used, launch.kv_indices, out);
  if (const std::int64_t total = launch.total_kv.value_or(used); total < used)
    out.violations.push_back(say("kv_indices has ", total,
                                 " entries at the launch (launch_total_kv), the planned batch has ",
                                 used));
}

// A graph's padding has no rows, or one page; what has more is a request without a work.
void find_unplanned(const PlannerCall& call, const Launch& launch, LaunchChanges& out) {
  if (!launch.qo_indptr || !launch.kv_indptr) return;
  const Words& rows = *launch.qo_indptr;
  const Words& pages = *launch.kv_indptr;
  const std::size_t planned = call.input.last_page_len.size();
  for (std::size_t r = planned; r + 1 < std::min(rows.size(), pages.size()); ++r) {
    const std::int64_t own = std::int64_t{rows[r + 1]} - rows[r];
    const std::int64_t held = std::int64_t{pages[r + 1]} - pages[r];
    if (own <= 0 || held <= 1) continue;
    out.notes.push_back(say("the lists of the launch have a request ", r, " of ", own, " rows and ",
                            held, " pages; the plan is for ", planned,
                            " requests, and no work is for it"));
    return;
  }
}

// What the kernel and the reduce follow: all of both indptrs, works up to the last one, tiles that
// merge anything.
void compare_plans(const FoundPlan& planned, const FoundPlan& found, LaunchChanges& out) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  // Words of a buffer that are followed, unwritten ones at its end left out.
  const auto followed = [](std::int64_t most, const Words& words) {
    std::int64_t live = std::clamp<std::int64_t>(most, 0, std::ssize(words));
    while (live > 0 && words[static_cast<std::size_t>(live - 1)] == plan::kPoison) --live;
    return live;
  };
  const auto last = [](const Words& list) {
    return list.empty() ? std::int64_t{0} : std::int64_t{list.back()};
  };
  const std::int64_t works = last(planned.work_indptr) * plan::kWorkItemWords;
  const std::int64_t partials = last(planned.reduce_indptr);
  const auto& ends = planned.reduce_indptr;
  // Tiles up to the last one that merges anything.
  const std::int64_t merged =
      ends.empty() ? 0 : std::ranges::find(ends, ends.back()) - ends.begin();
  const std::array wanted{kAll, works, kAll, 2 * merged, partials};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const PlanList& list = kPlanLists[i];
    const Words& before = planned.*list.words;
    const Words& after = found.*list.words;
    const std::int64_t live = followed(wanted[i], before);
    const std::int64_t both = std::min<std::int64_t>(live, std::ssize(after));
    if (both < live)
      add(out, say(list.buffer, " has ", both, " words at the launch, the plan uses ", live));
    if (wanted[i] == kAll && after.size() > before.size())
      add(out, say(list.buffer, " has ", after.size(), " words at the launch, the planner got ",
                   before.size()));
    compare(
        before, after, both, [&](std::int64_t word) { return word_name(list.buffer, word); }, out);
  }
}

// Kernels follow the two words of work_meta_data, wherever the buffers are.
void compare_addresses(const Addresses& addresses, LaunchChanges& out) {
  constexpr std::array kBuffers = {"work_indptr", "work_info"};
  for (std::size_t i = 0; i < kBuffers.size(); ++i)
    if (const auto lies = addresses.buffers[i]; lies && *lies != addresses.leads[i])
      out.violations.push_back(say("work_meta_data leads to ", hex(addresses.leads[i]), " for ",
                                   kBuffers[i], ", which is at ", hex(*lies),
                                   ": the kernel reads other memory"));
}

}  // namespace

LaunchChanges launch_changes(const Planning& planned, const Launch& launch) {
  LaunchChanges out;
  compare_lists(planned, launch, out);
  find_unplanned(planned.call, launch, out);
  if (launch.plan) compare_plans(planned.plan->value(), *launch.plan, out);
  if (launch.addresses) compare_addresses(*launch.addresses, out);
  return out;
}

Planning as_launched(const Planning& planned, const Launch& launch) {
  Planning out = planned;
  CallLists lists = *planned.call.lists;
  const auto take = [](const std::optional<Words>& found, Words& list) {
    if (found) list.assign(found->begin(), found->begin() + std::min(found->size(), list.size()));
  };
  take(launch.qo_indptr, lists.qo_indptr);
  take(launch.kv_indptr, lists.kv_indptr);
  take(launch.last_page_len, lists.last_page_len);
  out.call.refer_to(std::move(lists));
  if (launch.kv_indices && out.cache.kv_indices)
    take(launch.kv_indices, *out.cache.kv_indices);
  else if (launch.kv_indices)
    out.cache.kv_indices = launch.kv_indices;
  if (launch.plan) out.plan = *launch.plan;
  return out;
}

}  // namespace mla::dump
