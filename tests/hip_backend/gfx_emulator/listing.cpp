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

}  // namespace

Listing listing_of(const std::filesystem::path& file) {
  const std::string command = std::string(MLA_OBJDUMP) + " -d '" + file.string() + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Listing out;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) take(buffer.data(), out);
  REQUIRE(pclose(pipe) == 0);
  return out;
}

}  // namespace gfx_test
