#include "properties/c_api/options.hpp"

#include <string>

#include "core/say.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {

std::optional<Failure> check_fields(std::initializer_list<Field> fields) {
  for (const Field& f : fields)
    if (f.value < f.lowest || f.value > f.highest)
      return usage(say(f.name, " is ", f.value, "; expected ", f.lowest, " to ", f.highest));
  return std::nullopt;
}

std::optional<Failure> check_flags(std::initializer_list<Flag> flags) {
  for (const Flag& f : flags)
    if (auto bad = check_fields({{f.name, f.value, 0, 1}})) return bad;
  return std::nullopt;
}

Result<Arch> arch_of(std::int64_t number) {
  if (number == MLA_GFX942) return Arch::gfx942;
  if (number == MLA_GFX950) return Arch::gfx950;
  return Error{ErrorCode::usage,
               say("arch is ", number, "; expected 942 (gfx942) or 950 (gfx950)")};
}

Result<Dtype> dtype_of(const char* name, std::int64_t number) {
  if (number == MLA_DTYPE_BF16) return Dtype::bf16;
  if (number == MLA_DTYPE_FP8) return Dtype::fp8;
  const bool named = number >= MLA_DTYPE_FP8 && number <= MLA_DTYPE_U64;
  return Error{ErrorCode::unsupported, say(name, " is ",
                                           named ? std::string(dtype_name(static_cast<int>(number)))
                                                 : std::to_string(number),
                                           "; expected bf16 (3) or fp8 (0)")};
}

}  // namespace mla::c_api
