// Every instruction of our own code objects, as llvm-objdump has them.
#include <filesystem>
#include <fstream>

#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "listing.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

using gfx_test::Listing;

Listing ours(std::span<const std::byte> code) {
  const auto object = gfx::load_code_object(code, {});
  INFO((object ? "" : object.error().message));
  REQUIRE(object.ok());
  Listing out;
  for (const gfx::Inst& inst : object->instructions()) {
    if (inst.words == 0) continue;
    const std::string text = gfx::disassemble(object->operations(), inst);
    const std::size_t name = text.find(' ');
    const bool alone = name == std::string::npos;
    out[inst.at] = {text.substr(0, name), alone ? "" : text.substr(name + 1), inst.words};
  }
  return out;
}

// The loader puts the index of the target in the place of the distance.
bool is_relative(const std::string& mnemonic) {
  return mnemonic.starts_with("s_cbranch") || mnemonic == "s_branch" || mnemonic == "s_call_b64";
}

}  // namespace

TEST_CASE("every instruction of our code objects has the length and text that llvm-objdump gives") {
  const auto file =
      std::filesystem::temp_directory_path() /
      ("mla-objdump-" + std::to_string(std::hash<std::string>{}(MLA_FIXTURES)) + ".co");
  std::size_t instructions = 0;
  for (const std::string& arch : hip::built_architectures()) {
    if (!arch.starts_with("gfx")) continue;
    for (const auto& [unit, code] : hip::code_units(arch)) {
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(code.data()),
                 static_cast<std::streamsize>(code.size()));
      const Listing expected = gfx_test::listing_of(file), got = ours(code);
      for (const auto& [address, line] : expected) {
        const auto here = got.find(address);
        INFO(arch << " " << unit << " 0x" << std::hex << address << ": " << line.text());
        REQUIRE(here != got.end());
        REQUIRE(here->second.mnemonic == line.mnemonic);
        if (!is_relative(line.mnemonic)) REQUIRE(here->second.text() == line.text());
        REQUIRE(here->second.words == line.words);
      }
      REQUIRE(got.size() == expected.size());
      instructions += expected.size();
    }
  }
  std::filesystem::remove(file);
  REQUIRE(instructions > 10000);
}
