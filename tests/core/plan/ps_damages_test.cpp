// Claims about ps_check on plans that AITER's own host planner made: it takes each, in every legal
// form, and finds every damage.
//
// Prefill steps of random cases have one head a work, pages of one token and no limit of pieces.
// The recorded calls have several heads a work, pages of 16 tokens, chunked contexts and long
// requests, so that every rule of ps_check has something to say.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "core/plan/ps_check.hpp"
#include "core/say.hpp"
#include "properties/dump/dump.hpp"
#include "properties/dump/read/parts.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/golden.hpp"
#include "tests/core/plan/plan_damages.hpp"

namespace {

namespace dump = mla::dump;
namespace plan = mla::plan;
using mla::say;
using mla::plan::kWorkItemWords;
using mla::plan::WorkItem;
using mla::plan::test::kFar;

// A recorded plan with lists of its own.
struct Recorded {
  plan::PsCheckInput input;
  std::vector<std::int32_t> rows, pages, keys;  // qo_indptr, kv_indptr, context_lens
  dump::FoundPlan plan;
  std::int64_t chosen = 0;       // a work
  std::int64_t final_rows = -1;  // of reduce_final_map that ps_check gets; -1: all

  explicit Recorded(const dump::PrefillPlan& recorded)
      : input(recorded.check_input()),
        rows(recorded.call.lists->qo_indptr),
        pages(recorded.call.lists->kv_indptr),
        keys(recorded.call.lists->context_lens),
        plan(recorded.found) {
    // Zeros after the works would only be copied.
    plan.work_info.resize(static_cast<std::size_t>(works() * kWorkItemWords));
  }

