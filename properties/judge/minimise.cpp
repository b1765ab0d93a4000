#include "properties/judge/minimise.hpp"

#include <utility>

#include "properties/generate/arbitrary_case.hpp"

namespace mla::prop {

Minimum minimise(const Case& failing, Outcome outcome, const Fails& fails, std::int64_t max_tries,
                 const Stopped& stopped) {
  Minimum minimum{failing, std::move(outcome), 0, 0, false};
  auto simpler = shrinkable_case(failing).shrinks();
  while (minimum.tried < max_tries) {
    minimum.cut = stopped();
    if (minimum.cut) break;
    const auto candidate = simpler.next();
    if (!candidate) break;
    ++minimum.tried;
    std::optional<Outcome> failure = fails(candidate->value());
    if (!failure) continue;
    minimum.smallest = candidate->value();
    minimum.outcome = std::move(*failure);
    ++minimum.shrinks;
    simpler = candidate->shrinks();
  }
  return minimum;
}

}  // namespace mla::prop
