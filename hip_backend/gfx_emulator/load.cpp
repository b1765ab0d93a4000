#include "hip_backend/gfx_emulator/load.hpp"

#include "hip_backend/gfx_emulator/exec/handlers.hpp"

namespace mla::gfx {

Result<CodeObject> load_code_object(std::span<const std::byte> bytes, const LoadOptions& options) {
  const auto elf = read_elf(bytes);
  if (!elf) return elf.error();
  auto image = load_image(bytes, *elf, options.image_limit);
  if (!image) return image.error();
  auto program = decode_program(*image);
  if (!program) return program.error();
  bind(*program, options.path);
  LineTable lines = read_line_table(elf->debug);
  InlineTable inlined = read_inline_table(elf->debug, lines);
  return CodeObject(std::move(*image), std::move(*program), std::move(lines), std::move(inlined));
}

}  // namespace mla::gfx
