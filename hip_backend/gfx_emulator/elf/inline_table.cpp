// DWARF Debugging Information Format, version 5, chapters 3.3.8 and 7.5; version 4, 3.3.8 and 7.5.
#include "hip_backend/gfx_emulator/elf/inline_table.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hip_backend/gfx_emulator/elf/dwarf_reader.hpp"

namespace mla::gfx {
namespace {

using dwarf::Reader;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using DebugBytes = std::span<const std::byte>;

constexpr std::size_t most_calls = 1 << 20, most_attributes = 1 << 16;

namespace entry_tag {
constexpr u64 compile_unit = 0x11, inlined_subroutine = 0x1d;
}
namespace attribute {
constexpr u64 lines = 0x10, low = 0x11, high = 0x12, ranges = 0x55, call_column = 0x57;
constexpr u64 call_file = 0x58, call_line = 0x59, address_base = 0x73, ranges_base = 0x74;
}  // namespace attribute
namespace form {
constexpr u64 address = 0x01, indirect = 0x16, section_offset = 0x17, implicit = 0x21;
constexpr u64 address_index = 0x1b, range_index = 0x23, address_index1 = 0x29;
constexpr u64 address_index4 = 0x2c;
}  // namespace form

Reader reader_at(DebugBytes bytes, u64 offset) {
  return Reader(offset <= bytes.size() ? bytes.subspan(offset) : DebugBytes{});
}

}  // namespace

// One unit: a header, and entries in the order of their tree.
class InlineReader {
 public:
  InlineReader(InlineTable& table, const DebugSections& sections, const LineTable& lines,
               std::size_t& visited)
      : visited_(visited), table_(table), sections_(sections), lines_(lines) {}

  // False: what follows in the section cannot be found.
  bool read(Reader& section) {
    u64 length = section.get<u32>();
    if (length == 0xffffffff) {
      length = section.get<u64>();
      offset_size_ = 8;
    }
    Reader unit = section.part(length);
    if (!section.good()) return false;
    version_ = unit.get<std::uint16_t>();
    if (version_ != 4 && version_ != 5) return true;
    constexpr unsigned whole_unit = 1;
    if (version_ == 5 && unit.get<std::uint8_t>() != whole_unit) return true;
    if (version_ == 5) static_cast<void>(unit.get<std::uint8_t>());  // size of an address
    abbreviations_ = read_abbreviations(sections_.abbreviations, unit.sized(offset_size_));
    for (const auto& [code, entry] : abbreviations_) visited_ += 1 + entry.attributes.size();
    if (version_ == 4) static_cast<void>(unit.get<std::uint8_t>());
    read_entries(unit);
    return true;
  }

 private:
  struct Attribute {
    u64 name = 0, form = 0;
    std::int64_t implicit = 0;
  };
  struct Abbreviation {
    u64 tag = 0;
    bool children = false;
    std::vector<Attribute> attributes;
  };
  using Abbreviations = std::map<u64, Abbreviation>;
  struct Value {
    u64 number = 0, form = 0;
  };
  using Values = std::map<u64, Value>;
  struct Range {
    u64 begin, end;
  };

  static Abbreviations read_abbreviations(DebugBytes section, u64 offset) {
    Abbreviations out;
    Reader reader = reader_at(section, offset);
    std::size_t count = 0;
    while (!reader.empty() && count < most_attributes) {
      const u64 code = reader.uleb();
      if (code == 0) break;
      Abbreviation entry{
          .tag = reader.uleb(), .children = reader.get<std::uint8_t>() != 0, .attributes = {}};
      while (reader.good() && ++count < most_attributes) {
        Attribute one{.name = reader.uleb(), .form = reader.uleb()};
        if (one.form == form::implicit) one.implicit = reader.sleb();
        if (one.name == 0 && one.form == 0) break;
        entry.attributes.push_back(one);
      }
      out[code] = std::move(entry);
    }
    return out;
  }

