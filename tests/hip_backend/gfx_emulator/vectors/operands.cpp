// Operand values: edges, their products, random bits, constants.
#include "../device.hpp"
#include "alu.hpp"

namespace gfx_test {
namespace {

u64 seed_of(const std::string& name) {
  u64 seed = 1;
  for (const char c : name) seed = seed * 131 + static_cast<unsigned char>(c);
  return seed;
}

u64 pick(Random& random, Type type, const std::vector<u64>& values, bool any_bits) {
  const u64 choice = random.next();
  if (!any_bits || choice % 4 != 0) return values[choice / 4 % values.size()];
  u64 bits = random.next();
  // Half of the random floats are of middling size.
  if (type == Type::f32 && choice % 8 == 0) {
    return bits_of(static_cast<float>(random.uniform(-100, 100)));
  }
  if (type == Type::f64 && choice % 8 == 0) return bits_of(random.uniform(-100, 100));
  return size_of(type) == 2 ? bits & 0xffff : size_of(type) == 4 ? bits & 0xffffffff : bits;
}

}  // namespace

std::vector<Operands> operand_rows(const std::string& name, const std::vector<Type>& types,
                                   const std::vector<u64>& only) {
  Random random(seed_of(name));
  std::vector<std::array<u64, 3>> all;
  const auto values = [&](std::size_t k) -> const std::vector<u64>& {
    return only.empty() ? edges(types[k]) : only;
  };
  if (types.size() <= 2) {
    const std::size_t second = types.size() == 2 ? values(1).size() : 1;
    for (std::size_t n = 0; n < values(0).size() * second; ++n) {
      all.push_back({values(0)[n / second], types.size() == 2 ? values(1)[n % second] : 0, 0});
    }
  }
  const std::size_t product = (all.size() + lanes - 1) / lanes * lanes;
  const std::size_t count = types.size() == 3 ? std::size_t{8} * lanes : product + lanes;
  while (all.size() < count) {
    std::array<u64, 3> one{};
    for (std::size_t k = 0; k < types.size(); ++k) {
      one[k] = pick(random, types[k], values(k), only.empty());
    }
    all.push_back(one);
  }
  std::vector<Operands> rows(all.size() / lanes);
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (std::size_t k = 0; k < 3; ++k) rows[n / lanes][k][n % lanes] = all[n][k];
  }
  return rows;
}

WideRow random_row(const std::string& name) {
  Random random(seed_of(name));
  WideRow out;
  for (u64& value : out) value = random.next();
  return out;
}

u64 inline_value(unsigned code, Type type) {
  static constexpr double reals[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
  if (code >= 240 && code <= 248) {
    const double value = reals[code - 240];
    if (type == Type::f16) return half_of(value).bits;
    return size_of(type) == 8 ? bits_of(value) : bits_of(static_cast<float>(value));
  }
  const auto value = static_cast<i64>(code <= 192 ? code - 128 : 0) -
                     static_cast<i64>(code > 192 ? code - 192 : 0);
  const auto bits = static_cast<u64>(value);
  return size_of(type) == 2 ? bits & 0xffff : size_of(type) == 4 ? bits & 0xffffffff : bits;
}

void put_row(State& state, unsigned reg, const WideRow& values, unsigned bytes) {
  for (unsigned l = 0; l < lanes; ++l) {
    state.v[reg][l] = static_cast<u32>(values[l]);
    if (bytes == 8) state.v[reg + 1][l] = static_cast<u32>(values[l] >> 32);
  }
}

Vector random_registers(const Op& op, const std::string& note,
                        std::initializer_list<std::pair<unsigned, const char*>> registers) {
  Vector out{.operation = op.name, .note = note};
  for (const auto& [reg, word] : registers) put_row(out.before, reg, random_row(op.name + word), 4);
  return out;
}

u64 signed_source(u64 bits, Type type, bool abs, bool neg) {
  const u64 sign = u64{1} << (8 * size_of(type) - 1);
  if (abs) bits &= ~sign;
  return neg ? bits ^ sign : bits;
}

}  // namespace gfx_test
