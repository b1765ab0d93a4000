// The instructions under test as llvm-objdump reads them: the name that our tables give them, and
// the operands that our decoder finds.
#include <fstream>
#include <set>

#include "../elf_writer.hpp"
#include "../listing.hpp"
#include "families.hpp"
#include "hip_backend/gfx_emulator/isa/decode.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "tests/catch.hpp"

using namespace gfx_test;
using mla::gfx::Arch;

namespace {

constexpr std::uint64_t text = 0x200;  // where write_elf() puts the code

// The prefix with scales and the bit that leads to LDS are no part of the name here.
std::string plain(const std::string& name) {
  const std::string scale = "v_mfma_scale_", lds = " lds";
  if (name.starts_with(scale)) return "v_mfma_" + name.substr(scale.size());
  return name.ends_with(lds) ? name.substr(0, name.size() - lds.size()) : name;
}

// Distances of branches are signed here, patterns of swizzles are numbers, and op_sel_hi of
// v_pk_mov_b32 has no meaning.
bool has_another_notation(const Line& line) {
  return line.mnemonic.find("branch") != std::string::npos || line.mnemonic == "ds_swizzle_b32" ||
         line.mnemonic == "v_pk_mov_b32";
}

struct Named {
  std::uint64_t address;
  const Vector* vector;
};

}  // namespace

TEST_CASE("every instruction under test has the name and operands that llvm-objdump gives it") {
  const auto file = std::filesystem::temp_directory_path() /
                    ("mla-names-" + std::to_string(std::hash<std::string>{}(MLA_FIXTURES)) + ".co");
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    std::vector<Vectors> all;
    for (const Family& family : all_families()) all.push_back(family.vectors(arch));
    Words words;
    std::vector<Named> named;
    std::set<Words> seen;
    for (const Vectors& vectors : all) {
      for (const Vector& vector : vectors) {
        if (!seen.insert(vector.words).second) continue;
        named.push_back({text + 4 * (words.size() + vector.at), &vector});
        words.insert(words.end(), vector.words.begin(), vector.words.end());
      }
    }
    const auto bytes =
        write_elf({.words = words, .machine = arch == Arch::gfx942 ? 0x54cU : 0x54fU});
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const Listing listing = listing_of(file);
    const auto& operations = mla::gfx::Operations::of(arch);
    for (const Named& one : named) {
      const auto line = listing.find(one.address);
      INFO(one.vector->operation << " (" << one.vector->note << ") " << std::hex
                                 << one.vector->words.front());
      const std::string theirs = line == listing.end() ? "nothing" : plain(line->second.mnemonic);
      CHECK(theirs == plain(one.vector->operation));
      if (line == listing.end() || has_another_notation(line->second)) continue;
      const auto words_of = std::span(one.vector->words).subspan(one.vector->at);
      const auto inst = mla::gfx::decode(operations, words_of, 0);
      REQUIRE(inst.ok());
      CHECK(mla::gfx::disassemble(operations, *inst) == line->second.text());
    }
    REQUIRE(named.size() > 3000);
  }
  std::filesystem::remove(file);
}
