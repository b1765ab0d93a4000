// Operations with a bit for each lane: carries, selection, the steps of division, long products.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;
using mla::gfx::Encoding;

constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22, out_pair = 30, in_pair = 34;

struct Result {
  u64 value = 0;
  bool flag = false;
};
struct Masked {
  std::string name;
  std::vector<Type> types;
  Type result = Type::u32;
  bool reads = false, writes = false;
  std::function<Result(u64, u64, u64, bool)> run;
  Compare compare = Compare::bits;
  std::function<u64(u64, bool)> clamped = {};  // by the result and its flag
};

struct Form {
  std::string note;
  bool vop3 = false, clamp = false;
  u64 exec = ~u64{0};
};

Words encoded(const Op& op, const Masked& m, const Form& form) {
  if (!form.vop3) return encode::vop2(op.number, destination, sources[0], sources[1]);
  const bool selects = m.reads && op.encoding == Encoding::vop2;
  encode::Vop3 fields{.dst = destination,
                      .src = {sources[0], sources[1], selects ? in_pair : sources[2]},
                      .clamp = form.clamp,
                      .sdst = m.writes ? out_pair : encode::Vop3::none};
  if (!selects && m.types.size() < 3) fields.src[2] = 0;
  return encode::vop3(op.number + (op.encoding == Encoding::vop2 ? 0x100 : 0), fields);
}

Vector make(const Op& op, const Masked& m, const Form& form, const Operands& operands) {
  Vector out{.operation = op.name, .note = form.note, .words = encoded(op, m, form)};
  for (std::size_t k = 0; k < m.types.size(); ++k) {
    put_row(out.before, sources[k], operands[k], size_of(m.types[k]));
  }
  const WideRow old = random_row(m.name + "old");
  put_row(out.before, destination, old, size_of(m.result));
  out.before.exec = form.exec;
  const u64 in = random_row(m.name)[3], before = random_row(m.name)[4];
  // VOP3 names its pairs, but for v_div_fmas.
  const bool named = form.vop3 && op.encoding == Encoding::vop2;
  const unsigned from = named ? in_pair : vcc, to = form.vop3 ? out_pair : vcc;
  if (m.writes) out.before.s[to] = static_cast<u32>(before);
  if (m.writes) out.before.s[to + 1] = static_cast<u32>(before >> 32);
  if (m.reads) out.before.s[from] = static_cast<u32>(in);
  if (m.reads) out.before.s[from + 1] = static_cast<u32>(in >> 32);
  Expected result{
      .index = destination, .words = size_of(m.result) / 4, .values = {}, .compare = m.compare};
  u64 flags = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const Result r = m.run(operands[0][l], operands[1][l], operands[2][l], (in >> l & 1) != 0);
    const bool active = (form.exec >> l & 1) != 0;
    const u64 value = form.clamp ? m.clamped(r.value, r.flag) : r.value;
    result.values[l] = active ? value : old[l];
    if (result.words == 1) result.values[l] &= 0xffffffff;
    if (active && r.flag) flags |= u64{1} << l;
  }
  out.after = {result};
  if (m.writes) {
    out.after.push_back(expect_scalar(to, static_cast<u32>(flags)));
    out.after.push_back(expect_scalar(to + 1, static_cast<u32>(flags >> 32)));
  }
  return out;
}

void add_masked(Vectors& out, Arch arch, const Masked& m, const std::vector<Operands>& rows) {
  const Op op = find_op(arch, m.name);
  if (op.name.empty()) return;
  const bool vop3 = op.encoding == Encoding::vop3;
  for (const Operands& row : rows) out.push_back(make(op, m, {.note = "VOP3", .vop3 = true}, row));
  const u64 some = 0x00ff8001f00f5a5a;
  out.push_back(make(op, m, {.note = "part of EXEC", .vop3 = vop3, .exec = some}, rows[0]));
  if (!vop3) out.push_back(make(op, m, {.note = "VCC"}, rows.back()));
  if (m.clamped) {
    out.push_back(make(op, m, {.note = "clamp", .vop3 = true, .clamp = true}, rows.back()));
  }
}

// Sums and differences in 64 bits: the flag is what does not fit in 32.
Masked carrying(const char* name, bool reads, bool adds,
                const std::function<i64(i64, i64, i64)>& f) {
  return {.name = name,
          .types = {Type::u32, Type::u32},
          .reads = reads,
          .writes = true,
          .run = [f](u64 a, u64 b, u64, bool in) -> Result {
            const i64 value = f(static_cast<i64>(a), static_cast<i64>(b), in ? 1 : 0);
            return {static_cast<u32>(value), value < 0 || value > 0xffffffff};
          },
          .clamped = [adds](u64 value, bool flag) -> u64 {
            return !flag ? value : adds ? 0xffffffff : 0;
          }};
}

// VCC: the result has to be scaled back. Assumption DIV_SCALE_DOWN; finite operands.
template <class T>
Result div_scaled(T value, T denominator, T numerator) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int by = wide ? 128 : 64, apart = wide ? 768 : 96, tiny = wide ? 53 : 23;
  const auto bits = [](T x) { return static_cast<u64>(to_bits(x)); };
  const auto exponent = [&](T x) {
    return static_cast<int>(bits(x) >> (wide ? 52 : 23) & (wide ? 0x7ff : 0xff));
  };
  const auto denormal = [](T x) { return std::fpclassify(x) == FP_SUBNORMAL; };
  const bool is_denominator = bits(value) == bits(denominator);
  const T up = std::ldexp(value, by), down = std::ldexp(value, -by);
  if (numerator == 0 || denominator == 0) {
    return {bits(std::numeric_limits<T>::quiet_NaN()), false};
  }
  if (exponent(numerator) - exponent(denominator) >= apart) {
    return {bits(is_denominator ? up : value), true};
  }
  if (denormal(denominator)) return {bits(up), false};
  const bool inverse = denormal(1 / denominator), quotient = denormal(numerator / denominator);
  if (inverse && quotient) return {bits(is_denominator ? down : value), true};
  if (inverse) return {bits(down), false};
  if (quotient) return {bits(is_denominator ? value : up), true};
  return {bits(exponent(numerator) <= tiny ? up : value), false};
}

