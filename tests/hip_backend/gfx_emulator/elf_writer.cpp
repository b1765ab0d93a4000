#include "elf_writer.hpp"

#include <cstring>

namespace gfx_test {
namespace {

constexpr std::size_t descriptor_at = 0x100, text_at = 0x200;
constexpr std::uint16_t text_section = 3, section_count = 4;

class File {
 public:
  template <class T>
  void put(std::size_t offset, T value) {
    if (bytes.size() < offset + sizeof value) bytes.resize(offset + sizeof value);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }
  void text(std::size_t offset, const std::string& value) {
    for (std::size_t n = 0; n <= value.size(); ++n) {
      put(offset + n, n < value.size() ? value[n] : '\0');
    }
  }
  std::vector<std::byte> bytes;
};

void put_header(File& file, const HandMade& kernel, std::uint64_t sections) {
  file.text(0,
            "\x7f"
            "ELF\x02\x01\x01\x40\x03");
  file.put<std::uint16_t>(16, 3);
  file.put<std::uint16_t>(18, 224);
  file.put<std::uint32_t>(20, 1);
  file.put<std::uint64_t>(32, 64);        // program headers
  file.put<std::uint64_t>(40, sections);  // section headers
  file.put<std::uint32_t>(48, kernel.machine);
  file.put<std::uint16_t>(52, 64);
  file.put<std::uint16_t>(54, 56);
  file.put<std::uint16_t>(56, 1);
  file.put<std::uint16_t>(58, 64);
  file.put<std::uint16_t>(60, section_count);
}

void put_descriptor(File& file, const HandMade& kernel) {
  file.put<std::uint32_t>(descriptor_at, kernel.lds);
  file.put<std::uint32_t>(descriptor_at + 4, kernel.scratch);
  file.put<std::uint32_t>(descriptor_at + 8, kernel.kernarg_size);
  file.put<std::uint64_t>(descriptor_at + 16, text_at - descriptor_at);
  file.put<std::uint32_t>(descriptor_at + 44, 3);  // 16 vector registers below
  file.put<std::uint32_t>(descriptor_at + 48, 3 | kernel.float_mode << 12);  // of 32
  file.put<std::uint32_t>(descriptor_at + 52, 2 << 1 | 1U << 7);  // two user registers, id x
  file.put<std::uint32_t>(descriptor_at + 56, 8);                 // the kernel argument pointer
}

void put_symbol(File& file, std::size_t at, std::uint32_t name, std::uint8_t info,
                std::uint64_t value, std::uint64_t size) {
  file.put<std::uint32_t>(at, name);
  file.put<std::uint8_t>(at + 4, info);
  file.put<std::uint16_t>(at + 6, text_section);
  file.put<std::uint64_t>(at + 8, value);
  file.put<std::uint64_t>(at + 16, size);
}

void put_section(File& file, std::size_t at, std::uint32_t type, std::uint64_t offset,
                 std::uint64_t size, std::uint32_t link) {
  file.put<std::uint32_t>(at + 4, type);
  file.put<std::uint64_t>(at + 24, offset);
  file.put<std::uint64_t>(at + 32, size);
  file.put<std::uint32_t>(at + 40, link);
  file.put<std::uint64_t>(at + 56, 24);
}

}  // namespace

std::vector<std::byte> write_elf(const HandMade& kernel) {
  File file;
  const std::size_t size = 4 * kernel.words.size();
  const std::size_t symbols = text_at + (size + 15) / 8 * 8, names = symbols + 72;
  const std::size_t sections = names + 24;
  put_header(file, kernel, sections);
  file.put<std::uint32_t>(64, 1);  // one segment: the whole file, readable and executable
  file.put<std::uint32_t>(68, 5);
  file.put<std::uint64_t>(96, sections + 64 * section_count);
  file.put<std::uint64_t>(104, sections + 64 * section_count);
  put_descriptor(file, kernel);
  for (std::size_t n = 0; n < kernel.words.size(); ++n) file.put(text_at + 4 * n, kernel.words[n]);
  put_symbol(file, symbols + 24, 1, 2, text_at, size);
  put_symbol(file, symbols + 48, 6, 1, descriptor_at, 64);
  file.text(names + 1, "hand");
  file.text(names + 6, "hand.kd");
  put_section(file, sections + 64, 2, symbols, 72, 2);
  put_section(file, sections + 128, 3, names, 24, 0);
  // What a disassembler looks for: code that is loaded and executed.
  const std::size_t text = sections + std::size_t{64} * text_section;
  put_section(file, text, 1, text_at, size, 0);
  file.put<std::uint64_t>(text + 8, 6);
  file.put<std::uint64_t>(text + 16, text_at);
  return file.bytes;
}

}  // namespace gfx_test
