#include "properties/judge/failure.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::prop {
namespace {

void add(std::string& block, std::string_view label, std::string_view text) {
  block.append("  ").append(label).append(text).append("\n");
}

std::string shrinking(const Failure& f) {
  return say("seed ", f.seed, ", ", f.shrinks, " shrinks",
             f.cut ? "; shrinking was cut off, the case may not be the smallest" : "");
}

}  // namespace

bool Failure::concerns(const Property& p) const {
  return property == &p ||
         std::any_of(also.begin(), also.end(), [&p](const Failing& f) { return f.property == &p; });
}

std::string failing_ids(const Failure& f) {
  std::string ids(f.property->id);
  for (const Failing& other : f.also) ids += say(",", other.property->id);
  return ids;
}

std::string failure_block(const Failure& f) {
  const std::string line = format_case(f.smallest);
  const std::string ids = failing_ids(f);
  std::string block = "FAIL " + ids + " " + line + "\n";
  add(block, f.property->name, say(": ", f.property->sentence));
  add(block, "", f.outcome.message);
  for (const auto& [property, outcome] : f.also)
    add(block, say(property->id, " ", property->name, ": "), outcome.message);
  block += "REPRO: mla-testbed replay '" + line + "' --property " + ids + f.replay_options + "\n";
  add(block, "", shrinking(f));
  if (f.original != f.smallest) add(block, "drawn as ", format_case(f.original));
  for (const std::string& detail : f.outcome.details) add(block, "  ", detail);
  return block;
}

}  // namespace mla::prop
