#include "properties/runner.hpp"

namespace mla::prop {
namespace {

void add(std::string& block, std::string_view label, std::string_view text) {
  block.append("  ").append(label).append(text).append("\n");
}

}  // namespace

std::string failure_block(const Failure& f) {
  const std::string line = format_case(f.smallest);
  const std::string id(f.property->id);
  std::string block = "FAIL " + id + " " + line + "\n";
  add(block, f.property->name, ": " + std::string(f.property->sentence));
  add(block, "", f.outcome.message);
  block += "REPRO: mla-testbed replay '" + line + "' --property " + id + f.replay_options + "\n";
  add(block, "seed ", std::to_string(f.seed) + ", " + std::to_string(f.shrinks) + " shrinks");
  if (f.original != f.smallest) add(block, "drawn as ", format_case(f.original));
  for (const std::string& detail : f.outcome.details) add(block, "  ", detail);
  return block;
}

}  // namespace mla::prop
