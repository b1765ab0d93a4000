#include "hip_backend/gfx_emulator/object/code_object.hpp"

#include <algorithm>
#include <array>

namespace mla::gfx {
namespace {

// A header of HIP or of the compiler: not where a user looks for a mistake.
bool is_of_a_library(const std::string& file) {
  constexpr std::array<std::string_view, 3> endings = {".h", ".hpp", ".inl"};
  const bool header = std::ranges::any_of(endings, [&](auto end) { return file.ends_with(end); });
  return header &&
         (file.find("/hip/") != std::string::npos || file.find("/lib/clang/") != std::string::npos);
}

}  // namespace

std::optional<SourceLine> CodeObject::source(std::uint64_t offset) const {
  std::optional<SourceLine> own = lines_.find(offset);
  if (!own || !is_of_a_library(own->file)) return own;
  for (SourceLine& call : inlined_.calls(offset)) {
    if (is_of_a_library(call.file)) continue;
    call.inlined = own->text();
    return std::move(call);
  }
  return own;
}

const Kernel* CodeObject::kernel(std::string_view name) const {
  for (const Kernel& kernel : kernels()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::span<std::byte> CodeObject::variable(std::string_view name) const {
  for (const Symbol& symbol : symbols()) {
    if (symbol.name == name && !symbol.function) return {image() + symbol.offset, symbol.size};
  }
  return {};
}

}  // namespace mla::gfx
