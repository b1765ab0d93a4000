#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/say.hpp"

namespace mla::gfx {

Result<std::uint64_t> usual_instruction_limit() {
  const char* const variable = std::getenv(limit_variable);
  const std::string_view text = variable == nullptr ? "" : variable;
  if (text.empty()) return most_instructions;
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error == std::errc{} && end == text.data() + text.size()) return limit;
  return Error{
      ErrorCode::usage,
      say(limit_variable, " is '", text, "'; expected a number of instructions, 0 for no limit"),
      {}};
}

}  // namespace mla::gfx
