// Wait states around matrix instructions: what the compiler writes has enough of them, and one less
// anywhere is found.
#include "hip_backend/gfx_emulator/check/wait_states.hpp"

#include <fstream>
#include <iterator>

#include "device.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/catch.hpp"

using namespace mla::gfx;

namespace {

std::vector<char> file_of(const gfx_test::Target& target) {
  std::ifstream file(std::string(MLA_GFX_KERNELS) + "/wait_states." + target.arch + ".O" +
                         std::to_string(target.level) + ".co",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t in_file(const ElfFile& elf, std::uint64_t address) {
  for (const Segment& s : elf.segments)
    if (address >= s.address && address < s.address + s.file_size)
      return static_cast<std::size_t>(address - s.address + s.offset);
  return 0;
}

std::string text_of(const CodeObject& object, const MissingStates& m) {
  return object.place(m.use) + " `" + text_at(object, m.use) + "`: " + m.what + " " +
         std::to_string(m.found) + " of " + std::to_string(m.needed) + " after `" +
         text_at(object, m.producer) + "`";
}

std::size_t findings_of(const CodeObject& object, const std::string& kernel) {
  for (const Kernel& k : object.kernels())
    if (k.name == kernel) return check_wait_states(object, k).size();
  return 0;
}

}  // namespace

TEST_CASE("every matrix instruction that the compiler pads has its wait states, and not one more") {
  const auto target = GENERATE(from_range(
      std::vector<gfx_test::Target>{{"gfx942", 1}, {"gfx942", 3}, {"gfx950", 1}, {"gfx950", 3}}));
  const std::vector<char> bytes = file_of(target);
  const auto object = load_code_object(std::as_bytes(std::span(bytes)), {});
  const auto elf = read_elf(std::as_bytes(std::span(bytes)));
  REQUIRE(object);
  REQUIRE(elf);
  for (const Kernel& kernel : object->kernels()) {
    for (const MissingStates& m : check_wait_states(*object, kernel))
      FAIL_CHECK(target.text() << " " << text_of(*object, m));
  }
  std::size_t padded = 0;
  for (const Inst& inst : object->instructions()) {
    if (inst.words == 0 || object->operations().at(inst.op).name != "s_nop" || inst.imm == 0) {
      continue;
    }
    const std::string place = object->place(inst.at), kernel = place.substr(0, place.find('+'));
    ++padded;
    std::vector<char> less = bytes;
    --less[in_file(*elf, inst.at)];
    const auto mutant = load_code_object(std::as_bytes(std::span(less)), {});
    REQUIRE(mutant);
    INFO(target.text() << " " << place << " `" << text_at(*object, inst.at) << "`");
    CHECK(findings_of(*mutant, kernel) != 0);
  }
  CHECK(padded >= 45);
}
