#include "hip_backend/gfx_emulator/check/wait_states.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "hip_backend/gfx_emulator/check/static_paths.hpp"
#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using std::string_view;

// No rule needs more.
constexpr unsigned most_states = 20;

enum class Kind : std::uint8_t { other, valu, dot, f64, plain_f32, xdl };

// What the rules ask of an operation.
struct Rules {
  Kind kind = Kind::other;
  bool memory = false, fma_f64 = false;
  [[nodiscard]] bool matrix() const { return kind >= Kind::f64; }
};

bool has(string_view name, string_view part) {
  return name.find(part) != string_view::npos;
}

Rules rules_of(const Operation& operation) {
  const string_view name = operation.name;
  Rules out;
  out.memory = is_vector_memory(operation.kind) || operation.kind == Class::lds;
  if (operation.kind == Class::mfma) {
    out.kind = has(name, "_f64_")       ? Kind::f64
               : name.ends_with("_f32") ? Kind::plain_f32
                                        : Kind::xdl;
  } else if (name.starts_with("v_")) {
    out.kind = name.starts_with("v_dot") ? Kind::dot : Kind::valu;
    out.fma_f64 = name.starts_with("v_fma_f64") || name.starts_with("v_fmac_f64");
  }
  return out;
}

unsigned passes_of(string_view name, const Inst& inst, Arch arch) {
  if (has(name, "_f64_")) return has(name, "_4x4x") ? 4 : arch == Arch::gfx950 ? 16 : 8;
  if (has(name, "_4x4x")) return 2;
  const bool large = has(name, "_32x32x");
  if (has(name, "f8f6f4")) {
    const bool bytes = inst.cbsz < 2 || inst.blgp < 2;  // a source of 8-bit floats
    return (bytes ? 8U : 4U) * (large ? 2 : 1);
  }
  const bool slow = has(name, "b_") || name.ends_with("_f32");  // several blocks, or plain f32
  return (slow ? 8U : 4U) * (large ? 2 : 1);
}

// What may still be under way, by the index of its instruction, with the fewest wait states since.
struct Recent {
  std::map<u32, unsigned> since;
  unsigned busy = 0;  // wait states until the next matrix instruction can begin, at least

  bool join(const Recent& other) {
    bool changed = other.busy < busy;
    busy = std::min(busy, other.busy);
    for (const auto& [index, states] : other.since) {
      const auto [found, fresh] = since.try_emplace(index, states);
      changed = changed || fresh || states < found->second;
      found->second = std::min(found->second, states);
    }
    return changed;
  }
  void pass(unsigned states) {
    busy -= std::min(busy, states);
    for (auto& [index, count] : since) count += states;
    std::erase_if(since, [](const auto& item) { return item.second > most_states; });
  }
};

// Vector registers.
struct Span {
  unsigned first = 0, count = 0;
  [[nodiscard]] bool overlaps(const Span& other) const {
    return count != 0 && other.count != 0 && first < other.first + other.count &&
           other.first < first + count;
  }
  bool operator==(const Span&) const = default;
};

Span span_of(unsigned operand, unsigned width) {
  return operand >= code::vgpr && operand != code::none ? Span{operand, width} : Span{};
}
Span result_of(const Inst& inst) {
  return span_of(inst.dst, inst.width[0]);
}
// The addend: of a sparse product the fourth source.
unsigned addend_of(const Operation& operation) {
  return operation.has(traits::sparse) ? 3 : 2;
}
Span source_of(const Inst& inst, unsigned k) {
  if (inst.src[k] == code::none || inst.src[k] < code::vgpr) return {};
  const auto [skip, used] = used_part(inst, k);
  return span_of(inst.src[k] + skip, used);
}

class StatesSearch final : public Paths<Recent> {
 public:
  StatesSearch(const CodeObject& object, const Kernel& kernel) : Paths(object) {
    for (std::size_t op = 0; op < object.operations().size(); ++op) {
      rules_.push_back(rules_of(object.operations().at(static_cast<unsigned>(op))));
    }
    follow(kernel);
  }
  std::vector<MissingStates> take() {
    std::vector<MissingStates> out;
    for (auto& [key, missing] : found_) out.push_back(std::move(missing));
    return out;
  }

 private:
  [[nodiscard]] const Rules& rules(u32 index) const { return rules_[at(index).op]; }
  [[nodiscard]] unsigned passes(u32 index) const {
    return passes_of(operation(index).name, at(index), object().arch());
  }
  // gfx950 needs one more wherever the matrix instruction has more than two passes.
  [[nodiscard]] unsigned more(unsigned passes) const {
    return object().arch() == Arch::gfx950 && passes != 2 ? 1 : 0;
  }
  [[nodiscard]] bool is_gfx950() const { return object().arch() == Arch::gfx950; }

  void step(Recent& state, u32 index) override {
    const Inst& inst = at(index);
    const Rules& rule = rules(index);
    if (rule.matrix() && state.busy != 0) state.pass(state.busy);
    const bool nop = operation(index).name == "s_nop";
    state.pass(nop ? (static_cast<unsigned>(inst.imm) & 15) + 1 : 1);
    if (rule.matrix()) state.busy = passes(index) - 1;
    if (rule.kind != Kind::other) state.since[index] = 0;
  }

