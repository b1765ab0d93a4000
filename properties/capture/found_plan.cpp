// The six buffers as JSON lists, in both directions.
#include <algorithm>
#include <array>
#include <limits>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/capture/json_fields.hpp"
#include "properties/capture/planner_call.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using plan::PlanBuffer;

// A list of the golden vectors, the name of its buffer in `buffer_sizes`, words of a row.
struct ListName {
  const char* list;
  const char* buffer;
  std::int64_t row;
  std::vector<std::int32_t> FoundPlan::* words;
};
constexpr std::array<ListName, 5> kLists = {{
    {"work_indptr", "work_indptr", 1, &FoundPlan::work_indptr},
    {"work_info", "work_info_set", plan::kWorkItemWords, &FoundPlan::work_info},
    {"reduce_indptr", "reduce_indptr", 1, &FoundPlan::reduce_indptr},
    {"reduce_final_map", "reduce_final_map", 2, &FoundPlan::reduce_final_map},
    {"reduce_partial_map", "reduce_partial_map", 1, &FoundPlan::reduce_partial_map},
}};

constexpr const char* kAddresses = "work_metadata_ptrs";
constexpr std::int64_t kAddressWords = 2;

Error bad(const char* key, const std::string& why) {
  return {ErrorCode::usage, say("key '", key, "' ", why), ""};
}

// Where the lists stand.
const json& lists_of(const json& object) {
  const auto expected = object.find("expected");
  return expected != object.end() && expected->is_object() ? *expected : object;
}

// Sizes are the file's word: a few bytes may ask for gigabytes.
Status too_large(const FoundPlan& plan) {
  std::int64_t words = 0;
  for (const ListName& name : kLists) words += std::ssize(plan.*name.words);
  if (words <= kMostWords) return std::nullopt;
  return bad("buffer_sizes", say("has ", words, " words in all: expected at most ", kMostWords));
}

// Appends one word; null is one that was never written.
bool append_word(const json& element, std::vector<std::int32_t>& out) {
  if (element.is_null()) {
    out.push_back(plan::kPoison);
    return true;
  }
  if (!element.is_number_integer()) return false;
  using Limits = std::numeric_limits<std::int32_t>;
  if (element.is_number_unsigned() && element.get<std::uint64_t>() > Limits::max()) return false;
  const auto value = element.get<std::int64_t>();
  if (value < Limits::min() || value > Limits::max()) return false;
  out.push_back(static_cast<std::int32_t>(value));
  return true;
}

// Appends the words of a list, or of its rows. False: something stands there that is neither.
bool append_list(const json& list, std::vector<std::int32_t>& out) {
  if (!list.is_array()) return false;
  for (const json& element : list) {
    if (!element.is_array()) {
      if (!append_word(element, out)) return false;
      continue;
    }
    for (const json& word : element)
      if (!append_word(word, out)) return false;
  }
  return true;
}

// Words of a buffer as `buffer_sizes` has it, a shape such as [80, 8]; -1 if it is none.
std::int64_t declared_words(const json& shape) {
  if (!shape.is_array() || shape.empty()) return -1;
  std::int64_t words = 1;
  for (const json& extent : shape) {
    if (!extent.is_number_integer()) return -1;
    const auto n = extent.get<std::int64_t>();  // below 0 if it is beyond that
    if (n < 0 || (n > 0 && words > kMostWords / n)) return -1;
    words *= n;
  }
  return words;
}

// Gives the list the length of its buffer; without `buffer_sizes` it keeps its own.
Status extend(const json& object, const ListName& name, std::int32_t cut_off,
              std::vector<std::int32_t>& words) {
  const auto found = static_cast<std::int64_t>(words.size());
  const auto sizes = object.find("buffer_sizes");
  if (sizes == object.end()) {
    if (found % name.row == 0) return std::nullopt;
    return bad(name.list, say("has ", found, " words: rows have ", name.row));
  }
  const auto shape = sizes->find(name.buffer);
  if (shape == sizes->end()) return bad("buffer_sizes", say("lacks '", name.buffer, "'"));
  const std::int64_t declared = declared_words(*shape);
  if (declared < 0)
    return bad("buffer_sizes", say("has ", shape->dump(), ": it must be a shape of at most ",
                                   kMostWords, " words"));
  if (found > declared)
    return bad(name.list, say("has ", found, " words, but its buffer ", declared));
  if (declared % name.row != 0)
    return bad(name.list, say("has a buffer of ", declared, " words: rows have ", name.row));
  words.resize(static_cast<std::size_t>(declared), cut_off);
  return std::nullopt;
}

