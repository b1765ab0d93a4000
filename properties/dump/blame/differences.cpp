#include "properties/dump/blame/differences.hpp"

#include <algorithm>
#include <array>

#include "core/say.hpp"

namespace mla::dump {
namespace {

constexpr std::array kSizes = {&plan::BufferSizes::work_indptr, &plan::BufferSizes::work_items,
                               &plan::BufferSizes::reduce_indptr,
                               &plan::BufferSizes::reduce_final_rows,
                               &plan::BufferSizes::reduce_partial_map};

// Only what the planner wrote counts: works after the last one are left over from earlier steps in
// any buffer that is used again.
void compare(const plan::PlanBuffer& planned, const Words& found, std::vector<Difference>& out) {
  const std::int64_t end = std::min<std::int64_t>(planned.used(), std::ssize(found));
  for (std::int64_t i = 0; i < end && out.size() <= kFewWords; ++i) {
    const std::int32_t word = found[static_cast<std::size_t>(i)];
    if (planned.written(i) && word != planned.at(i))
      out.push_back({word_name(planned.name(), i), word, planned.at(i)});
  }
}

}  // namespace

std::string word_name(std::string_view buffer, std::int64_t i) {
  constexpr const char* kWords[] = {"batch",    "partial_row", "q_begin",   "q_end",
                                    "kv_begin", "kv_end",      "kv_offset", "pad"};
  if (buffer == "work_info_set")
    return say("work ", i / plan::kWorkItemWords, " ", kWords[i % plan::kWorkItemWords]);
  if (buffer == "reduce_final_map")
    return say("reduce entry ", i / 2, i % 2 == 0 ? " q_begin" : " q_end");
  return say(buffer, "[", i, "]");
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
  for (const plan::PlanBuffer* b : planned.all())
    if (!b->overruns().empty())
      return say("the planner writes element ", b->overruns().rbegin()->first, " of ", b->name(),
                 ", which was allocated with ", b->size());
  return {};
}

std::vector<Difference> differences(const plan::Plan& planned, const FoundPlan& found) {
  std::vector<Difference> out;
  for (std::size_t i = 0; i < planned.all().size(); ++i)
    compare(*planned.all()[i], *found.all()[i], out);
  return out;
}

std::string few_words(const std::vector<Difference>& words) {
  if (words.empty() || words.size() > kFewWords) return {};
  std::string out = "it differs from the planner's in " +
                    (words.size() == 1 ? "one word: " : say(words.size(), " words: "));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Difference& d = words[i];
    out += (i > 0 ? "; " : "") + d.word + " is " +
           (d.found == plan::kPoison ? "unwritten" : std::to_string(d.found)) + ", planned " +
           std::to_string(d.planned);
  }
  return out;
}

}  // namespace mla::dump
