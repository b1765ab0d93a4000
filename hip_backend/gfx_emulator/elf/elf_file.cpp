#include "hip_backend/gfx_emulator/elf/elf_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace mla::gfx {
namespace {

constexpr std::uint16_t machine_amdgpu = 224;
constexpr std::uint32_t note_metadata = 32, type_load = 1, type_note = 4;
constexpr std::uint32_t section_symtab = 2, section_rela = 4, section_dynsym = 11;

Error damaged(const std::string& what) {
  return {ErrorCode::usage, "the code object is damaged: " + what, {}};
}

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T value{};
    if (holds(offset, sizeof value)) std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto rest = bytes_.subspan(offset);
    const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
  }
  // Whether the text at an offset is this one; its length costs nothing.
  [[nodiscard]] bool is_text(std::uint64_t offset, std::string_view text) const {
    if (!holds(offset, text.size() + 1)) return false;
    const auto* const at = reinterpret_cast<const char*>(bytes_.data() + offset);
    return std::string_view(at, text.size()) == text && at[text.size()] == 0;
  }
  [[nodiscard]] std::span<const std::byte> part(std::uint64_t offset, std::uint64_t size) const {
    return bytes_.subspan(offset, size);
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Section {
  std::uint32_t name;  // offset in the section of names
  std::uint32_t type;
  std::uint64_t flags, offset, size;
  std::uint32_t link;
};

Result<std::vector<Section>> read_sections(const Bytes& file) {
  const auto start = file.at<std::uint64_t>(40);
  const auto size = file.at<std::uint16_t>(58), count = file.at<std::uint16_t>(60);
  std::vector<Section> sections;
  // Sections that share bytes would make work that grows faster than the file.
  std::uint64_t left = file.size();
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t at = start + std::uint64_t{size} * i;
    if (!file.holds(at, 64)) return damaged("section header " + std::to_string(i));
    Section section{file.at<std::uint32_t>(at),      file.at<std::uint32_t>(at + 4),
                    file.at<std::uint64_t>(at + 8),  file.at<std::uint64_t>(at + 24),
                    file.at<std::uint64_t>(at + 32), file.at<std::uint32_t>(at + 40)};
    constexpr std::uint32_t without_bytes = 8;
    if (section.type != without_bytes) {
      if (!file.holds(section.offset, section.size)) {
        return damaged("section " + std::to_string(i) + " reaches past the end of the file");
      }
      if (section.size > left) {
        return damaged("the sections up to " + std::to_string(i) + " are larger than the file");
      }
      left -= section.size;
    } else {
      section.size = 0;
    }
    sections.push_back(section);
  }
  return sections;
}

ElfSymbol read_symbol(const Bytes& file, std::uint64_t at, std::uint64_t names) {
  const auto info = file.at<std::uint8_t>(at + 4);
  return {.name = file.text(names + file.at<std::uint32_t>(at)),
          .value = file.at<std::uint64_t>(at + 8),
          .size = file.at<std::uint64_t>(at + 16),
          .function = (info & 15) == 2,
          .defined = file.at<std::uint16_t>(at + 6) != 0};
}

// A name is read for every symbol, and names may share bytes: all of them together have a limit.
MaybeError read_symbols(const Bytes& file, const std::vector<Section>& sections, ElfFile& out) {
  std::set<std::pair<std::string, std::uint64_t>> known;
  std::uint64_t left = std::uint64_t{4} * file.size();
  for (const Section& section : sections) {
    if (section.type != section_symtab && section.type != section_dynsym) continue;
    if (section.link >= sections.size()) continue;
    for (std::uint64_t at = 24; at + 24 <= section.size; at += 24) {
      ElfSymbol symbol = read_symbol(file, section.offset + at, sections[section.link].offset);
      if (symbol.name.size() > left) return damaged("the names of its symbols overlap");
      left -= symbol.name.size();
      if (symbol.name.empty() || !known.emplace(symbol.name, symbol.value).second) continue;
      out.symbols.push_back(std::move(symbol));
    }
  }
  return std::nullopt;
}

MaybeError read_relocations(const Bytes& file, const std::vector<Section>& sections, ElfFile& out) {
  std::uint64_t left = std::uint64_t{4} * file.size();
  for (const Section& section : sections) {
    if (section.type != section_rela || section.link >= sections.size()) continue;
    const Section& table = sections[section.link];
    for (std::uint64_t at = 0; at + 24 <= section.size; at += 24) {
      const auto info = file.at<std::uint64_t>(section.offset + at + 8);
      ElfSymbol symbol{{}, 0, 0, false, true};
      if (info >> 32 != 0 && table.link < sections.size()) {
        symbol = read_symbol(file, table.offset + 24 * (info >> 32), sections[table.link].offset);
      }
      if (symbol.name.size() > left) return damaged("the names that it relocates overlap");
      left -= symbol.name.size();
      out.relocations.push_back({file.at<std::uint64_t>(section.offset + at),
                                 static_cast<std::uint32_t>(info), symbol.value,
                                 std::move(symbol.name), symbol.defined,
                                 file.at<std::int64_t>(section.offset + at + 16)});
    }
  }
  return std::nullopt;
}