  void look(const Recent& state, u32 index) override {
    const Inst& inst = at(index);
    const Rules& rule = rules(index);
    if ((rule.kind == Kind::other && !rule.memory) || is_relative_move(inst)) return;
    for (const auto& [producer, states] : state.since) {
      const unsigned since = states + (rule.matrix() ? state.busy : 0);
      if (rules(producer).matrix()) {
        rule.matrix() ? matrix_after_matrix(index, producer, since)
                      : other_after_matrix(index, producer, since);
      } else if (rule.matrix()) {
        matrix_after_other(index, producer, since);
      } else if (rules(producer).kind == Kind::dot) {
        other_after_dot(index, producer, since);
      }
    }
  }

  // The wait states after which a result of `producer` may be read by other than matrix
  // instructions.
  [[nodiscard]] unsigned until_read(u32 producer, bool memory) const {
    const unsigned count = passes(producer);
    if (rules(producer).kind == Kind::f64) {
      if (count == 4) return memory ? 9 : 6;
      return memory ? 18 : is_gfx950() ? 19 : 11;
    }
    return rules(producer).kind == Kind::xdl ? count + 3 + more(count) : count + 2;
  }

  [[nodiscard]] unsigned until_addend(u32 index, u32 producer, bool whole) const {
    const unsigned count = passes(producer);
    const Kind first = rules(producer).kind, second = rules(index).kind;
    if (whole) {
      if (first == Kind::f64) return count == 4 && second == first && passes(index) == 4 ? 4 : 0;
      return count == 2 ? 2 : 0;
    }
    if (first == Kind::f64) {
      if (second == Kind::xdl) return 0;
      return count == 4 ? 4 : is_gfx950() ? 17 : 9;
    }
    if (first == Kind::plain_f32) return second == Kind::xdl ? 0 : count;
    return count + 1 + more(count);
  }

  [[nodiscard]] unsigned until_factor(u32 producer) const {
    const unsigned count = passes(producer);
    if (rules(producer).kind == Kind::f64) return count == 4 ? 6 : is_gfx950() ? 19 : 11;
    return rules(producer).kind == Kind::xdl ? count + 3 + more(count) : count + 2;
  }

  void matrix_after_matrix(u32 index, u32 producer, unsigned since) {
    const Inst& inst = at(index);
    const Span result = result_of(at(producer));
    const unsigned addend = addend_of(operation(index));
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      const Span source = source_of(inst, k);
      if (!result.overlaps(source)) continue;
      const unsigned needed =
          k == addend ? until_addend(index, producer, source == result) : until_factor(producer);
      note(index, producer, needed, since, read_text(inst, k));
    }
  }

  void other_after_matrix(u32 index, u32 producer, unsigned since) {
    const Inst& inst = at(index);
    const Inst& matrix = at(producer);
    const Span result = result_of(matrix), written = result_of(inst);
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      if (!result.overlaps(source_of(inst, k))) continue;
      note(index, producer, until_read(producer, rules(index).memory), since, read_text(inst, k));
    }
    if (result.overlaps(written)) {
      note(index, producer, until_read(producer, false), since, written_text(inst, "the result "));
    }
    const Span addend = source_of(matrix, addend_of(operation(producer)));
    if (rules(producer).kind == Kind::xdl && addend.overlaps(written)) {
      note(index, producer, passes(producer) - 1, since, written_text(inst, "the addend "));
    }
    if (rules(index).fma_f64 && rules(producer).kind == Kind::f64) {
      note(index, producer, 2, since, "v_fma_f64 begins");
    }
  }

  void matrix_after_other(u32 index, u32 producer, unsigned since) {
    const Inst& inst = at(index);
    const Inst& before = at(producer);
    if (operation(producer).has(traits::exec_out)) note(index, producer, 4, since, "EXEC is used");
    if (rules(producer).kind == Kind::dot) return other_after_dot(index, producer, since);
    const Span written = result_of(before);
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      if (written.overlaps(source_of(inst, k))) note(index, producer, 2, since, read_text(inst, k));
    }
  }

  // A chain of one kind of dot products through the addend needs nothing.
  void other_after_dot(u32 index, u32 producer, unsigned since) {
    const Inst& inst = at(index);
    const bool same = inst.op == at(producer).op;
    const Span result = result_of(at(producer));
    for (unsigned k = 0; k < inst.src.size(); ++k) {
      if ((same && k == 2) || !result.overlaps(source_of(inst, k))) continue;
      note(index, producer, 3, since, read_text(inst, k));
    }
    if (!same && !rules(index).matrix() && result.overlaps(result_of(inst))) {
      note(index, producer, 3, since, written_text(inst, "the result "));
    }
  }

  static std::string read_text(const Inst& inst, unsigned k) {
    const auto [skip, used] = used_part(inst, k);
    return operand_text(inst, static_cast<std::uint16_t>(inst.src[k] + skip), used) + " is read";
  }
  static std::string written_text(const Inst& inst, const char* what) {
    return what + operand_text(inst, inst.dst, inst.width[0]) + " is overwritten";
  }

  void note(u32 index, u32 producer, unsigned needed, unsigned since, const std::string& what) {
    if (since >= needed) return;
    MissingStates& found = found_[{index, producer}];
    if (found.needed >= needed) return;
    found = {.use = at(index).at,
             .producer = at(producer).at,
             .what = what,
             .needed = needed,
             .found = since};
  }

  std::vector<Rules> rules_;                            // by operation
  std::map<std::pair<u32, u32>, MissingStates> found_;  // by use and producer
};

}  // namespace

std::vector<MissingStates> check_wait_states(const CodeObject& object, const Kernel& kernel) {
  return StatesSearch(object, kernel).take();
}

unsigned matrix_passes(const CodeObject& object, const Inst& inst) {
  if (inst.kind != Class::mfma) return 0;
  return passes_of(object.operations().at(inst.op).name, inst, object.arch());
}

}  // namespace mla::gfx