  void read_entries(Reader& unit) {
    u32 depth = 0;
    while (!unit.empty() && table_.calls_.size() < most_calls && visited_ < most_calls) {
      const u64 code = unit.uleb();
      if (code == 0) {
        if (depth == 0) return;
        --depth;
        continue;
      }
      const auto entry = abbreviations_.find(code);
      if (entry == abbreviations_.end()) return;
      Values values;
      for (const Attribute& one : entry->second.attributes) {
        if (!read_value(unit, one, values)) return;
      }
      if (entry->second.tag == entry_tag::compile_unit) begin_unit(values);
      if (entry->second.tag == entry_tag::inlined_subroutine) add_call(values, depth);
      if (entry->second.children) ++depth;
    }
  }

  // False: the size of the value is not known.
  bool read_value(Reader& unit, const Attribute& one, Values& values) const {
    u64 kind = one.form;
    if (kind == form::indirect) kind = unit.uleb();
    const auto number = number_of(unit, kind, one);
    if (number) values[one.name] = {*number, kind};
    return number && unit.good();
  }

  [[nodiscard]] std::optional<u64> number_of(Reader& unit, u64 kind, const Attribute& one) const {
    const auto skip = [&](u64 size) -> u64 {
      static_cast<void>(unit.part(size));
      return 0;
    };
    switch (kind) {
      case 0x0b:
      case 0x0c:
      case 0x11:
      case 0x25:
      case 0x29:  // NOLINT
        return unit.get<std::uint8_t>();
      case 0x05:
      case 0x12:
      case 0x26:
      case 0x2a:
        return unit.get<std::uint16_t>();
      case 0x27:
      case 0x2b:
        return skip(3);
      case 0x06:
      case 0x13:
      case 0x1c:
      case 0x28:
      case 0x2c:
        return unit.get<u32>();
      case form::address:
      case 0x07:
      case 0x14:
      case 0x20:
      case 0x24:
        return unit.get<u64>();
      case 0x1e:
        return skip(16);
      case 0x0d:
        return static_cast<u64>(unit.sleb());
      case 0x0f:
      case 0x15:
      case 0x1a:
      case form::address_index:
      case 0x22:
      case form::range_index:
        return unit.uleb();
      case 0x0e:
      case 0x10:
      case form::section_offset:
      case 0x1d:
      case 0x1f:
        return unit.sized(offset_size_);
      case 0x08:
        static_cast<void>(unit.text());
        return 0;
      case 0x03:
        return skip(unit.get<std::uint16_t>());
      case 0x04:
        return skip(unit.get<u32>());
      case 0x0a:
        return skip(unit.get<std::uint8_t>());
      case 0x09:
      case 0x18:
        return skip(unit.uleb());
      case 0x19:
        return 1;
      case form::implicit:
        return static_cast<u64>(one.implicit);
      default:
        return std::nullopt;
    }
  }

  static u64 number(const Values& values, u64 name) {
    const auto found = values.find(name);
    return found == values.end() ? 0 : found->second.number;
  }

  [[nodiscard]] u64 indexed_address(u64 index) const {
    return reader_at(sections_.addresses, address_base_ + 8 * index).get<u64>();
  }
  [[nodiscard]] u64 address_of(const Value& value) const {
    const bool indexed = value.form == form::address_index ||
                         (value.form >= form::address_index1 && value.form <= form::address_index4);
    return indexed ? indexed_address(value.number) : value.number;
  }

  void begin_unit(const Values& values) {
    address_base_ = number(values, attribute::address_base);
    ranges_base_ = number(values, attribute::ranges_base);
    unit_lines_ = number(values, attribute::lines);
    const auto low = values.find(attribute::low);
    unit_low_ = low == values.end() ? 0 : address_of(low->second);
  }

