// Length and mnemonic of every instruction of our own code objects, as llvm-objdump has them.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hip_backend/code_objects.hpp"
#include "hip_backend/gfx_emulator/code_object.hpp"

using namespace mla;

namespace {

struct Line {
  std::string mnemonic;
  unsigned words = 0;
  bool operator==(const Line&) const = default;
};
using Listing = std::map<std::uint64_t, Line>;  // by address

// The encoding is no part of the operation's name here.
std::string without_encoding(std::string name) {
  for (const char* const suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - std::string(suffix).size());
  }
  return name;
}

// "<tab>s_load_dword s8, s[2:3], 0x10   // 000000002708: C0020201 00000010"
void take(const std::string& line, Listing& out) {
  const std::size_t comment = line.find("// ");
  if (comment == std::string::npos || line[0] != '\t') return;
  std::istringstream text(line), code(line.substr(comment + 3));
  std::string mnemonic, address, word;
  text >> mnemonic;
  code >> address;
  Line entry{without_encoding(mnemonic), 0};
  while (code >> word && word.size() == 8) ++entry.words;
  out[std::strtoull(address.c_str(), nullptr, 16)] = entry;
}

Listing theirs(const std::filesystem::path& file) {
  const std::string command = std::string(MLA_OBJDUMP) + " -d '" + file.string() + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Listing out;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) take(buffer.data(), out);
  REQUIRE(pclose(pipe) == 0);
  return out;
}

Listing ours(std::span<const std::byte> code) {
  const auto object = gfx::load_code_object(code, {});
  INFO((object ? "" : object.error().message));
  REQUIRE(object.ok());
  Listing out;
  for (const gfx::Inst& inst : object->instructions()) {
    if (inst.words != 0) out[inst.at] = {object->operations().at(inst.op).name, inst.words};
  }
  return out;
}

}  // namespace

TEST_CASE("every instruction of our code objects has the length and name that llvm-objdump gives") {
  const auto file =
      std::filesystem::temp_directory_path() /
      ("mla-objdump-" + std::to_string(std::hash<std::string>{}(MLA_FIXTURES)) + ".co");
  std::size_t instructions = 0;
  for (const std::string& arch : hip::built_architectures()) {
    for (const char* const unit : {"decode", "expand", "planner", "prefill", "reduce"}) {
      const auto code = hip::code_object(arch, unit);
      if (!arch.starts_with("gfx") || code.empty()) continue;
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(code.data()),
                 static_cast<std::streamsize>(code.size()));
      const Listing expected = theirs(file), got = ours(code);
      for (const auto& [address, line] : expected) {
        const auto here = got.find(address);
        INFO(arch << " " << unit << " 0x" << std::hex << address << ": " << line.mnemonic);
        REQUIRE(here != got.end());
        REQUIRE(here->second.mnemonic == line.mnemonic);
        REQUIRE(here->second.words == line.words);
      }
      REQUIRE(got.size() == expected.size());
      instructions += expected.size();
    }
  }
  std::filesystem::remove(file);
  REQUIRE(instructions > 10000);
}
