#include "hip_backend/gfx_emulator/object/image.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/object/kernel_descriptor.hpp"

namespace mla::gfx {
namespace {

constexpr std::size_t page = 4096;

Error refused(const std::string& message) {
  return {ErrorCode::unsupported, message, {}};
}

std::optional<Arch> arch_of(std::uint32_t machine_flags) {
  if ((machine_flags & 0xff) == 0x4c) return Arch::gfx942;
  if ((machine_flags & 0xff) == 0x4f) return Arch::gfx950;
  return std::nullopt;
}

MaybeError load_segments(std::span<const std::byte> file, const ElfFile& elf, std::size_t limit,
                         Image& image) {
  std::size_t size = 0;
  for (const Segment& s : elf.segments) size = std::max(size, s.address + s.memory_size);
  if (size > limit) {
    return refused("the image takes " + std::to_string(size) + " bytes, the limit is " +
                   std::to_string(limit));
  }
  image.size = (size + page - 1) / page * page;
  auto storage = std::make_shared<std::vector<std::byte>>(image.size + 2 * page);
  std::byte* begin = storage->data() + page;
  begin += (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  image.bytes = std::shared_ptr<std::byte[]>(storage, begin);
  for (const Segment& s : elf.segments) {
    if (s.file_size != 0) std::memcpy(begin + s.address, file.data() + s.offset, s.file_size);
    if (s.executable) image.code.push_back({s.address, s.address + s.file_size / 4 * 4});
    if (s.memory_size == 0) continue;
    image.ranges.push_back({reinterpret_cast<std::uint64_t>(begin) + s.address, s.memory_size,
                            s.writable ? Rights::read_write : Rights::read, "code object"});
  }
  std::sort(image.ranges.begin(), image.ranges.end(),
            [](const Range& a, const Range& b) { return a.base < b.base; });
  // A damaged file may name its segments in any order; instructions are read by address.
  std::sort(image.code.begin(), image.code.end(),
            [](const Image::Code& a, const Image::Code& b) { return a.begin < b.begin; });
  return std::nullopt;
}

MaybeError relocate(const ElfFile& elf, Image& image) {
  const auto base = reinterpret_cast<std::uint64_t>(image.bytes.get());
  for (const Relocation& r : elf.relocations) {
    if (!image.holds(r.at, 8))
      return refused("a relocation at " + hex(r.at) + " is outside the image");
    if (!r.defined) return refused("the symbol '" + r.symbol + "' is not defined");
    std::byte* const place = image.bytes.get() + r.at;
    const std::uint64_t target = base + r.symbol_value + static_cast<std::uint64_t>(r.addend);
    const std::uint64_t relative = target - (base + r.at);
    std::uint64_t value = target;
    std::size_t size = 4;
    switch (r.type) {
      case 1:
        break;  // ABS32_LO
      case 2:
        value = target >> 32;
        break;  // ABS32_HI
      case 3:
        size = 8;
        break;  // ABS64
      case 4:
        value = relative;
        break;  // REL32
      case 5:
        value = relative, size = 8;
        break;  // REL64
      case 6:
        break;  // ABS32
      case 10:
        value = relative;
        break;  // REL32_LO
      case 11:
        value = relative >> 32;
        break;  // REL32_HI
      case 13:
        value = base + static_cast<std::uint64_t>(r.addend), size = 8;
        break;  // RELATIVE64
      default:
        return refused("relocation type " + std::to_string(r.type) + " at " + hex(r.at));
    }
    std::memcpy(place, &value, size);
  }
  return std::nullopt;
}

MaybeError find_kernels(const ElfFile& elf, Image& image) {
  for (const Symbol& symbol : image.symbols) {
    if (!symbol.name.ends_with(".kd") || symbol.function) continue;
    if (!image.holds(symbol.offset, kernel_descriptor_size)) {
      return refused("the kernel descriptor " + symbol.name + " is outside the image");
    }
    Kernel kernel = read_kernel_descriptor(
        {image.bytes.get() + symbol.offset, kernel_descriptor_size}, symbol.offset);
    kernel.name = symbol.name.substr(0, symbol.name.size() - 3);
    if (!image.is_code(kernel.entry)) {
      return refused("the entry of kernel " + kernel.name + ", " + hex(kernel.entry) +
                     ", is outside the code that is loaded; expected an address in a segment of "
                     "type LOAD that is executable");
    }
    if (kernel.entry % 4 != 0) {
      return refused("the entry of kernel " + kernel.name + ", " + hex(kernel.entry) +
                     ", is misaligned; expected a multiple of 4");
    }
    image.kernels.push_back(std::move(kernel));
  }
  if (elf.metadata.empty()) return std::nullopt;
  const auto note = parse_msgpack(elf.metadata);
  if (!note) return note.error();
  apply_metadata(*note, image.kernels);
  return std::nullopt;
}

void find_symbols(const ElfFile& elf, Image& image) {
  for (const ElfSymbol& symbol : elf.symbols) {
    if (!symbol.defined || !image.holds(symbol.value, symbol.size)) continue;
    image.symbols.push_back({symbol.name, symbol.value, symbol.size, symbol.function});
  }
  std::sort(image.symbols.begin(), image.symbols.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
}

}  // namespace

bool Image::is_code(std::uint64_t offset) const {
  return std::any_of(code.begin(), code.end(), [offset](const Code& part) {
    return offset >= part.begin && offset < part.end;
  });
}

std::string Image::place(std::uint64_t offset) const {
  const Symbol* best = nullptr;
  for (const Symbol& symbol : symbols) {
    if (symbol.function && symbol.offset <= offset) best = &symbol;
  }
  return best == nullptr ? hex(offset) : best->name + "+" + hex(offset - best->offset);
}

Result<Image> load_image(std::span<const std::byte> file, const ElfFile& elf, std::size_t limit) {
  const auto arch = arch_of(elf.machine_flags);
  if (!arch) {
    return refused("the code object is for processor " + hex(elf.machine_flags & 0xff) +
                   ", only gfx942 (0x4c) and gfx950 (0x4f) are executed");
  }
  Image image;
  image.arch = *arch;
  if (auto error = load_segments(file, elf, limit, image)) return *error;
  find_symbols(elf, image);
  if (auto error = relocate(elf, image)) return *error;
  if (auto error = find_kernels(elf, image)) return *error;
  return image;
}

}  // namespace mla::gfx
