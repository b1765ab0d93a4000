#include "properties/capture/checked_launch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "core/text.hpp"
#include "properties/capture/bundle.hpp"
#include "properties/capture/diagnose.hpp"
#include "properties/capture/json_fields.hpp"
#include "properties/capture/launched_call.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;

// Some of the words that changed are enough for a sentence.
constexpr std::size_t kShown = 4;
constexpr std::array kLists = {"seqlens_qo_indptr", "seqlens_kv_indptr", "kv_last_page_lens",
                               "kv_indices"};

std::string launch_key(std::string_view key) {
  return say(kLaunchPrefix, key);
}

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

// Entries behind the planned batch are a graph's padding, and page ids behind the live ones
// nobody's. A dump may have page ids of the launch alone.
void compare_lists(const PlannerCall& call, Fields& fields, LaunchChanges& out) {
  std::vector<std::int32_t> pages;
  if (fields.has(kLists.back())) pages = fields.words(kLists.back());
  const std::array<std::span<const std::int32_t>, kLists.size()> planned{
      call.qo_indptr, call.kv_indptr, call.last_page_len, pages};
  for (std::size_t k = 0; k < kLists.size(); ++k) {
    const std::string key = launch_key(kLists[k]);
    if (!fields.has(key.c_str())) continue;
    const std::vector<std::int32_t> found = fields.words(key.c_str());
    std::int64_t live = std::ssize(planned[k]);
    if (k + 1 == kLists.size()) live = call.kv_indptr.empty() ? 0 : call.kv_indptr.back();
    if (std::ssize(found) < live)
      out.violations.push_back(say(kLists[k], " has ", found.size(),
                                   " entries at the launch, the planned batch has ", live));
    else
      compare(
          planned[k], found, std::min(live, std::ssize(planned[k])),
          [&](std::int64_t i) { return say(kLists[k], "[", i, "]"); }, out);
  }
  constexpr const char* kTotal = "launch_total_kv";
  const std::int64_t used = call.kv_indptr.empty() ? 0 : call.kv_indptr.back();
  const std::int64_t total = fields.number_or(kTotal, used);
  if (total < 0) fields.reject(kTotal, say("is ", total, ": expected at least 0"));
  if (total < used)
    out.violations.push_back(say("kv_indices has ", total, " entries at the launch (", kTotal,
                                 "), the planned batch has ", used));
}

// A graph's padding has no rows, or one page; what has more is a request that nobody computes.
void find_unplanned(const PlannerCall& call, Fields& fields, LaunchChanges& out) {
  const std::string rows_key = launch_key(kLists[0]), pages_key = launch_key(kLists[1]);
  if (!fields.has(rows_key.c_str()) || !fields.has(pages_key.c_str())) return;
  const std::vector<std::int32_t> rows = fields.words(rows_key.c_str());
  const std::vector<std::int32_t> pages = fields.words(pages_key.c_str());
  for (std::size_t r = call.last_page_len.size(); r + 1 < std::min(rows.size(), pages.size());
       ++r) {
    const std::int64_t own = std::int64_t{rows[r + 1]} - rows[r];
    const std::int64_t held = std::int64_t{pages[r + 1]} - pages[r];
    if (own <= 0 || held <= 1) continue;
    out.notes.push_back(say("the lists of the launch have a request ", r, " of ", own, " rows and ",
                            held, " pages; the plan is for ", call.last_page_len.size(),
                            " requests, and no work is for it"));
    return;
  }
}

// What the kernel and the reduce follow: all of both indptrs, works up to the last one, tiles that
// merge anything.
void compare_plans(const FoundPlan& planned, const FoundPlan& found, LaunchChanges& out) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  // Words of a buffer that are followed, unwritten ones at its end left out.
  const auto followed = [](std::int64_t wanted, const std::vector<std::int32_t>& words) {
    std::int64_t live = std::clamp<std::int64_t>(wanted, 0, std::ssize(words));
    while (live > 0 && words[static_cast<std::size_t>(live - 1)] == plan::kPoison) --live;
    return live;
  };
  const auto last = [](const std::vector<std::int32_t>& list) {
    return list.empty() ? std::int64_t{0} : std::int64_t{list.back()};
  };
  const std::int64_t works = last(planned.work_indptr) * plan::kWorkItemWords;
  const std::int64_t partials = last(planned.reduce_indptr);
  const auto& ends = planned.reduce_indptr;
  // Tiles up to the last one that merges anything.
  const std::int64_t merged =
      ends.empty() ? 0 : std::ranges::find(ends, ends.back()) - ends.begin();
  struct Buffer {
    const char* name;
    std::vector<std::int32_t> FoundPlan::* words;
    std::int64_t live;
  };
  for (const Buffer& b : {Buffer{"work_indptr", &FoundPlan::work_indptr, kAll},
                          {"work_info_set", &FoundPlan::work_info, works},
                          {"reduce_indptr", &FoundPlan::reduce_indptr, kAll},
                          {"reduce_final_map", &FoundPlan::reduce_final_map, 2 * merged},
                          {"reduce_partial_map", &FoundPlan::reduce_partial_map, partials}}) {
    const auto& before = planned.*b.words;
    const auto& after = found.*b.words;
    const std::int64_t live = followed(b.live, before);
    const std::int64_t both = std::min<std::int64_t>(live, std::ssize(after));
    if (both < live)
      add(out, say(b.name, " has ", both, " words at the launch, the plan uses ", live));
    if (b.live == kAll && after.size() > before.size())
      add(out, say(b.name, " has ", after.size(), " words at the launch, the planner got ",
                   before.size()));
    compare(before, after, both, [&](std::int64_t i) { return word_name(b.name, i); }, out);
  }
}