// Compressed sections are left out.
void read_debug(const Bytes& file, const std::vector<Section>& sections, ElfFile& out) {
  constexpr std::uint64_t compressed = 0x800;
  const auto names = file.at<std::uint16_t>(62);
  if (names >= sections.size()) return;
  const std::array<std::pair<std::string_view, std::span<const std::byte>*>, 8> wanted = {{
      {".debug_line", &out.debug.line},
      {".debug_line_str", &out.debug.line_strings},
      {".debug_str", &out.debug.strings},
      {".debug_info", &out.debug.info},
      {".debug_abbrev", &out.debug.abbreviations},
      {".debug_addr", &out.debug.addresses},
      {".debug_ranges", &out.debug.ranges},
      {".debug_rnglists", &out.debug.range_lists},
  }};
  for (const Section& section : sections) {
    if ((section.flags & compressed) != 0) continue;
    for (const auto& [name, place] : wanted) {
      if (file.is_text(sections[names].offset + section.name, name)) {
        *place = file.part(section.offset, section.size);
      }
    }
  }
}

void read_note(const Bytes& file, std::uint64_t offset, std::uint64_t size, ElfFile& out) {
  const auto up = [](std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; };
  const std::uint64_t end = offset + size;
  while (offset + 12 <= end) {
    const auto name = file.at<std::uint32_t>(offset), length = file.at<std::uint32_t>(offset + 4);
    const std::uint64_t body = offset + 12 + up(name);
    if (!file.holds(body, length) || body + length > end) return;
    if (file.at<std::uint32_t>(offset + 8) == note_metadata && file.text(offset + 12) == "AMDGPU") {
      out.metadata = file.part(body, length);
    }
    offset = body + up(length);
  }
}

// Segments that share addresses have no one set of rights, and would be decoded again and again.
MaybeError apart(std::vector<Segment> segments) {
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.address < b.address; });
  for (std::size_t i = 1; i < segments.size(); ++i) {
    const Segment& before = segments[i - 1];
    if (segments[i].address - before.address < before.memory_size) {
      return damaged("two segments share the address " + std::to_string(segments[i].address));
    }
  }
  return std::nullopt;
}

MaybeError read_segments(const Bytes& file, ElfFile& out) {
  const auto start = file.at<std::uint64_t>(32);
  const auto size = file.at<std::uint16_t>(54), count = file.at<std::uint16_t>(56);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t at = start + std::uint64_t{size} * i;
    if (!file.holds(at, 56)) return damaged("program header " + std::to_string(i));
    const auto type = file.at<std::uint32_t>(at), flags = file.at<std::uint32_t>(at + 4);
    const Segment segment{file.at<std::uint64_t>(at + 8),
                          file.at<std::uint64_t>(at + 16),
                          file.at<std::uint64_t>(at + 32),
                          file.at<std::uint64_t>(at + 40),
                          (flags & 2) != 0,
                          (flags & 1) != 0};
    if (type != type_load && type != type_note) continue;
    constexpr std::uint64_t limit = std::uint64_t{1} << 31;
    if (!file.holds(segment.offset, segment.file_size) || segment.address > limit ||
        segment.memory_size > limit || segment.file_size > segment.memory_size) {
      return damaged("segment " + std::to_string(i) + " reaches past the end of the file");
    }
    if (type == type_note) {
      read_note(file, segment.offset, segment.file_size, out);
    } else if (segment.executable && segment.address % 4 != 0) {
      return damaged("segment " + std::to_string(i) + " holds misaligned code");
    } else {
      out.segments.push_back(segment);
    }
  }
  return apart(out.segments);
}

}  // namespace

Result<ElfFile> read_elf(std::span<const std::byte> bytes) {
  const Bytes file(bytes);
  constexpr std::array<std::uint8_t, 7> magic = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  for (std::size_t i = 0; i < magic.size(); ++i) {
    if (bytes.size() < 64 || file.at<std::uint8_t>(i) != magic[i]) {
      return Error{ErrorCode::usage,
                   "no code object: " + std::to_string(bytes.size()) +
                       " bytes that do not begin with a 64-bit little-endian ELF header",
                   {}};
    }
  }
  if (const auto machine = file.at<std::uint16_t>(18); machine != machine_amdgpu) {
    return Error{ErrorCode::unsupported,
                 "the ELF file is for machine " + std::to_string(machine) + ", AMDGPU is 224",
                 {}};
  }
  ElfFile out;
  out.machine_flags = file.at<std::uint32_t>(48);
  out.abi_version = file.at<std::uint8_t>(8);
  if (auto error = read_segments(file, out)) return *error;
  if (out.segments.empty()) return damaged("it has no segment to load");
  auto sections = read_sections(file);
  if (!sections) return sections.error();
  if (auto error = read_symbols(file, *sections, out)) return *error;
  if (auto error = read_relocations(file, *sections, out)) return *error;
  read_debug(file, *sections, out);
  return out;
}

}  // namespace mla::gfx