// The sixth buffer, whose two words are the addresses of the first two, and no name that nobody
// reads.
Status check_sizes(const json& object) {
  const auto sizes = object.find("buffer_sizes");
  if (sizes == object.end()) return std::nullopt;
  if (!sizes->is_object())
    return bad("buffer_sizes", "is " + shown(*sizes) + ": it must be an object");
  std::vector<std::string_view> known{kAddresses};
  for (const ListName& name : kLists) known.emplace_back(name.buffer);
  for (const auto& [buffer, shape] : sizes->items())
    if (std::ranges::find(known, buffer) == known.end())
      return bad("buffer_sizes",
                 "has '" + buffer + "', which is unknown" + did_you_mean(buffer, known));
  const auto addresses = sizes->find(kAddresses);
  if (addresses == sizes->end()) return std::nullopt;
  const std::int64_t words = declared_words(*addresses);
  if (words >= kAddressWords) return std::nullopt;
  return bad("buffer_sizes", say("has ", shown(*addresses), " for '", kAddresses,
                                 "': the planner writes ", kAddressWords, " words"));
}

ordered_json shapes(const plan::BufferSizes& sizes) {
  return {{kAddresses, {sizes.work_meta_data}},
          {"work_indptr", {sizes.work_indptr}},
          {"work_info_set", {sizes.work_items, plan::kWorkItemWords}},
          {"reduce_indptr", {sizes.reduce_indptr}},
          {"reduce_final_map", {sizes.reduce_final_rows, 2}},
          {"reduce_partial_map", {sizes.reduce_partial_map}}};
}

ordered_json elements(const PlanBuffer& buffer) {
  ordered_json list = ordered_json::array();
  const std::int64_t used = buffer.used();
  for (std::int64_t i = 0; i < used; ++i)
    list.push_back(buffer.written(i) ? ordered_json(buffer.at(i)) : ordered_json(nullptr));
  return list;
}

}  // namespace

plan::PlanView FoundPlan::view() const {
  // The addresses of a dump mean nothing to anybody else, and plan_check does not look at them.
  return {plan::kNoAddresses,
          {work_indptr, work_info, reduce_indptr, reduce_final_map, reduce_partial_map}};
}

bool has_plan(const json& object) {
  const json& lists = lists_of(object);
  return std::ranges::any_of(kLists,
                             [&](const ListName& name) { return lists.contains(name.list); });
}

void size_as_listed(json& object, std::string_view list) {
  const auto name = std::ranges::find(kLists, list, &ListName::list);
  const auto sizes = object.find("buffer_sizes");
  std::vector<std::int32_t> words;
  if (name == kLists.end() || sizes == object.end() || !sizes->is_object() ||
      !append_list(object[name->list], words))
    return;
  (*sizes)[name->buffer] = {words.size()};
}

Result<FoundPlan> read_plan(const json& object, std::int32_t cut_off) {
  FoundPlan plan;
  if (Status wrong = check_sizes(object)) return *wrong;
  const json& lists = lists_of(object);
  for (const ListName& name : kLists)
    if (&lists != &object && object.contains(name.list))
      return bad(name.list, "stands beside 'expected', which has the lists of a plan as well");
  for (const ListName& name : kLists) {
    const auto list = lists.find(name.list);
    if (list == lists.end()) return bad(name.list, "is missing");
    std::vector<std::int32_t>& words = plan.*name.words;
    if (!append_list(*list, words))
      return bad(name.list,
                 "must be a list of 32-bit integers, in which null stands for an element that was "
                 "never written, or of rows of them");
    if (Status wrong = extend(object, name, cut_off, words)) return *wrong;
    if (Status wrong = too_large(plan)) return *wrong;
  }
  return plan;
}

void write_plan(ordered_json& out, const plan::BufferSizes& sizes, const plan::Plan& plan) {
  out["buffer_sizes"] = shapes(sizes);
  out["work_indptr"] = elements(plan.work_indptr);
  out["work_info"] = elements(plan.work_info);
  out["reduce_indptr"] = elements(plan.reduce_indptr);
  out["reduce_final_map"] = elements(plan.reduce_final_map);
  out["reduce_partial_map"] = elements(plan.reduce_partial_map);
  for (const PlanBuffer* buffer : {&plan.work_indptr, &plan.work_info, &plan.reduce_indptr,
                                   &plan.reduce_final_map, &plan.reduce_partial_map})
    for (const auto& [index, value] : buffer->overruns())
      out["overruns"][buffer->name()].push_back(ordered_json::array({index, value}));
}

}  // namespace mla::cli
