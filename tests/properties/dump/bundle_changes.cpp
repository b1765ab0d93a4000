#include "tests/properties/dump/bundle_changes.hpp"

#include "core/say.hpp"
#include "properties/app/capture_case.hpp"
#include "tests/properties/judge_support.hpp"

namespace mla::test {
namespace {

using prop::Interposer;

constexpr const char* kContradict = "the lists of the batch are wrong or contradict each other";

MaybeExpected set_page(Changed& b, std::int32_t page, const std::string& why) {
  const auto at = b.any_page();
  if (!at) return std::nullopt;
  List ids = b.list("kv_indices");
  ids[static_cast<std::size_t>(at->entry)] = page;
  b.set("kv_indices", ids);
  return Expected{
      "batch",
      say("page ", at->place, " of request ", at->request, " is ", page, " in kv_indices, ", why),
      "the builder", kContradict};
}

MaybeExpected page_after_the_last(Changed& b) {
  const std::int64_t pages = b.scalar("num_pages");
  return set_page(b, static_cast<std::int32_t>(pages), say("and the cache has ", pages, " pages"));
}

MaybeExpected page_minus_one(Changed& b) {
  return set_page(b, -1, "which is negative");
}

// A page of another place: of the same request it is wrong, of another one if nothing is shared.
MaybeExpected page_twice(Changed& b) {
  const auto to = b.any_page();
  const auto from = b.any_page();
  if (!to || from->entry == to->entry || b.spec().layout.kind == Layout::prefix)
    return std::nullopt;
  List ids = b.list("kv_indices");
  const std::int32_t page = ids[static_cast<std::size_t>(from->entry)];
  ids[static_cast<std::size_t>(to->entry)] = page;
  b.set("kv_indices", ids);
  const auto [first, second] = std::minmax(to->entry, from->entry);
  const auto a = b.page_at(first);
  const auto z = b.page_at(second);
  return Expected{"batch",
                  a.request == z.request
                      ? say("request ", a.request, " has page ", page, " twice, as its pages ",
                            a.place, " and ", z.place)
                      : say("requests ", a.request, " and ", z.request, " share page ", page,
                            ", and the engine has no prefix caching"),
                  "the builder", kContradict};
}

MaybeExpected no_last_row_of_q(Changed& b) {
  io::RawArray& q = b.tensor("q");
  const std::int64_t rows = q.shape[0];
  if (rows < 1) return std::nullopt;
  q.bytes.resize(q.bytes.size() / static_cast<std::size_t>(rows) *
                 static_cast<std::size_t>(rows - 1));
  --q.shape[0];
  return Expected{"batch", say("q has ", rows - 1, " rows, seqlens_qo_indptr is for ", rows),
                  "the builder", "tensors and lists are not those of one batch"};
}

MaybeExpected last_page_too_long(Changed& b) {
  const auto at = b.any_page();
  if (!at) return std::nullopt;
  const std::int64_t page = b.scalar("page_size");
  List last = b.list("kv_last_page_lens");
  last[static_cast<std::size_t>(at->request)] = static_cast<std::int32_t>(page + 1);
  b.set("kv_last_page_lens", last);
  return Expected{
      "batch",
      say("kv_last_page_lens of request ", at->request, " is ", page + 1, " with pages of ", page),
      "the builder", kContradict};
}

// A word of a list, changed by more than any bound allows; its name, and what it is now and was.
MaybeExpected damage_word(Changed& b, const char* list, std::int64_t i, const std::string& name) {
  List words = b.list(list);
  const std::int32_t was = words[static_cast<std::size_t>(i)];
  const auto now = was + static_cast<std::int32_t>(b.random().below(2) == 0 ? 100000 : -100000);
  words[static_cast<std::size_t>(i)] = now;
  b.set(list, words);
  return Expected{
      "", "", "the builder, or what came after it",
      say("it differs from the planner's in one word: ", name, " is ", now, ", planned ", was)};
}

MaybeExpected word_of_a_work(Changed& b) {
  constexpr const char* kFields[] = {"batch",    "partial_row", "q_begin",  "q_end",
                                     "kv_begin", "kv_end",      "kv_offset"};
  if (b.works() == 0) return std::nullopt;
  const std::int64_t work = b.random().below(b.works());
  // Without a mask nothing reads kv_offset, and one row sees all keys before it.
  const std::int64_t field = b.random().below(6);
  return damage_word(b, "work_info", 8 * work + field, say("work ", work, " ", kFields[field]));
}

MaybeExpected word_of_a_merge(Changed& b) {
  if (!b.planned()) return std::nullopt;
  const std::int64_t tiles = std::ssize(b.list("reduce_final_map")) / 2;
  const std::int32_t pieces = b.list("reduce_indptr")[1];
  if (tiles < 1 || pieces < 2) return std::nullopt;
  if (b.random().below(2) == 0) {
    const std::int64_t i = b.random().below(2);
    return damage_word(b, "reduce_final_map", i,
                       i == 0 ? "reduce entry 0 q_begin" : "reduce entry 0 q_end");
  }
  const std::int64_t i = b.random().below(pieces);
  return damage_word(b, "reduce_partial_map", i, say("reduce_partial_map[", i, "]"));
}

MaybeExpected end_of_a_slot(Changed& b) {
  if (b.works() == 0) return std::nullopt;
  const std::int64_t slot = b.random().between(1, std::ssize(b.list("work_indptr")) - 1);
  return damage_word(b, "work_indptr", slot, say("work_indptr[", slot, "]"));
}

// The plan of the batch without its last request.
MaybeExpected unplanned_request(Changed& b) {
  Case shorter = b.spec();
  if (!b.planned() || shorter.requests.size() < 2 || shorter.pad_requests > 0) return std::nullopt;
  const RequestSpec left_out = shorter.requests.back();
  shorter.requests.pop_back();
  const RequestSpec& other = shorter.requests.back();
  if (other.qo_len != left_out.qo_len || other.kv_len == 0 || left_out.kv_len == 0 ||
      left_out.qo_len == 0)
    return std::nullopt;
  const auto planned = app::capture_case(shorter, cpu_backend(), Interposer::none());
  if (!planned || !planned->arrays.contains("work_info")) return std::nullopt;
  // Folded heads: the plan counts each request and its rows several times.
  std::int32_t rows = 0;
  const List works = b.list("work_info");
  for (auto w = b.works() - 1; w >= 0; --w)
    rows = std::max(rows, works[static_cast<std::size_t>(8 * w + 3)]);
  const std::int64_t fold = rows / b.list("seqlens_qo_indptr").back();
  for (const char* name :
       {"work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map"}) {
    const auto wide = *io::integers_of(planned->arrays.at(name));
    List words(wide.begin(), wide.end());
    const bool sums = std::string_view(name).ends_with("indptr");
    words.resize(std::max(words.size(), b.list(name).size()), sums ? words.back() : 0);
    b.set(name, words);
  }
  const auto first = static_cast<std::int64_t>(shorter.requests.size());
  return Expected{
      "row_written", say("request ", first * fold, ": no work writes rows "), "the builder",
      say("it is the plan of the first ", first, " requests, the batch has ", first + 1)};
}

// The reduce has room for one piece less than a tile has: of more compute units or splits.
MaybeExpected one_split_too_few(Changed& b) {
  if (!b.planned()) return std::nullopt;
  const List ends = b.list("reduce_indptr");
  std::int64_t pieces = 0;
  for (std::size_t i = 1; i < ends.size(); ++i)
    pieces = std::max<std::int64_t>(pieces, ends[i] - ends[i - 1]);
  if (pieces < 2) return std::nullopt;
  b.set_scalar("num_cu", 1);
  b.set_scalar("num_kv_splits", pieces - 1);
  return Expected{"", say(": ", pieces, " pieces, and the reduce has room for ", pieces - 1), "",
                  ""};
}

constexpr BundleDamage kDamages[] = {{"the page after the last one", page_after_the_last},
                                     {"page -1", page_minus_one},
                                     {"a page twice", page_twice},
                                     {"Q without its last row", no_last_row_of_q},
                                     {"a last page that is too long", last_page_too_long},
                                     {"a word of a work", word_of_a_work},
                                     {"a word of a merge", word_of_a_merge},
                                     {"the end of a slot", end_of_a_slot},
                                     {"a request without works", unplanned_request},
                                     {"one split too few", one_split_too_few}};

bool other_slots(Changed& b) {
  if (b.works() == 0) return false;
  List ends = b.list("work_indptr");
  for (std::size_t s = 1; s + 1 < ends.size(); ++s)
    ends[s] = static_cast<std::int32_t>(b.random().between(0, ends.back()));
  std::sort(ends.begin(), ends.end());
  return b.set("work_indptr", ends), true;
}

// The first two pieces of the first merge change their partial rows.
bool other_partial_rows(Changed& b) {
  if (!b.planned() || b.list("reduce_indptr")[1] < 2) return false;
  List map = b.list("reduce_partial_map");
  List works = b.list("work_info");
  for (std::int64_t w = 0; w < b.works(); ++w) {
    std::int32_t& partial = works[static_cast<std::size_t>(8 * w + 1)];
    if (partial == map[0] || partial == map[1]) partial = partial == map[0] ? map[1] : map[0];
  }
  std::swap(map[0], map[1]);
  return b.set("work_info", works), b.set("reduce_partial_map", map), true;
}

bool words_after_the_last(Changed& b) {
  List ids = b.list("kv_indices");
  for (int i = 0; i < 3; ++i) ids.push_back(-7);
  b.set("kv_indices", ids);
  if (b.works() == 0) return true;
  List works = b.list("work_info");
  for (auto i = static_cast<std::size_t>(8 * b.works()); i < works.size(); ++i)
    works[i] = static_cast<std::int32_t>(b.random().below(1 << 30));
  return b.set("work_info", works), true;
}

// Every page gets another id, in the cache as well.
bool other_pages(Changed& b) {
  const auto pages = static_cast<std::int32_t>(b.scalar("num_pages"));
  List ids = b.list("kv_indices");
  List dumped = b.list("kv_cache_pages");
  const auto live = static_cast<std::size_t>(b.list("seqlens_kv_indptr").back());
  for (std::size_t i = 0; i < live; ++i) ids[i] = pages - ids[i];
  for (std::int32_t& id : dumped) id = pages - id;
  b.set_scalar("num_pages", pages + 1);
  return b.set("kv_indices", ids), b.set("kv_cache_pages", dumped), true;
}

// As many splits as a tile has pieces, and fewer compute units.
bool splits_enough(Changed& b) {
  const auto few = one_split_too_few(b);
  if (few) b.set_scalar("num_kv_splits", b.scalar("num_kv_splits") + 1);
  return few.has_value();
}

bool row_of_padding(Changed& b) {
  io::RawArray& q = b.tensor("q");
  if (q.shape[0] < 1) return false;
  q.bytes.resize(q.bytes.size() + q.bytes.size() / static_cast<std::size_t>(q.shape[0]));
  return ++q.shape[0], true;
}

constexpr BundleFreedom kFreedoms[] = {{"as it was captured", [](Changed&) { return true; }},
                                       {"other slots", other_slots},
                                       {"other partial rows", other_partial_rows},
                                       {"words after the last ones", words_after_the_last},
                                       {"other page ids", other_pages},
                                       {"a row of a graph's padding", row_of_padding},
                                       {"as many splits as pieces", splits_enough}};

}  // namespace

std::span<const BundleDamage> bundle_damages() {
  return kDamages;
}

std::span<const BundleFreedom> bundle_freedoms() {
  return kFreedoms;
}

}  // namespace mla::test