  [[nodiscard]] std::int64_t works() const { return plan.work_indptr.back(); }
  [[nodiscard]] std::int32_t tile_rows() const {
    return static_cast<std::int32_t>(input.qlen_granularity);
  }
  [[nodiscard]] WorkItem work(std::int64_t i) const {
    return plan::work_of(plan.work_info.data() + i * kWorkItemWords);
  }
  void set(std::int64_t i, const WorkItem& item) {
    std::ranges::copy(plan::words_of(item), plan.work_info.begin() + i * kWorkItemWords);
  }
  // A work more for the last slot.
  void add(const WorkItem& item) {
    std::ranges::copy(plan::words_of(item), std::back_inserter(plan.work_info));
    ++plan.work_indptr.back();
  }
  void add_request(std::int32_t of_rows, std::int32_t of_keys) {
    const auto page = static_cast<std::int32_t>(input.block_size);
    rows.push_back(rows.back() + of_rows);
    pages.push_back(pages.back() + (of_keys + page - 1) / page);
    keys.push_back(of_keys);
  }
  // A work of the last request for its first tile and `of_pages` pages.
  void add_first_tile(std::int32_t of_pages) {
    WorkItem item = work(0);
    item.batch = static_cast<std::int32_t>(keys.size()) - 1;
    item.q_begin = rows.end()[-2];
    item.q_end = item.q_begin + tile_rows();
    item.kv_begin = pages.end()[-2];
    item.kv_end = item.kv_begin + of_pages;
    item.partial_row = -1;
    add(item);
  }
  // Of the merge of most pieces; 0 without one.
  [[nodiscard]] std::int32_t most_pieces() const {
    std::int32_t most = 0;
    for (std::size_t t = 1; t < plan.reduce_indptr.size(); ++t)
      most = std::max(most, plan.reduce_indptr[t] - plan.reduce_indptr[t - 1]);
    return most;
  }
  [[nodiscard]] std::int64_t merges() const {
    const auto& p = plan.reduce_indptr;
    return std::ranges::count_if(p, [&p](std::int32_t end) { return end < p.back(); });
  }
  [[nodiscard]] std::int32_t partial_tiles() const { return plan.reduce_indptr.back(); }
  // Partial rows of a piece in the works of all heads; the merge lists are left as they are.
  void move_works(std::int32_t from, std::int32_t to) {
    for (std::int64_t i = 0; i < works(); ++i) {
      WorkItem item = work(i);
      if (item.partial_row == from) item.partial_row = to, set(i, item);
    }
  }
  // The rule that is broken; nothing if the plan is valid.
  [[nodiscard]] std::optional<std::string> broken() {
    input.plan = plan.view();
    if (final_rows >= 0)
      input.plan.reduce_final_map =
          input.plan.reduce_final_map.first(static_cast<std::size_t>(2 * final_rows));
    input.qo_indptr = rows;
    input.kv_indptr = pages;
    input.context_lens = keys;
    const auto violations = plan::ps_check(input);
    if (violations.empty()) return std::nullopt;
    return violations.front().what;
  }
};

// `apply` says whether the plan can have this change.
struct Change {
  const char* what;
  bool (*apply)(Recorded& r);
};

template <class Edit>
bool edit_work(Recorded& r, Edit edit) {
  WorkItem item = r.work(r.chosen);
  if (!edit(item)) return false;
  return r.set(r.chosen, item), true;
}

// What leaves the plan as right as it was.
constexpr Change kLegalChanges[] = {
    {"as AITER made it", [](Recorded&) { return true; }},
    {"with room for as many pieces as its most cut tile has",
     [](Recorded& r) { return r.input.most_pieces = r.most_pieces(), true; }},
    {"with room for as many partial tiles as it has",
     [](Recorded& r) { return r.input.partial_tiles = r.partial_tiles(), true; }},
    {"with its first merge backwards",
     [](Recorded& r) {
       const auto begin = r.plan.reduce_partial_map.begin();
       return std::reverse(begin, begin + r.plan.reduce_indptr[1]), true;
     }},
    {"of which two pieces of a tile exchanged their partial rows",
     [](Recorded& r) {
       if (r.plan.reduce_indptr[1] < 2) return false;
       const std::int32_t one = r.plan.reduce_partial_map[0];
       const std::int32_t other = r.plan.reduce_partial_map[1];
       r.move_works(one, kFar);
       r.move_works(other, one);
       return r.move_works(kFar, other), true;
     }},
    {"with an empty entry in front of its merges",
     [](Recorded& r) {
       r.plan.reduce_indptr.insert(r.plan.reduce_indptr.begin(), 0);
       r.plan.reduce_final_map.insert(r.plan.reduce_final_map.begin(), 2, 0);
       return true;
     }},
    {"beside a request without keys",
     [](Recorded& r) { return r.add_request(r.tile_rows() + 1, 0), true; }},
    {"beside a page that the last request does not need",
     [](Recorded& r) { return ++r.pages.back(), true; }},
};

constexpr Change kWorkDamages[] = {
    {"a work of a request far away",
     [](Recorded& r) { return edit_work(r, [](WorkItem& w) { return w.batch = kFar, true; }); }},
    {"partial row -2 of a whole tile",
     [](Recorded& r) {
       return edit_work(r, [](WorkItem& w) {
         if (w.partial_row != -1) return false;
         return w.partial_row = -2, true;
       });
     }},
    {"a work of one head more",
     [](Recorded& r) {
       return edit_work(r, [](WorkItem& w) { return w.heads += 1 << 16, true; });
     }},
    {"a work that begins one head later",
     [](Recorded& r) {
       return edit_work(r, [](WorkItem& w) { return w.heads += (1 << 16) + 1, true; });
     }},
    {"a work that ends one page after its request",
     [](Recorded& r) {
       return edit_work(r, [&r](WorkItem& w) {
         return w.kv_end = r.pages[static_cast<std::size_t>(w.batch) + 1] + 1, true;
       });
     }},
    {"no work where there was one",
     [](Recorded& r) {
       const auto at = r.plan.work_info.begin() + r.chosen * kWorkItemWords;
       r.plan.work_info.erase(at, at + kWorkItemWords);
       for (std::int32_t& end : r.plan.work_indptr) end -= end > r.chosen ? 1 : 0;
       return true;
     }},
    {"a work for the head after the last one",
     [](Recorded& r) {
       WorkItem item = r.work(r.chosen);
       const std::int64_t head = r.input.heads.count();
       const std::int64_t end = head + r.input.qhead_granularity;
       return item.heads = static_cast<std::int32_t>(end << 16 | head), r.add(item), true;
     }},
    {"a work that is there twice", [](Recorded& r) { return r.add(r.work(r.chosen)), true; }},
    {"a second work that begins one row later",
     [](Recorded& r) {
       WorkItem item = r.work(r.chosen);
       if (item.q_end - item.q_begin < 2) return false;
       return ++item.q_begin, r.add(item), true;
     }},
    {"a work without a page for rows that see no key",
     [](Recorded& r) {
       r.add_request(r.tile_rows() + 1, 0);
       return r.add_first_tile(0), true;
     }},
    {"a work with a page for rows that see no key",
     [](Recorded& r) {
       r.add_request(r.tile_rows() + 1, 0);
       return r.add_first_tile(1), true;
     }},
    {"a page of another request",
     [](Recorded& r) {
       // One more than the keys need, of which no work may make use.
       const std::int32_t last = r.pages.back()++;
       for (std::int64_t i = 0; i < r.works(); ++i) {
         WorkItem item = r.work(i);
         if (item.kv_end == last) return ++item.kv_end, r.set(i, item), true;
       }
       return false;
     }},
    {"a page less than its keys take", [](Recorded& r) { return --r.pages.back(), true; }},
    {"no work for a row with one key", [](Recorded& r) { return r.add_request(1, 1), true; }},
    {"no work for the last row, which alone sees a key",
     [](Recorded& r) { return r.add_request(r.tile_rows() + 1, 1), true; }},
};

// For a plan that merges.
constexpr Change kMergeDamages[] = {
    {"a piece more than the reduce has room for",
     [](Recorded& r) { return r.input.most_pieces = r.most_pieces() - 1, true; }},
    {"no room for partial tiles", [](Recorded& r) { return r.input.partial_tiles = 0, true; }},
    {"room for one partial tile less",
     [](Recorded& r) { return r.input.partial_tiles = r.partial_tiles() - 1, true; }},
    {"a piece in the partial tile after the last one",
     [](Recorded& r) {
       const std::int32_t after = r.partial_tiles() * r.tile_rows();
       r.move_works(r.plan.reduce_partial_map[0], after);
       return r.plan.reduce_partial_map[0] = after, true;
     }},
    {"pieces of two tiles in the same partial rows",
     [](Recorded& r) {
       if (r.merges() < 2) return false;
       const auto other = static_cast<std::size_t>(r.plan.reduce_indptr[1]);
       const std::int32_t shared = r.plan.reduce_partial_map[0];
       r.move_works(r.plan.reduce_partial_map[other], shared);
       return r.plan.reduce_partial_map[other] = shared, true;
     }},
    {"merges that begin with piece 1",
     [](Recorded& r) { return r.plan.reduce_indptr[0] = 1, true; }},
    {"merges that begin with piece -1",
     [](Recorded& r) { return r.plan.reduce_indptr[0] = -1, true; }},
    {"merges that run backwards",
     [](Recorded& r) {
       if (r.plan.reduce_indptr.size() < 3) return false;
       return r.plan.reduce_indptr[1] = r.partial_tiles() + 1, true;
     }},
    {"no rows of its last merge",
     [](Recorded& r) {
       r.final_rows = r.merges() - 1;
       return true;
     }},
    {"rows of a merge that begin one later",
     [](Recorded& r) { return ++r.plan.reduce_final_map[0], true; }},
};

struct RecordedCall {
  std::string name;
  dump::PrefillPlan planned;
};

std::vector<RecordedCall> recorded_calls() {
  std::vector<RecordedCall> out;
  const nlohmann::json document = mla::golden::load("ps_prefill");
  for (const nlohmann::json& object : document["cases"]) {
    auto call = dump::read_planned_prefill_call(object);
    auto found = dump::read_plan(object, 0);
    REQUIRE(call.ok());
    REQUIRE(found.ok());
    out.push_back({object["name"], {std::move(*call), std::move(*found)}});
  }
  return out;
}

// Works of a plan that are damaged: all of a small one.
std::vector<std::int64_t> chosen_works(std::int64_t works) {
  const std::int64_t step = std::max<std::int64_t>(1, works / 40);
  std::vector<std::int64_t> out;
  for (std::int64_t work = 0; work < works; work += step) out.push_back(work);
  return out;
}

// Calls `check(what, plan)` of each change that a recorded plan can have, at `works` of it; each
// has a place somewhere.
template <class Works, class Check>
void at_each_place(std::span<const Change> changes, Works works, Check check) {
  std::map<std::string, std::int64_t> places;
  for (const RecordedCall& call : recorded_calls()) {
    const Recorded sound(call.planned);
    for (const Change& change : changes)
      for (const std::int64_t work : works(sound)) {
        Recorded changed = sound;
        changed.chosen = work;
        if (!change.apply(changed)) continue;
        ++places[change.what];
        check(say("the plan of call ", call.name, ", ", change.what, " (work ", work, ")"),
              changed);
      }
  }
  CHECK(places.size() == changes.size());
}

std::vector<std::int64_t> of_each_work(const Recorded& r) {
  return chosen_works(r.works());
}

std::vector<std::int64_t> of_the_plan(const Recorded&) {
  return {0};
}

std::vector<std::int64_t> of_the_plan_if_merged(const Recorded& r) {
  return r.most_pieces() < 2 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{0};
}

void is_found(const std::string& what, Recorded& damaged) {
  if (!damaged.broken()) FAIL_CHECK(what << ", is valid");
}

}  // namespace

TEST_CASE("ps_check: AITER's recorded plans are valid in each legal form", "[plan][ps]") {
  CHECK(recorded_calls().size() == 24);
  at_each_place(kLegalChanges, of_the_plan, [](const std::string& what, Recorded& changed) {
    const auto why = changed.broken();
    if (why) FAIL_CHECK(what << ", is not valid: " << *why);
  });
}

TEST_CASE("ps_check: damages of works of AITER's recorded plans are violations", "[plan][ps]") {
  at_each_place(kWorkDamages, of_each_work, is_found);
}

TEST_CASE("ps_check: damages of merges of AITER's recorded plans are violations", "[plan][ps]") {
  at_each_place(kMergeDamages, of_the_plan_if_merged, is_found);
}