  void add_call(const Values& values, u32 depth) {
    const auto line = static_cast<u32>(number(values, attribute::call_line));
    std::string file = lines_.file(unit_lines_, number(values, attribute::call_file));
    if (line == 0 || file.empty()) return;
    const auto column = static_cast<u32>(number(values, attribute::call_column));
    const std::vector<Range> ranges = ranges_of(values);
    visited_ += ranges.size();
    for (const Range& range : ranges) {
      if (range.begin >= range.end || table_.calls_.size() >= most_calls) continue;
      table_.calls_.push_back({range.begin, range.end, depth, {file, line, column, {}}});
    }
  }

  [[nodiscard]] std::vector<Range> ranges_of(const Values& values) const {
    if (const auto list = values.find(attribute::ranges); list != values.end()) {
      u64 offset = list->second.number;
      if (version_ == 4) return pairs_at(offset);
      if (list->second.form == form::range_index) {
        const u64 entry = ranges_base_ + offset_size_ * offset;
        offset = ranges_base_ + reader_at(sections_.range_lists, entry).sized(offset_size_);
      }
      return list_at(offset);
    }
    const auto low = values.find(attribute::low), high = values.find(attribute::high);
    if (low == values.end() || high == values.end()) return {};
    const u64 begin = address_of(low->second);
    const bool is_address =
        high->second.form == form::address || high->second.form == form::address_index;
    return {{begin, is_address ? address_of(high->second) : begin + high->second.number}};
  }

  [[nodiscard]] std::vector<Range> pairs_at(u64 offset) const {
    std::vector<Range> out;
    u64 base = unit_low_;
    Reader list = reader_at(sections_.ranges, offset);
    while (!list.empty() && out.size() < most_calls) {
      const u64 begin = list.get<u64>(), end = list.get<u64>();
      if (begin == 0 && end == 0) break;
      if (begin == ~u64{0}) {
        base = end;
      } else {
        out.push_back({base + begin, base + end});
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<Range> list_at(u64 offset) const {
    std::vector<Range> out;
    u64 base = unit_low_;
    Reader list = reader_at(sections_.range_lists, offset);
    while (!list.empty() && out.size() < most_calls) {
      const unsigned kind = list.get<std::uint8_t>();
      if (kind == 0 || kind > 7) break;
      if (kind == 1) {
        base = indexed_address(list.uleb());
      } else if (kind == 5) {
        base = list.get<u64>();
      } else if (kind == 4) {
        const u64 begin = base + list.uleb();
        out.push_back({begin, base + list.uleb()});
      } else {
        const u64 begin = kind <= 3 ? indexed_address(list.uleb()) : list.get<u64>();
        const u64 end = kind == 2   ? indexed_address(list.uleb())
                        : kind == 6 ? list.get<u64>()
                                    : begin + list.uleb();
        out.push_back({begin, end});
      }
    }
    return out;
  }

  std::size_t& visited_;  // ranges and attributes of all units, which may share long lists
  InlineTable& table_;
  const DebugSections& sections_;
  const LineTable& lines_;
  Abbreviations abbreviations_;
  unsigned version_ = 0, offset_size_ = 4;
  u64 address_base_ = 0, ranges_base_ = 0, unit_lines_ = 0, unit_low_ = 0;
};

InlineTable read_inline_table(const DebugSections& sections, const LineTable& lines) {
  InlineTable table;
  std::size_t visited = 0;
  Reader section(sections.info);
  while (!section.empty()) {
    if (!InlineReader(table, sections, lines, visited).read(section)) break;
  }
  const auto deeper = [](const auto& a, const auto& b) { return a.depth > b.depth; };
  std::stable_sort(table.calls_.begin(), table.calls_.end(), deeper);
  return table;
}

std::vector<SourceLine> InlineTable::calls(u64 address) const {
  std::vector<SourceLine> out;
  for (const Call& call : calls_) {
    if (address >= call.begin && address < call.end) out.push_back(call.line);
  }
  return out;
}

}  // namespace mla::gfx