std::optional<std::uint64_t> address(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) return std::nullopt;
  return value.get<std::uint64_t>();
}

// Kernels follow the two words of work_meta_data, wherever the buffers are.
Status check_addresses(const json& addresses, LaunchChanges& out) {
  const auto bad = [](const std::string& why) {
    return Error{ErrorCode::usage, "key 'launch_addresses' " + why, ""};
  };
  if (!addresses.is_object()) return bad("is " + shown(addresses) + ": it must be an object");
  static constexpr std::string_view kKnown[] = {"work_indptr", "work_info", "work_meta_data"};
  for (const auto& [key, value] : addresses.items())
    if (std::ranges::find(kKnown, key) == std::end(kKnown))
      return bad("has '" + key + "', which is unknown" + did_you_mean(key, kKnown));
  const auto words = addresses.find("work_meta_data");
  if (words == addresses.end()) return std::nullopt;
  if (!words->is_array() || words->size() != 2 || !address((*words)[0]) || !address((*words)[1]))
    return bad("has work_meta_data " + shown(*words) + ": it must be two addresses");
  std::size_t place = 0;
  for (const char* buffer : {"work_indptr", "work_info"}) {
    const auto found = addresses.find(buffer);
    const std::uint64_t leads = *address((*words)[place++]);
    if (found == addresses.end()) continue;
    const auto lies = address(*found);
    if (!lies) return bad("has " + shown(*found) + " for " + buffer);
    if (*lies != leads)
      out.violations.push_back("work_meta_data leads to " + hex(leads) + " for " + buffer +
                               ", which is at " + hex(*lies) + ": the kernel reads other memory");
  }
  return std::nullopt;
}

}  // namespace

bool has_launch(const json& object) {
  for (const auto& [key, value] : object.items())
    if (key.starts_with(kLaunchPrefix)) return true;
  return false;
}

json without_launch(const json& object) {
  json out = json::object();
  for (const auto& [key, value] : object.items())
    if (!key.starts_with(kLaunchPrefix)) out[key] = value;
  return out;
}

json with_ranks(json out, const json& object) {
  for (const char* key : {"launch_cp_world_size", "launch_cp_rank", "launch_g_kv_indptr"})
    if (const auto found = object.find(key); found != object.end()) out[key] = *found;
  return out;
}

json as_launched(const json& object) {
  json out = without_launch(object);
  if (const auto lists = out.find("expected"); lists != out.end() && lists->is_object()) {
    const json planned = std::move(*lists);
    out.erase("expected");
    out.update(planned);
  }
  for (const auto& [key, value] : object.items()) {
    if (!key.starts_with(kLaunchPrefix) || key == "launch_addresses") continue;
    if (is_launched_argument(key)) continue;
    const std::string planned = key.substr(kLaunchPrefix.size());
    json cut = value;
    const bool list = std::find(kLists.begin(), kLists.end(), planned) != kLists.end();
    if (list && out.contains(planned) && cut.size() > out[planned].size())
      cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(out[planned].size()), cut.end());
    out[planned] = std::move(cut);
    size_as_listed(out, planned);  // buffers of the launch are whole
  }
  return out;
}

Result<LaunchChanges> launch_changes(const PlannerCall& call, const json& object) {
  LaunchChanges out;
  Fields fields(object);
  compare_lists(call, fields, out);
  find_unplanned(call, fields, out);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  if (has_plan(object)) {
    const auto planned = read_plan(object);
    if (!planned) return planned.error();
    const auto found = read_plan(as_launched(object));
    if (!found) {
      Error error = found.error();
      error.message = "as the kernel found it, " + error.message;
      return error;
    }
    compare_plans(*planned, *found, out);
  }
  if (object.contains("launch_addresses"))
    if (const Status wrong = check_addresses(object["launch_addresses"], out)) return *wrong;
  return out;
}

}  // namespace mla::cli
