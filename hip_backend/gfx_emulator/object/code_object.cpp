#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {

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
