// Branches, jumps, hardware registers, the gpr index mode: programs of a few instructions.
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned mark = 20, first = 24, second = 30, difference = 34;
constexpr u32 untouched = 7;

// s_mov_b32, s_sub_u32, s_subb_u32, s_nop.
Words set(unsigned reg, unsigned constant) {
  return encode::sop1(0, reg, zero + constant);
}
Words subtract(unsigned to, unsigned a, unsigned b) {
  return join({encode::sop2(1, to, a, b), encode::sop2(5, to + 1, a + 1, b + 1)});
}

struct Flow {
  Arch arch;
  Vectors& out;

  Vector start(const std::string& name, const std::string& note) const {
    Vector v{.operation = name, .note = note};
    v.before.s[mark] = untouched;
    return v;
  }
  [[nodiscard]] unsigned number(const std::string& name) const {
    return find_op(arch, name).number;
  }

  // The instruction after a branch runs, or not.
  void branch(const std::string& name, bool taken,
              const std::function<void(State&)>& prepare) const {
    Vector v = start(name, taken ? "taken" : "not taken");
    prepare(v.before);
    v.words = join({encode::sopp(number(name), 1), set(mark, 1)});
    v.after = {expect_scalar(mark, taken ? untouched : 1)};
    out.push_back(v);
    // Backwards: over the branch to the instruction, and on.
    v.note += ", backwards";
    const Words jump = encode::sopp(number("s_branch"), 2),
                leave = encode::sopp(number("s_branch"), 1);
    v.words = join({jump, set(mark, 1), leave, encode::sopp(number(name), -3)});
    v.at = 3;
    v.after = {expect_scalar(mark, taken ? 1 : untouched)};
    out.push_back(v);
  }

  void branches() const {
    branch("s_branch", true, [](State&) {});
    for (const bool is : {false, true}) {
      branch("s_cbranch_scc0", !is, [=](State& s) { s.scc = is; });
      branch("s_cbranch_scc1", is, [=](State& s) { s.scc = is; });
    }
    for (const u64 mask : {u64{0}, u64{1}, u64{1} << 63, ~u64{0}}) {
      const auto to_vcc = [=](State& s) {
        s.s[vcc] = static_cast<u32>(mask);
        s.s[vcc + 1] = static_cast<u32>(mask >> 32);
      };
      branch("s_cbranch_vccz", mask == 0, to_vcc);
      branch("s_cbranch_vccnz", mask != 0, to_vcc);
      branch("s_cbranch_execz", mask == 0, [=](State& s) { s.exec = mask; });
      branch("s_cbranch_execnz", mask != 0, [=](State& s) { s.exec = mask; });
    }
  }

  void jumps() const {
    const Words here = encode::sop1(number("s_getpc_b64"), first, 0);
    Vector get = start("s_getpc_b64", "two of them are four bytes apart");
    get.words = join({encode::sop1(number("s_getpc_b64"), second, 0), here,
                      subtract(difference, first, second)});
    get.after = {expect_scalar(difference, 4), expect_scalar(difference + 1, 0)};
    out.push_back(get);

    // s[24:25] = the address after the jump and what it leaps over: 5 words after s_getpc.
    const Words leap = join({here, encode::sop2(0, first, first, zero + 16),
                             encode::sop2(4, first + 1, first + 1, zero)});
    Vector jump = start("s_setpc_b64", "over an instruction");
    jump.words = join(
        {leap, encode::sop1(number("s_setpc_b64"), 0, first), set(mark, 1), set(difference, 2)});
    jump.at = 3;
    jump.after = {expect_scalar(mark, untouched), expect_scalar(difference, 2)};
    out.push_back(jump);

    Vector swap = start("s_swappc_b64", "over an instruction");
    swap.words = join({leap, encode::sop1(number("s_swappc_b64"), second, first), set(mark, 1),
                       subtract(difference, first, second)});
    swap.at = 3;
    swap.after = {expect_scalar(mark, untouched), expect_scalar(difference, 4),
                  expect_scalar(difference + 1, 0)};
    out.push_back(swap);

    Vector call = start("s_call_b64", "over an instruction");
    call.words = join({here, encode::sopk(number("s_call_b64"), second, 1), set(mark, 1),
                       subtract(difference, second, first)});
    call.at = 1;
    call.after = {expect_scalar(mark, untouched), expect_scalar(difference, 4),
                  expect_scalar(difference + 1, 0)};
    out.push_back(call);
  }

  // A field of MODE (1) or STATUS (2): its first bit and its size.
  static int field(unsigned id, unsigned bit, unsigned size) {
    return static_cast<int>(id | bit << 6 | (size - 1) << 11);
  }

