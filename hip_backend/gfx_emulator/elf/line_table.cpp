// DWARF Debugging Information Format, version 5, section 6.2; version 4, section 6.2.
#include "hip_backend/gfx_emulator/elf/line_table.hpp"

#include <algorithm>
#include <array>

#include "hip_backend/gfx_emulator/elf/dwarf_reader.hpp"

namespace mla::gfx {
namespace {

constexpr std::uint32_t no_file = ~std::uint32_t{0};
using dwarf::name_limit;
using dwarf::Reader;

std::string text_at(std::span<const std::byte> section, std::uint64_t offset) {
  if (offset >= section.size()) return {};
  return Reader(section.subspan(offset)).text();
}

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() || name.starts_with('/') ? name : folder + "/" + name;
}

}  // namespace

// One table of the section: a header with the names of files, and a program that makes rows.
class LineProgram {
 public:
  LineProgram(LineTable& table, const DebugSections& sections)
      : table_(table), sections_(sections) {}

  // False: what follows in the section cannot be found.
  bool read(Reader& section);

 private:
  struct Registers {
    std::uint64_t address = 0, file = 1, line = 1, column = 0;
  };
  struct Entry {
    std::string name;
    std::uint64_t folder = 0;
  };

  bool read_header(Reader& unit);
  void read_names_4(Reader& header);
  bool read_names_5(Reader& header);
  std::vector<Entry> read_entries(Reader& header);
  std::string read_form(Reader& header, std::uint64_t form, std::uint64_t& number);
  void add_file(const std::string& name);
  void run(Reader& program);
  void extended(Reader& program);
  bool standard(Reader& program, unsigned code);
  void emit(bool end);
  void advance(std::uint64_t operations) { now_.address += operations * unit_; }

  LineTable& table_;
  const DebugSections& sections_;
  std::size_t first_file_ = 0;  // in the table
  std::size_t names_ = 0;       // bytes so far
  unsigned version_ = 0, offset_size_ = 4;
  std::uint64_t unit_ = 1;
  int line_base_ = 0;
  unsigned line_range_ = 1, opcode_base_ = 1;
  std::array<std::uint8_t, 256> operands_ = {};
  Registers now_;
};

bool LineProgram::read(Reader& section) {
  std::uint64_t length = section.get<std::uint32_t>();
  if (length == 0xffffffff) {
    length = section.get<std::uint64_t>();
    offset_size_ = 8;
  }
  Reader unit = section.part(length);
  if (!section.good()) return false;
  if (read_header(unit)) run(unit);
  return true;
}

bool LineProgram::read_header(Reader& unit) {
  version_ = unit.get<std::uint16_t>();
  if (version_ != 4 && version_ != 5) return false;
  if (version_ == 5) static_cast<void>(unit.get<std::uint16_t>());  // sizes of address and segment
  Reader header = unit.part(unit.sized(offset_size_));
  unit_ = header.get<std::uint8_t>();
  static_cast<void>(header.get<std::uint16_t>());  // operations an instruction, default of is_stmt
  line_base_ = header.get<std::int8_t>();
  line_range_ = header.get<std::uint8_t>();
  opcode_base_ = header.get<std::uint8_t>();
  if (line_range_ == 0 || opcode_base_ == 0) return false;
  for (unsigned k = 1; k < opcode_base_; ++k) operands_[k] = header.get<std::uint8_t>();
  first_file_ = table_.files_.size();
  if (version_ == 4) {
    read_names_4(header);
  } else if (!read_names_5(header)) {
    return false;
  }
  return header.good();
}

void LineProgram::add_file(const std::string& name) {
  names_ += name.size();
  table_.files_.push_back(names_ > name_limit ? std::string() : name);
}

void LineProgram::read_names_4(Reader& header) {
  std::vector<std::string> folders = {""};
  while (header.good()) {
    std::string folder = header.text();
    if (folder.empty()) break;
    folders.push_back(std::move(folder));
  }
  add_file("");  // files count from 1
  while (header.good()) {
    const std::string name = header.text();
    if (name.empty()) break;
    const std::uint64_t folder = header.uleb();
    static_cast<void>(header.uleb());
    static_cast<void>(header.uleb());
    add_file(join(folder < folders.size() ? folders[folder] : std::string(), name));
  }
}

std::string LineProgram::read_form(Reader& header, std::uint64_t form, std::uint64_t& number) {
  switch (form) {
    case 0x08:
      return header.text();
    case 0x0e:
      return text_at(sections_.strings, header.sized(offset_size_));
    case 0x1f:
      return text_at(sections_.line_strings, header.sized(offset_size_));
    case 0x0b:
      number = header.get<std::uint8_t>();
      return {};
    case 0x05:
      number = header.get<std::uint16_t>();
      return {};
    case 0x06:
      number = header.get<std::uint32_t>();
      return {};
    case 0x07:
      number = header.get<std::uint64_t>();
      return {};
    case 0x0f:
      number = header.uleb();
      return {};
    case 0x1e:  // 16 bytes: a checksum
      static_cast<void>(header.part(16));
      return {};
    default:  // its size is not known: nothing after it can be read
      static_cast<void>(header.part(~std::uint64_t{0}));
      return {};
  }
}