// Assumption DIV_FMAS_SCALE.
template <class T>
Result div_fused(T a, T b, T c, bool scaled) {
  constexpr int by = sizeof(T) == 8 ? 128 : 64;
  const T value = std::fma(a, b, c);
  const bool large = std::abs(c) >= 2 || std::isnan(c);
  return {static_cast<u64>(to_bits(scaled ? std::ldexp(value, large ? by : -by) : value)), false};
}

template <class T>
Masked scale(const char* name) {
  return {.name = name,
          .types = {type_of<T>(), type_of<T>(), type_of<T>()},
          .result = type_of<T>(),
          .writes = true,
          .run = [](u64 a, u64 b, u64 c,
                    bool) { return div_scaled(from_bits<T>(a), from_bits<T>(b), from_bits<T>(c)); },
          .compare = sizeof(T) == 8 ? Compare::f64 : Compare::f32};
}
template <class T>
Masked fused(const char* name) {
  return {.name = name,
          .types = {type_of<T>(), type_of<T>(), type_of<T>()},
          .result = type_of<T>(),
          .reads = true,
          .run =
              [](u64 a, u64 b, u64 c, bool in) {
                return div_fused(from_bits<T>(a), from_bits<T>(b), from_bits<T>(c), in);
              },
          .compare = sizeof(T) == 8 ? Compare::f64 : Compare::f32};
}

// The first source is the denominator or the numerator; all are finite.
template <class T>
std::vector<Operands> division_rows(const std::string& name) {
  const Type type = type_of<T>();
  std::vector<u64> finite;
  for (const u64 bits : edges(type)) {
    if (std::isfinite(from_bits<T>(bits))) finite.push_back(bits);
  }
  for (int exponent = sizeof(T) == 8 ? -1070 : -148; exponent < (sizeof(T) == 8 ? 1000 : 127);
       exponent += sizeof(T) == 8 ? 171 : 19) {
    finite.push_back(to_bits(std::ldexp(T{1.25}, exponent)));
  }
  // Where a numerator begins to be tiny.
  for (const int exponent : {-1, 0, 1}) {
    finite.push_back(to_bits(std::ldexp(T{1.25}, exponent + (sizeof(T) == 8 ? -970 : -104))));
  }
  auto rows = operand_rows(name, {type, type, type}, finite);
  for (Operands& row : rows) {
    for (unsigned l = 0; l < lanes; ++l) row[0][l] = row[1 + l % 2][l];
  }
  return rows;
}

// The product and the sum in 65 bits.
template <class T, class Wide>
Masked long_product(const char* name) {
  return {.name = name,
          .types = {type_of<T>(), type_of<T>(), type_of<Wide>()},
          .result = Type::u64,
          .writes = true,
          .run = [](u64 a, u64 b, u64 c, bool) -> Result {
            const i128 sum =
                static_cast<i128>(from_bits<T>(a)) * from_bits<T>(b) + from_bits<Wide>(c);
            return {static_cast<u64>(sum), (sum >> 64 & 1) != 0};
          },
          // Of a number with a sign bits 63 and 64 differ where 64 bits do not hold it.
          .clamped = [](u64 value, bool bit_64) -> u64 {
            constexpr auto limits = std::numeric_limits<Wide>();
            const bool below = std::is_signed_v<Wide> && bit_64;
            if (bit_64 == (std::is_signed_v<Wide> && value >> 63 != 0)) return value;
            return static_cast<u64>(below ? limits.min() : limits.max());
          }};
}

Masked select() {
  return {.name = "v_cndmask_b32",
          .types = {Type::u32, Type::u32},
          .reads = true,
          .run = [](u64 a, u64 b, u64, bool in) -> Result { return {in ? b : a, false}; }};
}

}  // namespace

Vectors mask_vectors(Arch arch) {
  Vectors out;
  for (const Masked& m :
       {carrying("v_add_co_u32", false, true, [](i64 a, i64 b, i64) { return a + b; }),
        carrying("v_sub_co_u32", false, false, [](i64 a, i64 b, i64) { return a - b; }),
        carrying("v_subrev_co_u32", false, false, [](i64 a, i64 b, i64) { return b - a; }),
        carrying("v_addc_co_u32", true, true, [](i64 a, i64 b, i64 c) { return a + b + c; }),
        carrying("v_subb_co_u32", true, false, [](i64 a, i64 b, i64 c) { return a - b - c; }),
        carrying("v_subbrev_co_u32", true, false, [](i64 a, i64 b, i64 c) { return b - a - c; }),
        long_product<u32, u64>("v_mad_u64_u32"), long_product<i32, i64>("v_mad_i64_i32"), select(),
        fused<float>("v_div_fmas_f32"), fused<double>("v_div_fmas_f64")}) {
    add_masked(out, arch, m, operand_rows(m.name, m.types, {}));
  }
  add_masked(out, arch, scale<float>("v_div_scale_f32"), division_rows<float>("scale"));
  add_masked(out, arch, scale<double>("v_div_scale_f64"), division_rows<double>("scale"));
  return out;
}

}  // namespace gfx_test
