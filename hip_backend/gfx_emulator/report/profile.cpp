#include "hip_backend/gfx_emulator/report/profile.hpp"

#include <algorithm>

#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {
namespace {

// Where functions and kernels begin, ascending. Symbols of hand-written kernels may have no size:
// a function goes on to the next.
std::vector<std::uint64_t> function_begins(const CodeObject& object) {
  std::vector<std::uint64_t> begins;
  for (const Symbol& symbol : object.symbols())
    if (symbol.function) begins.push_back(symbol.offset);
  for (const Kernel& kernel : object.kernels()) begins.push_back(kernel.entry);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins;
}

}  // namespace

void InstructionCount::add(const InstructionCount& other) {
  executed += other.executed;
  lanes += other.lanes;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  lds_bytes_read += other.lds_bytes_read;
  lds_bytes_written += other.lds_bytes_written;
  bank_conflicts += other.bank_conflicts;
}

std::string text_at(const CodeObject& object, std::uint64_t offset) {
  const Inst& inst = object.instructions()[object.index_at(offset)];
  std::string text = disassemble(object.operations(), inst);
  if (!object.operations().at(inst.op).has_target()) return text;
  // The index of the target, which the loader puts there, says nothing to a reader.
  const auto target = static_cast<std::uint32_t>(inst.imm);
  text = object.operations().at(inst.op).name;
  if (target >= object.instructions().size()) return text + " (to no instruction)";
  return text + " " + object.place(object.instructions()[target].at);
}

std::vector<ProfileLine> profile_lines(const CodeObject& object,
                                       std::span<const InstructionCount> counts) {
  const std::vector<std::uint64_t> begins = function_begins(object);
  const auto function_of = [&](std::uint64_t at) {
    return std::upper_bound(begins.begin(), begins.end(), at) - begins.begin();
  };
  std::vector<bool> executed(begins.size() + 1);
  const auto instructions = object.instructions();
  const std::size_t known = std::min(counts.size(), instructions.size());
  for (std::size_t i = 0; i < known; ++i)
    if (counts[i].executed > 0)
      executed[static_cast<std::size_t>(function_of(instructions[i].at))] = true;
  std::vector<ProfileLine> out;
  for (std::size_t i = 0; i < known; ++i) {
    const std::uint64_t at = instructions[i].at;
    if (instructions[i].words == 0 || !executed[static_cast<std::size_t>(function_of(at))])
      continue;
    out.push_back({at, object.place(at), text_at(object, at), object.own_line(at), counts[i]});
  }
  return out;
}

}  // namespace mla::gfx