  void hardware_registers() const {
    constexpr u32 mode = 0x000001f0;
    for (const auto& [bit, size] : {std::pair{0U, 32U}, {4U, 4U}, {8U, 1U}, {5U, 9U}}) {
      Vector get = start("s_getreg_b32", "MODE");
      get.before.mode = mode;
      get.words = encode::sopk(number("s_getreg_b32"), mark, field(1, bit, size));
      const u32 ones = size == 32 ? ~0U : (1U << size) - 1;
      get.after = {expect_scalar(mark, mode >> bit & ones)};
      out.push_back(get);
      // What a register says goes to the field alone.
      const u32 value = 0xfffffe5a, after = (mode & ~(ones << bit)) | (value & ones) << bit;
      Vector put = start("s_setreg_b32", "MODE");
      put.before.s[first] = value;
      put.words = encode::sopk(number("s_setreg_b32"), first, field(1, bit, size));
      put.after = {expect_flag(Expected::Where::mode, after)};
      out.push_back(put);
      Vector constant = start("s_setreg_imm32_b32", "MODE");
      constant.words =
          join({encode::sopk(number("s_setreg_imm32_b32"), 0, field(1, bit, size)), {value}});
      constant.after = put.after;
      out.push_back(constant);
    }
    for (const bool scc : {false, true}) {
      Vector get = start("s_getreg_b32", "STATUS");
      get.before.scc = scc;
      get.before.exec = scc ? 1 : 0;
      get.words = join({encode::sopk(number("s_getreg_b32"), mark, field(2, 0, 1)),
                        encode::sopk(number("s_getreg_b32"), first, field(2, 9, 1))});
      get.after = {expect_scalar(mark, scc ? 1 : 0), expect_scalar(first, scc ? 0 : 1)};
      out.push_back(get);
    }
  }

  // v10.. and v30.. hold different rows, v_add_u32 v30, v10, v20 is what moves.
  Vector indexed(const std::string& name, const std::string& note) const {
    Vector v = start(name, note);
    for (unsigned reg = 10; reg < 36; ++reg) {
      put_row(v.before, vgpr + reg, random_row("v" + std::to_string(reg)), 4);
    }
    v.before.s[m0] = 0xabcd0f33;
    v.before.s[first] = 0x777703;  // only the lowest byte counts
    return v;
  }
  Words on(unsigned flags) const { return encode::sopc(number("s_set_gpr_idx_on"), first, flags); }
  Words off() const { return encode::sopp(number("s_set_gpr_idx_off"), 0); }
  static Words add() { return encode::vop2(0x34, vgpr + 30, vgpr + 10, vgpr + 20); }
  // What the flags (bit 0, 1: the sources, bit 3: the destination) and the index make of it.
  static void expect_sum(Vector& v, unsigned flags, unsigned index) {
    const auto reg = [&](unsigned from, unsigned flag) {
      return vgpr + from + ((flags & flag) != 0 ? index : 0);
    };
    Expected e{.index = reg(30, 8), .values = {}};
    for (unsigned l = 0; l < lanes; ++l) {
      e.values[l] = v.before.v[reg(10, 1)][l] + v.before.v[reg(20, 2)][l];
    }
    v.after.push_back(e);
  }

  void index_mode() const {
    const u32 rest = 0xabcd0f33 & ~0xf0ffU;
    for (const unsigned flags : {0U, 1U, 2U, 8U, 11U}) {
      Vector v = indexed("s_set_gpr_idx_on", "flags " + std::to_string(flags));
      v.words = join({on(flags), add(), off()});
      expect_sum(v, flags, 3);
      v.after.push_back(expect_scalar(m0, rest | flags << 12 | 3));
      out.push_back(v);
      Vector mode = indexed("s_set_gpr_idx_mode", "flags " + std::to_string(flags));
      mode.words =
          join({on(15 - flags), encode::sopp(number("s_set_gpr_idx_mode"), static_cast<int>(flags)),
                add(), off()});
      mode.at = 1;
      expect_sum(mode, flags, 3);
      mode.after.push_back(expect_scalar(m0, rest | flags << 12 | 3));
      out.push_back(mode);
    }
    Vector index = indexed("s_set_gpr_idx_idx", "another index");
    index.before.s[second] = 0xff05;
    index.words = join({on(9), encode::sop1(number("s_set_gpr_idx_idx"), 0, second), add(), off()});
    index.at = 1;
    expect_sum(index, 9, 5);
    index.after.push_back(expect_scalar(m0, rest | 9 << 12 | 5));
    out.push_back(index);
    Vector ended = indexed("s_set_gpr_idx_off", "no index any more");
    ended.words = join({on(11), off(), add()});
    ended.at = 1;
    expect_sum(ended, 0, 0);
    out.push_back(ended);
  }

  // The clocks advance: s_cmp_gt_u32 of a later and an earlier reading.
  void clocks() const {
    for (const char* const name : {"s_memtime", "s_memrealtime"}) {
      Vector v = start(name, "advances");
      std::vector<Words> parts = {encode::smem(number(name), {.data = first, .immediate = false})};
      for (unsigned k = 0; k < 32; ++k) parts.push_back(encode::sopp(0, 0));
      parts.push_back(encode::smem(number(name), {.data = second, .immediate = false}));
      parts.push_back(encode::sopp(12, 0));
      parts.push_back(encode::sopc(8, second, first));
      v.words = join(parts);
      v.after = {expect_flag(Expected::Where::scc, 1)};
      out.push_back(v);
    }
  }
};

}  // namespace

Vectors flow_vectors(Arch arch) {
  Vectors out;
  const Flow flow{arch, out};
  flow.branches();
  flow.jumps();
  flow.hardware_registers();
  flow.index_mode();
  flow.clocks();
  return out;
}

}  // namespace gfx_test
