#include "properties/dump/read/parts.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::dump {
namespace {

using files::shown;
using nlohmann::json;

constexpr const char* kAddresses = "work_metadata_ptrs";
constexpr std::int64_t kAddressWords = 2;

Error bad(const char* key, const std::string& why) {
  return {ErrorCode::usage, say("key '", key, "' ", why)};
}

// Where the lists stand.
const json& lists_of(const json& object) {
  const auto expected = object.find("expected");
  return expected != object.end() && expected->is_object() ? *expected : object;
}

// Sizes are the file's word: a few bytes may ask for gigabytes.
MaybeError too_large(const FoundPlan& plan) {
  std::int64_t words = 0;
  for (const PlanList& list : kPlanLists) words += std::ssize(plan.*list.words);
  if (words <= kMostWords) return std::nullopt;
  return bad("buffer_sizes", say("has ", words, " words in all: expected at most ", kMostWords));
}

// Appends one word; null is one that was never written.
bool append_word(const json& element, Words& out) {
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
bool append_list(const json& list, Words& out) {
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

MaybeError read_list(const PlanList& list, const json& found, Words& words) {
  if (append_list(found, words)) return std::nullopt;
  return bad(list.key,
             "must be a list of 32-bit integers, in which null stands for an element that was "
             "never written, or of rows of them");
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
MaybeError extend(const json& object, const PlanList& list, std::int32_t cut_off, Words& words) {
  const auto found = static_cast<std::int64_t>(words.size());
  const auto sizes = object.find("buffer_sizes");
  if (sizes == object.end()) {
    if (found % list.row == 0) return std::nullopt;
    return bad(list.key, say("has ", found, " words: rows have ", list.row));
  }
  const auto shape = sizes->find(list.buffer);
  if (shape == sizes->end()) return bad("buffer_sizes", say("lacks '", list.buffer, "'"));
  const std::int64_t declared = declared_words(*shape);
  if (declared < 0)
    return bad("buffer_sizes", say("has ", shape->dump(), ": it must be a shape of at most ",
                                   kMostWords, " words"));
  if (found > declared)
    return bad(list.key, say("has ", found, " words, but its buffer ", declared));
  if (declared % list.row != 0)
    return bad(list.key, say("has a buffer of ", declared, " words: rows have ", list.row));
  words.resize(static_cast<std::size_t>(declared), cut_off);
  return std::nullopt;
}

// The sixth buffer, whose two words are the addresses of the first two, and no name that is not
// read.
MaybeError check_sizes(const json& object) {
  const auto sizes = object.find("buffer_sizes");
  if (sizes == object.end()) return std::nullopt;
  if (!sizes->is_object())
    return bad("buffer_sizes", "is " + shown(*sizes) + ": it must be an object");
  std::vector<std::string_view> known{kAddresses};
  for (const PlanList& list : kPlanLists) known.emplace_back(list.buffer);
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

}  // namespace

bool has_plan(const json& object) {
  const json& lists = lists_of(object);
  return std::ranges::any_of(kPlanLists,
                             [&](const PlanList& list) { return lists.contains(list.key); });
}

Result<FoundPlan> read_plan(const json& object, std::int32_t cut_off) {
  FoundPlan plan;
  if (MaybeError wrong = check_sizes(object)) return *wrong;
  const json& lists = lists_of(object);
  for (const PlanList& list : kPlanLists)
    if (&lists != &object && object.contains(list.key))
      return bad(list.key, "stands beside 'expected', which has the lists of a plan as well");
  for (const PlanList& list : kPlanLists) {
    const auto found = lists.find(list.key);
    if (found == lists.end()) return bad(list.key, "is missing");
    Words& words = plan.*list.words;
    if (MaybeError wrong = read_list(list, *found, words)) return *wrong;
    if (MaybeError wrong = extend(object, list, cut_off, words)) return *wrong;
    if (MaybeError wrong = too_large(plan)) return *wrong;
  }
  return plan;
}

Result<FoundPlan> read_launched_plan(const json& object, const FoundPlan& planned) {
  FoundPlan plan = planned;
  const bool sized = object.contains("buffer_sizes");
  for (const PlanList& list : kPlanLists) {
    const auto found = object.find(say("launch_", list.key));
    if (found == object.end()) continue;
    Words& words = plan.*list.words;
    words.clear();
    if (MaybeError wrong = read_list(list, *found, words)) return *wrong;
    if (std::ssize(words) % list.row != 0)
      return bad(list.key, say("has ", sized ? "a buffer of " : "", words.size(),
                               " words: rows have ", list.row));
    if (MaybeError wrong = too_large(plan)) return *wrong;
  }
  return plan;
}

}  // namespace mla::dump
