// Claims about the embedded code objects: each kernel is there, none spills to scratch memory, and
// none takes more registers or LDS than fixtures/hip_resources.txt allows.
//
// A line of the table: architecture, kernel, registers of a lane (VGPRs and accumulation registers
// together), bytes of LDS. A kernel that is not in the table fails, and so does a line without a
// kernel.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/elf/msgpack.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

struct Resources {
  std::int64_t registers = 0;
  std::int64_t lds = 0;
};
using Table = std::map<std::string, Resources>;  // "gfx942 reduce"

Table read_table() {
  std::ifstream file(MLA_FIXTURES "/hip_resources.txt");
  REQUIRE(file.good());
  Table table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string arch, kernel;
    Resources r;
    REQUIRE(words >> arch >> kernel >> r.registers >> r.lds);
    table[arch + " " + kernel] = r;
  }
  return table;
}

gfx::Document read_notes(std::span<const std::byte> code_object) {
  const auto file = gfx::read_elf(code_object);
  REQUIRE(file.ok());
  auto notes = gfx::parse_msgpack(file->metadata);
  REQUIRE(notes.ok());
  REQUIRE(notes->find("amdhsa.kernels") != nullptr);
  return std::move(*notes);
}

}  // namespace

TEST_CASE("code objects: no kernel spills, or takes more than the committed table allows",
          "[hip][codegen]") {
  Table table = read_table();
  int kernels = 0;
  for (const std::string& arch : hip::built_architectures()) {
    if (arch.substr(0, 3) != "gfx") continue;
    for (const auto& [unit, code] : hip::code_units(arch)) {
      if (unit == "assumptions") continue;  // a test of the device, which no step launches
      const gfx::Document notes = read_notes(code);
      for (const gfx::Document& kernel : notes.find("amdhsa.kernels")->items) {
        const std::string key = arch + " " + kernel.text_of(".name");
        const Resources takes = {kernel.number_of(".vgpr_count"),
                                 kernel.number_of(".group_segment_fixed_size")};
        INFO(key << " takes " << takes.registers << " " << takes.lds);
        CHECK(kernel.number_of(".private_segment_fixed_size") == 0);
        REQUIRE(table.contains(key));
        CHECK(takes.registers <= table[key].registers);
        CHECK(takes.lds <= table[key].lds);
        table.erase(key);
        ++kernels;
      }
    }
    for (const auto& [key, limit] : table) CHECK(key.substr(0, arch.size()) != arch);
  }
  if (kernels == 0) WARN("no AMD device code in this build: " << hip::build_notes());
}
