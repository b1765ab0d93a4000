// Moves of scalars to and from the register that M0 names.
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

constexpr unsigned begin = 20, count = 16;

Vector start(const Op& op, unsigned index) {
  Vector v{.operation = op.name, .note = "index " + std::to_string(index)};
  const WideRow values = random_row("scalars");
  for (unsigned k = 0; k < count; ++k) v.before.s[begin + k] = static_cast<u32>(values[k]);
  v.before.s[m0] = index;
  v.before.exec = 0x00ff;  // no scalar operation looks at it
  v.before.scc = index % 4 != 0;
  return v;
}

// All registers, of which only `dst` changed.
void expect(Vector& v, unsigned dst, const std::vector<u32>& values) {
  for (unsigned k = 0; k < count; ++k) {
    const unsigned at = begin + k - dst;
    const bool moved = begin + k >= dst && at < values.size();
    v.after.push_back(expect_scalar(begin + k, moved ? values[at] : v.before.s[begin + k]));
  }
  v.after.push_back(expect_flag(Expected::Where::scc, v.before.scc ? 1 : 0));
}

}  // namespace

Vectors relative_vectors(mla::gfx::Arch arch) {
  Vectors out;
  for (const unsigned words : {1U, 2U}) {
    const std::string bits = words == 1 ? "b32" : "b64";
    const Op from = find_op(arch, "s_movrels_" + bits), to = find_op(arch, "s_movreld_" + bits);
    for (unsigned index = 0; index < 6; index += words) {
      Vector source = start(from, index);
      source.words = encode::sop1(from.number, begin + 2, begin + 8);
      std::vector<u32> values;
      for (unsigned k = 0; k < words; ++k) values.push_back(source.before.s[begin + 8 + index + k]);
      expect(source, begin + 2, values);
      out.push_back(std::move(source));
      Vector target = start(to, index);
      target.words = encode::sop1(to.number, begin + 6, begin);
      values.clear();
      for (unsigned k = 0; k < words; ++k) values.push_back(target.before.s[begin + k]);
      expect(target, begin + 6 + index, values);
      out.push_back(std::move(target));
    }
    Vector constant = start(to, 4);
    constant.words = encode::sop1(to.number, begin, all_ones);
    expect(constant, begin + 4, std::vector<u32>(words, 0xffffffff));
    out.push_back(std::move(constant));
  }
  return out;
}

}  // namespace gfx_test
