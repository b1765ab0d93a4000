// Every operation number of every encoding: LLVM's disassembler and our decoder say the same of
// each word: name, length, and the whole text of operands and modifiers.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absent_operations.hpp"
#include "elf_writer.hpp"
#include "encoding_samples.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/isa/decode.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "listing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace mla;
using gfx_test::EncodingSample;
using gfx_test::Line;

namespace {

constexpr std::uint64_t text_at = 0x200;  // where write_elf() puts the code

bool starts(const std::string& name, std::initializer_list<const char*> stems) {
  return std::any_of(stems.begin(), stems.end(),
                     [&](const char* const stem) { return name.starts_with(stem); });
}

// Operands that LLVM prints although the operation has no use for them: a carry or a selection is a
// bit for each lane in two scalars, A and B of a matrix product are registers, and so is what moves
// between accumulation registers.
bool takes_what_it_cannot(const Line& line) {
  const std::string& text = line.operands;
  const std::size_t last = text.rfind(", ") + 2;
  if (starts(line.mnemonic, {"v_cndmask", "v_addc_co", "v_subb"})) {
    return text.compare(last, 2, "v[") == 0;
  }
  if (starts(line.mnemonic, {"v_mfma"})) return text.find("src_") != std::string::npos;
  return line.mnemonic == "v_accvgpr_mov_b32" && text[last] != 'a';
}

// Bits that the operation does not use: LLVM leaves them out of its text, we show them.
bool has_idle_bits(const gfx::Inst& inst, const Line& line) {
  const bool odd_pair = inst.sdst < gfx::code::vgpr && inst.sdst % 2 != 0;
  const bool halves = line.operands.find("op_sel_hi:") != std::string::npos;
  if (odd_pair || (halves && line.mnemonic == "v_pk_mov_b32")) return true;
  if ((inst.neg | inst.abs) == 0) return false;
  return starts(line.mnemonic, {"v_ashr_pk", "v_cvt_pk_u8", "v_cvt_pkaccum", "v_cvt_scalef32",
                                "v_cvt_sr_", "v_ldexp", "v_trig_preop", "v_dot2c", "v_dot4c",
                                "v_dot8c", "v_cvt_pk_bf16_f32", "v_pk_mov_b32", "v_pk_fmac"});
}

// All samples in one code object.
gfx_test::Listing listing_of(const std::vector<EncodingSample>& samples, gfx::Arch arch) {
  std::vector<std::uint32_t> words;
  for (const auto& sample : samples) words.insert(words.end(), sample.begin(), sample.end());
  const bool old = arch == gfx::Arch::gfx942;
  const auto file = std::filesystem::temp_directory_path() /
                    ("mla-encodings-" + std::to_string(std::hash<std::string>{}(MLA_FIXTURES)) +
                     (old ? ".gfx942" : ".gfx950"));
  const auto elf =
      gfx_test::write_elf({.words = std::move(words), .machine = old ? 0x54cU : 0x54fU});
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(elf.data()), static_cast<std::streamsize>(elf.size()));
  auto out = gfx_test::listing_of(file);
  std::filesystem::remove(file);
  return out;
}

struct Tally {
  std::set<std::string> known, executed, refused;       // operations
  std::map<std::string, std::set<std::string>> absent;  // by reason
  std::size_t compared = 0;
  std::vector<std::string> differences;
};

void compare(const gfx::Operations& operations, const EncodingSample& sample, const Line& line,
             Tally& tally) {
  auto inst = gfx::decode(operations, sample, 0);
  const auto differs = [&](const std::string& ours) {
    std::ostringstream out;
    out << std::hex << sample[0] << " " << sample[1] << ": " << line.text() << " | " << ours;
    tally.differences.push_back(out.str());
  };
  tally.known.insert(line.mnemonic);
  if (const char* const reason = gfx_test::why_absent(line.mnemonic)) {
    tally.absent[reason].insert(line.mnemonic);
    return inst.ok() ? differs("is not absent") : void();
  }
  if (!inst.ok()) return takes_what_it_cannot(line) ? void() : differs(inst.error().message);
  const gfx::Operation& operation = operations.at(inst->op);
  const bool executes =
      gfx::handlers_of(operation, operations.arch(), gfx::best_host_path()).run != nullptr;
  (executes ? tally.executed : tally.refused).insert(line.mnemonic);
  // Where LLVM prints no op_sel a VOP3 operation has none.
  const bool vop3 = sample[0] >> 26 == 0x34;
  if (vop3 && line.operands.find("op_sel:") == std::string::npos) inst->op_sel = 0;
  // LLVM gives up on an extension with bits that v_nop does not use.
  if (line.text() == "v_nop" || has_idle_bits(*inst, line)) return;
  const std::string ours = gfx::disassemble(operations, *inst);
  if (ours != line.text() || inst->words != line.words) differs(ours);
  ++tally.compared;
}

Tally judged(gfx::Arch arch) {
  const auto samples = gfx_test::encoding_samples();
  const auto listing = listing_of(samples, arch);
  const gfx::Operations& operations = gfx::Operations::of(arch);
  Tally tally;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const auto line = listing.find(text_at + sizeof samples[n] * n);
    if (line == listing.end() || !line->second.is_instruction()) continue;
    compare(operations, samples[n], line->second, tally);
  }
  return tally;
}

std::string row(const std::string& what, std::size_t gfx942, std::size_t gfx950) {
  return "| " + what + " | " + std::to_string(gfx942) + " | " + std::to_string(gfx950) + " |\n";
}

std::string table(const Tally& gfx942, const Tally& gfx950) {
  std::string out = row("operations that LLVM 22 knows", gfx942.known.size(), gfx950.known.size());
  out += row("executed", gfx942.executed.size(), gfx950.executed.size());
  out += row("decoded, a fault when executed", gfx942.refused.size(), gfx950.refused.size());
  for (const auto& [reason, names] : gfx950.absent) {
    const auto other = gfx942.absent.find(reason);
    out += row(reason, other == gfx942.absent.end() ? 0 : other->second.size(), names.size());
  }
  return out;
}

}  // namespace

TEST_CASE(
    "every operation that LLVM knows has its name, length and text, or a reason to be absent") {
  const Tally tallies[] = {judged(gfx::Arch::gfx942), judged(gfx::Arch::gfx950)};
  for (const Tally& tally : tallies) {
    std::string first;
    for (std::size_t n = 0; n < std::min<std::size_t>(20, tally.differences.size()); ++n) {
      first += "\n" + tally.differences[n];
    }
    INFO(tally.differences.size() << " differences; the first, LLVM | ours:" << first);
    REQUIRE(tally.differences.empty());
    REQUIRE(tally.compared > 25000);
    std::size_t named = tally.executed.size() + tally.refused.size();
    for (const auto& [reason, names] : tally.absent) named += names.size();
    REQUIRE(tally.known.size() == named);
    REQUIRE(named > 1100);
  }
  if (gfx_test::disassembler_version() != "22") return test::skip("the table is of LLVM 22");
  std::ifstream page(MLA_EMULATOR_PAGE);
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  INFO("docs/reference/emulator.md must have\n" << table(tallies[0], tallies[1]));
  REQUIRE(text.find(table(tallies[0], tallies[1])) != std::string::npos);
}
