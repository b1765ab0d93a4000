#include "properties/judge/defects.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "properties/judge/minimise.hpp"
#include "properties/step/estimate.hpp"

namespace mla::prop {
namespace {

// Cases looked at while one failure is made smaller; the usual number is below 200.
constexpr std::int64_t kMaxShrinkTries = 1000;

// Of these properties, those that fail on the case in a way that the ledger does not know.
std::vector<Failing> failing_on(const RunOptions& options, MemoryBudget& memory, const Case& c,
                                const std::vector<const Property*>& properties,
                                const Stopped& stopped) {
  std::vector<Failing> failing;
  const MemoryBudget::Share share(memory, estimate_of(c).bytes());
  Judgement judgement =
      judge(c, properties, *options.backend, options.interposer, options.ledger, stopped);
  for (std::size_t i = 0; i < properties.size(); ++i)
    if (judgement.outcomes[i].verdict == Verdict::fail)
      failing.push_back({properties[i], std::move(judgement.outcomes[i])});
  return failing;
}

Failure shrunk(const RunOptions& options, MemoryBudget& memory, const Case& c, Failing first,
               const Stopped& stopped) {
  const auto fails = [&](const Case& simpler) -> std::optional<Outcome> {
    // A shrink never slides into what is known.
    auto failing = failing_on(options, memory, simpler, {first.property}, stopped);
    if (failing.empty()) return std::nullopt;
    return std::move(failing.front().outcome);
  };
  Minimum minimum =
      minimise(c, std::move(first.outcome), fails, options.shrink ? kMaxShrinkTries : 0, stopped);
  Failure failure;
  failure.property = first.property;
  failure.smallest = std::move(minimum.smallest);
  failure.original = c;
  failure.outcome = std::move(minimum.outcome);
  failure.seed = options.seed;
  failure.shrinks = minimum.shrinks;
  failure.cut = minimum.cut;
  failure.replay_options = options.replay_options;
  return failure;
}

void remove(std::vector<Failing>& from, const Property* property) {
  from.erase(std::remove_if(from.begin(), from.end(),
                            [property](const Failing& f) { return f.property == property; }),
             from.end());
}

}  // namespace

std::vector<Failure> defects_of(const RunOptions& options, MemoryBudget& memory, const Case& c,
                                std::vector<Failing> failing, std::vector<const Property*> others,
                                const Stopped& stopped) {
  std::vector<Failure> failures;
  while (!failing.empty()) {
    Failing first = std::move(failing.front());
    failing.erase(failing.begin());
    Failure failure = shrunk(options, memory, c, std::move(first), stopped);
    if (failure.smallest == c) {
      failure.also = std::exchange(failing, {});  // judged already
    } else if (!failure.cut) {
      std::vector<const Property*> asked = others;
      for (const Failing& f : failing) asked.push_back(f.property);
      failure.also = failing_on(options, memory, failure.smallest, asked, stopped);
    }
    std::sort(failure.also.begin(), failure.also.end(),
              [](const Failing& a, const Failing& b) { return a.property->id < b.property->id; });
    for (const Failing& f : failure.also) {
      remove(failing, f.property);
      others.erase(std::remove(others.begin(), others.end(), f.property), others.end());
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace mla::prop
