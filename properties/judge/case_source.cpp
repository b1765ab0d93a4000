#include "properties/judge/case_source.hpp"

#include <algorithm>

#include "properties/generate/arbitrary_case.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/row_widths.hpp"

namespace mla::prop {

CaseSource::CaseSource(const RunOptions& options)
    : options_(options),
      given_(std::ssize(options.cases)),
      wanted_(given_ + options.random_cases) {}

Case CaseSource::at(std::int64_t index) const {
  if (!is_drawn(index)) return options_.cases[static_cast<std::size_t>(index)];
  Case c = nth_case(options_.seed, index - given_, options_.production);
  if (options_.widths) draw_widths(c, options_.seed, index - given_);
  if (options_.arch) set_arch(c, *options_.arch);
  return c;
}

const CaseAnswer* CaseSource::answer(std::int64_t index) const {
  if (options_.answers == nullptr) return nullptr;
  const auto found = options_.answers->find(index);
  return found == options_.answers->end() ? nullptr : &found->second;
}

std::int64_t CaseSource::answered_end() const {
  const Answers* answers = options_.answers;
  return answers == nullptr || answers->empty() ? 0 : answers->rbegin()->first + 1;
}

bool CaseSource::is_mine(std::int64_t index) const {
  return options_.only_answered ? answer(index) != nullptr : options_.shard.has(index);
}

std::int64_t CaseSource::end() const {
  if (!options_.only_answered) return options_.time_limit ? kNever : wanted_;
  return std::max(wanted_, answered_end());
}

}  // namespace mla::prop
