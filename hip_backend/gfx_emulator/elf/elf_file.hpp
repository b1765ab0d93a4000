// Owns: reading an ELF64 little-endian file of machine AMDGPU: segments, symbols, relocations,
// note, debug sections.
//
// Every offset is checked against the file before it is used; a damaged file is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/elf/line_table.hpp"

namespace mla::gfx {

struct Segment {
  std::uint64_t offset, address, file_size, memory_size;  // bytes
  bool writable, executable;
};

struct ElfSymbol {
  std::string name;
  std::uint64_t value, size;
  bool function, defined;
};

struct Relocation {
  std::uint64_t at;
  std::uint32_t type;
  std::uint64_t symbol_value;
  std::string symbol;  // empty: none
  bool defined;
  std::int64_t addend;
};

struct ElfFile {
  std::uint32_t machine_flags = 0;  // low byte: the processor
  std::uint8_t abi_version = 0;     // 2: code object 4, 3: 5, 4: 6
  std::vector<Segment> segments;    // PT_LOAD
  std::vector<ElfSymbol> symbols;   // .symtab and .dynsym, each name and value once
  std::vector<Relocation> relocations;
  std::span<const std::byte> metadata;  // the AMDGPU note, MessagePack; empty: none
  DebugSections debug;
};

[[nodiscard]] Result<ElfFile> read_elf(std::span<const std::byte> bytes);

}  // namespace mla::gfx
