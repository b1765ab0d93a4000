#include "listing.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/catch.hpp"

namespace gfx_test {
namespace {

// The encoding is no part of the operation's name here.
std::string without_encoding(std::string name) {
  for (const char* const suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - std::string(suffix).size());
  }
  return name;
}

// Literals that would fit into the encoding are marked from LLVM 22 on: "lit(0x1)".
std::string without_mark(std::string text) {
  const std::string mark = "lit(";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  text.erase(text.find(')', at), 1);
  return text.erase(at, mark.size());
}

// "<tab>s_load_dword s8, s[2:3], 0x10   // 000000002708: C0020201 00000010"
void take(const std::string& line, Listing& out) {
  const std::size_t comment = line.find("// ");
  if (comment == std::string::npos || line[0] != '\t') return;
  std::istringstream text(line.substr(0, comment)), code(line.substr(comment + 3));
  std::string mnemonic, operands, address, word;
  text >> mnemonic;
  while (text >> word) operands += (operands.empty() ? "" : " ") + word;
  code >> address;
  Line entry{without_encoding(mnemonic), without_mark(operands), 0};
  while (code >> word && word.size() == 8) ++entry.words;
  out[std::strtoull(address.c_str(), nullptr, 16)] = entry;
}

// What MLA_OBJDUMP prints, line by line.
template <class Line>
void each_line(const std::string& arguments, const Line& line) {
  std::string command = MLA_OBJDUMP " ";
  command += arguments;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) line(buffer.data());
  REQUIRE(pclose(pipe) == 0);
}

}  // namespace

Listing listing_of(const std::filesystem::path& file) {
  Listing out;
  each_line("-d '" + file.string() + "'", [&](const std::string& line) { take(line, out); });
  return out;
}

std::string disassembler_version() {
  std::string version;
  each_line("--version", [&](const std::string& line) {
    const std::string before = "LLVM version ";
    const std::size_t at = line.find(before);
    if (at == std::string::npos) return;
    const std::size_t begin = at + before.size();
    version = line.substr(begin, line.find('.', begin) - begin);
  });
  return version;
}

}  // namespace gfx_test