std::vector<LineProgram::Entry> LineProgram::read_entries(Reader& header) {
  constexpr std::uint64_t is_path = 1, is_folder = 2;
  const unsigned width = header.get<std::uint8_t>();
  std::vector<std::array<std::uint64_t, 2>> format;
  for (unsigned k = 0; k < width; ++k) {
    const std::uint64_t kind = header.uleb();
    format.push_back({kind, header.uleb()});
  }
  const std::uint64_t count = header.uleb();
  std::vector<Entry> out;
  // Each entry takes a byte at least: a count above that is none.
  if (format.empty() || count > header.size()) return out;
  for (std::uint64_t n = 0; n < count && header.good() && names_ <= name_limit; ++n) {
    Entry entry;
    for (const auto& [kind, form] : format) {
      std::uint64_t number = 0;
      std::string text = read_form(header, form, number);
      if (kind == is_path) entry.name = std::move(text);
      if (kind == is_folder) entry.folder = number;
    }
    names_ += entry.name.size();
    out.push_back(std::move(entry));
  }
  return out;
}

bool LineProgram::read_names_5(Reader& header) {
  const auto folders = read_entries(header);
  const auto files = read_entries(header);
  for (const Entry& file : files) {
    std::string folder = file.folder < folders.size() ? folders[file.folder].name : std::string();
    if (file.folder != 0 && !folders.empty()) folder = join(folders[0].name, folder);
    add_file(join(folder, file.name));
  }
  return !files.empty();
}

void LineProgram::emit(bool end) {
  const std::uint64_t index = first_file_ + now_.file;
  const bool known = now_.file < table_.files_.size() && index < table_.files_.size();
  table_.rows_.push_back({now_.address, known ? static_cast<std::uint32_t>(index) : no_file,
                          static_cast<std::uint32_t>(now_.line),
                          static_cast<std::uint32_t>(now_.column), end});
  if (end) now_ = {};
}

void LineProgram::extended(Reader& program) {
  Reader body = program.part(program.uleb());
  const unsigned code = body.get<std::uint8_t>();
  if (code == 1) emit(true);
  if (code == 2) now_.address = body.sized(body.size());
}

// False: not one of the twelve, but its operands can be skipped.
bool LineProgram::standard(Reader& program, unsigned code) {
  const auto special_advance = [&] { advance((255 - opcode_base_) / line_range_); };
  switch (code) {
    case 1:
      emit(false);
      return true;
    case 2:
      advance(program.uleb());
      return true;
    case 3:
      now_.line += static_cast<std::uint64_t>(program.sleb());
      return true;
    case 4:
      now_.file = program.uleb();
      return true;
    case 5:
      now_.column = program.uleb();
      return true;
    case 8:
      special_advance();
      return true;
    case 9:
      now_.address += program.get<std::uint16_t>();
      return true;
    default:
      return false;
  }
}

void LineProgram::run(Reader& program) {
  while (!program.empty()) {
    const unsigned code = program.get<std::uint8_t>();
    if (code >= opcode_base_) {
      const unsigned special = code - opcode_base_;
      advance(special / line_range_);
      now_.line += static_cast<std::uint64_t>(line_base_ + static_cast<int>(special % line_range_));
      emit(false);
    } else if (code == 0) {
      extended(program);
    } else if (!standard(program, code)) {
      for (unsigned k = 0; k < operands_[code]; ++k) static_cast<void>(program.uleb());
    }
  }
}

LineTable read_line_table(const DebugSections& sections) {
  LineTable table;
  Reader section(sections.line);
  while (!section.empty()) {
    LineProgram program(table, sections);
    const std::uint64_t offset = sections.line.size() - section.size();
    const std::size_t begin = table.files_.size();
    if (!program.read(section)) break;
    table.parts_.push_back({offset, begin, table.files_.size()});
  }
  // A sequence that ends where another begins: the end goes first.
  std::stable_sort(table.rows_.begin(), table.rows_.end(), [](const auto& a, const auto& b) {
    return a.address != b.address ? a.address < b.address : a.end && !b.end;
  });
  return table;
}

// Line 0 is what the compiler made without a line: the one before it is the nearest.
std::optional<SourceLine> LineTable::find(std::uint64_t address) const {
  auto row = std::upper_bound(rows_.begin(), rows_.end(), address,
                              [](std::uint64_t at, const Row& item) { return at < item.address; });
  while (row != rows_.begin()) {
    --row;
    if (row->end) return std::nullopt;
    if (row->line == 0 || row->file == no_file || files_[row->file].empty()) continue;
    return SourceLine{files_[row->file], row->line, row->column};
  }
  return std::nullopt;
}

std::string LineTable::file(std::uint64_t table, std::uint64_t number) const {
  const auto part = std::ranges::find(parts_, table, &Part::offset);
  if (part == parts_.end() || number >= part->end - part->begin) return {};
  return files_[part->begin + number];
}

}  // namespace mla::gfx
