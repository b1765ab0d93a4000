// The table of operations against AMD's machine-readable ISA (fixtures/cdna4_operands.txt): how
// wide each operand is, and what is read and written besides. It knows CDNA 4 only; what both
// architectures have is one row of our tables.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "hip_backend/gfx_emulator/isa/operations.hpp"
#include "tests/catch.hpp"

using mla::gfx::Arch;
using mla::gfx::Encoding;
using mla::gfx::Operation;
using mla::gfx::Operations;
namespace traits = mla::gfx::traits;

namespace {

const std::vector<std::string> encodings = {"sop1", "sop2",    "sopk",   "sopc", "sopp",  "smem",
                                            "vop1", "vop2",    "vopc",   "vop3", "vop3p", "ds",
                                            "flat", "scratch", "global", "mubuf"};

struct Stated {
  std::map<std::string, unsigned> dwords;  // by field
  std::set<std::string> besides;           // "reads-scc"
  bool described = true;

  [[nodiscard]] unsigned of(const char* field) const {
    const auto found = dwords.find(field);
    return found == dwords.end() ? 0 : found->second;
  }
};

// By encoding and name.
std::map<std::pair<Encoding, std::string>, Stated> read_specification() {
  std::map<std::pair<Encoding, std::string>, Stated> all;
  std::ifstream file(std::string(MLA_FIXTURES) + "/cdna4_operands.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string encoding, name;
    words >> encoding >> name;
    Stated stated;
    for (std::string word; words >> word;) {
      const auto colon = word.find(':');
      if (word == "?") {
        stated.described = false;
      } else if (colon == std::string::npos) {
        stated.besides.insert(word);
      } else {
        stated.dwords[word.substr(0, colon)] =
            static_cast<unsigned>(std::stoul(word.substr(colon + 1)));
      }
    }
    const auto at = std::find(encodings.begin(), encodings.end(), encoding);
    REQUIRE(at != encodings.end());
    all[{static_cast<Encoding>(at - encodings.begin()), name}] = stated;
  }
  return all;
}

using Widths = std::array<unsigned, 4>;

// In the order of our rows: destination, sources.
Widths stated_widths(Encoding encoding, const Stated& s) {
  switch (encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk:
      return {s.of("sdst"), s.of("ssrc0"), s.of("ssrc1"), 0};
    case Encoding::sopp:
      return {};
    case Encoding::smem:
      return {s.of("sdata"), s.of("sbase"), s.of("soffset"), 0};
    case Encoding::ds:
      return {s.of("vdst"), s.of("addr"), s.of("data0"), s.of("data1")};
    case Encoding::flat:
    case Encoding::scratch:
    case Encoding::global:
      return {s.of("vdst"), s.of("addr"), s.of("data"), 0};
    case Encoding::mubuf:
      return {s.of("vdata"), s.of("vaddr"), 0, s.of("srsrc")};
    default:
      return {s.of("vdst"), s.of("src0"), std::max(s.of("src1"), s.of("vsrc1")), s.of("src2")};
  }
}

// Our widths without what the encoding does not name, or names in one field for two operands.
Widths named_widths(const Operation& operation, const Stated& s) {
  const auto& w = operation.width;
  Widths out = {w[0], w[1], w[2], w[3]};
  if (operation.encoding == Encoding::sopk) return {std::max(out[0], out[1]), 0, 0, 0};
  if (operation.encoding == Encoding::sop1) out[2] = 0;  // M0
  if (operation.encoding == Encoding::vop2 || operation.has(traits::accumulates)) out[3] = 0;
  if (operation.encoding == Encoding::scratch) out[1] = 1;  // ours goes with the scalar base
  if (operation.encoding == Encoding::mubuf) {
    out[0] = std::max(out[0], out[2]);
    out[2] = 0;
  }
  if (operation.has(traits::to_lds)) out[0] = s.of("vdst");  // there is no such register
  return out;
}

std::set<std::string> besides(const Operation& operation) {
  const auto has = [&](const mla::gfx::Traits& trait) { return operation.has(trait); };
  const bool vop2 = operation.encoding == Encoding::vop2, exec = has(traits::with_exec);
  std::set<std::string> out;
  const auto add = [&](bool is, const char* what) {
    if (is) out.insert(what);
  };
  add(has(traits::scc_in), "reads-scc");
  add(has(traits::scc_out), "writes-scc");
  add(has(traits::exec_in) || exec, "reads-exec");
  add(has(traits::exec_out) || exec, "writes-exec");
  add(has(traits::m0_in), "reads-m0");
  add(has(traits::m0_out), "writes-m0");
  add(has(traits::vcc_in) || (vop2 && has(traits::lane_mask_in)), "reads-vcc");
  // The pseudo code of v_div_scale says VCC for the pair that VOP3 names; v_mad_u64_u32's does not.
  const bool pair = has(traits::carry_out) && !vop2 && !has(traits::wide_sum);
  add((vop2 && has(traits::carry_out)) || pair, "writes-vcc");
  return out;
}

}  // namespace

TEST_CASE("every operand has the width that AMD's machine-readable ISA states") {
  const auto specification = read_specification();
  const Operations& operations = Operations::of(Arch::gfx950);
  std::size_t compared = 0;
  for (unsigned n = 0; n < operations.size(); ++n) {
    const Operation& operation = operations.at(n);
    const auto stated = specification.find({operation.encoding, operation.name});
    if (stated == specification.end()) continue;
    INFO(encodings[static_cast<std::size_t>(operation.encoding)] << " " << operation.name);
    CHECK(named_widths(operation, stated->second) ==
          stated_widths(operation.encoding, stated->second));
    ++compared;
  }
  CHECK(compared == specification.size());
  CHECK(compared == 1101);
}

TEST_CASE("what an operation reads and writes besides is what AMD's pseudo code names") {
  const auto specification = read_specification();
  const Operations& operations = Operations::of(Arch::gfx950);
  std::size_t compared = 0;
  for (unsigned n = 0; n < operations.size(); ++n) {
    const Operation& operation = operations.at(n);
    const auto stated = specification.find({operation.encoding, operation.name});
    if (stated == specification.end() || !stated->second.described) continue;
    INFO(encodings[static_cast<std::size_t>(operation.encoding)] << " " << operation.name);
    CHECK(besides(operation) == stated->second.besides);
    ++compared;
  }
  CHECK(compared > 1070);
}
