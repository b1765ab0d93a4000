#include "properties/dump/check/elements.hpp"

#include "core/numeric/fp8.hpp"
#include "core/say.hpp"

namespace mla::dump {

ElementType element_type(Dtype dtype, Arch arch) {
  if (dtype == Dtype::bf16) return kBf16Elements;
  return {1, fp8_variant(arch) == Fp8Variant::e4m3fnuz ? "F8_E4M3FNUZ" : "F8_E4M3"};
}

// Raw bits are unsigned: a signed byte is a number of some quantisation of its own. bf16 has no
// such double.
MaybeError check_elements(const char* key, const io::RawArray& array, const ElementType& type) {
  const bool floating = array.kind == io::ElementKind::floating;
  if (array.width != type.width || floating != type.encoding.empty())
    return Error{ErrorCode::usage,
                 say("array '", key, "' has elements of ", 8 * array.width, " bits",
                     floating ? " (IEEE floats)" : "", ", not of ", 8 * type.width)};
  const bool signed_byte = array.width == 1 && array.kind == io::ElementKind::signed_integer;
  const std::string_view found = signed_byte ? "I8" : array.encoding;
  if (found.empty() || found == type.encoding) return std::nullopt;
  return Error{ErrorCode::usage, say("array '", key, "' holds ", found, ": expected ",
                                     type.encoding, ", or its bits as unsigned integers")};
}

}  // namespace mla::dump
