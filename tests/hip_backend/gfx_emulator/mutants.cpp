#include "mutants.hpp"

#include <algorithm>
#include <cstring>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/hip_backend/forwarding_device.hpp"

namespace gfx_test {
namespace {

using namespace mla;
using namespace mla::hip;

constexpr std::uint32_t wait_for_nothing = 0xbf8ccf7f, no_operation = 0xbf800000;
constexpr std::uint32_t abort_trap = 0xbf920002;

// Where the bytes of an address of the image lie in the file.
std::uint64_t in_file(const gfx::ElfFile& elf, std::uint64_t address) {
  for (const gfx::Segment& s : elf.segments)
    if (address >= s.address && address < s.address + s.file_size)
      return address - s.address + s.offset;
  return 0;
}

class MutatedDevice final : public mla::hip::test::ForwardingDevice {
 public:
  MutatedDevice(std::unique_ptr<Device> device, std::span<const std::byte> original,
                std::span<const std::byte> replacement)
      : ForwardingDevice(std::move(device)), original_(original), replacement_(replacement) {}

  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    return ForwardingDevice::find_kernel(code.data() == original_.data() ? replacement_ : code,
                                         name);
  }

 private:
  std::span<const std::byte> original_, replacement_;
};

}  // namespace

std::vector<Mutant> mutants_of(std::span<const std::byte> code, const std::string& kernel) {
  std::vector<Mutant> mutants;
  const auto elf = gfx::read_elf(code);
  const auto object = gfx::load_code_object(code, {});
  if (!elf || !object) return mutants;
  const auto& instructions = object->instructions();
  const auto with = [&](std::uint64_t at, std::span<const std::byte> words) {
    std::vector<std::byte> bytes(code.begin(), code.end());
    std::memcpy(bytes.data() + in_file(*elf, at), words.data(), words.size());
    return bytes;
  };
  const auto with_word = [&](std::uint64_t at, std::uint32_t word) {
    return with(at, std::as_bytes(std::span(&word, 1)));
  };
  const auto is_target = [&](std::size_t n) {
    return std::ranges::any_of(instructions, [&](const gfx::Inst& inst) {
      return inst.kind == gfx::Class::branch && static_cast<std::size_t>(inst.imm) == n;
    });
  };
  for (std::size_t n = 0; n < instructions.size(); ++n) {
    const gfx::Inst& inst = instructions[n];
    const std::string place = object->place(inst.at);
    if (inst.words == 0 || !place.starts_with(kernel + "+")) continue;
    // What follows the trap must be instructions too.
    std::vector<std::uint32_t> trap(inst.words, no_operation);
    trap[0] = abort_trap;
    const auto add = [&](Mutation kind, std::vector<std::byte> bytes) {
      mutants.push_back({.kind = kind,
                         .place = place,
                         .bytes = std::move(bytes),
                         .trapped = with(inst.at, std::as_bytes(std::span(trap)))});
    };
    const bool barrier = inst.kind == gfx::Class::barrier, wait = inst.kind == gfx::Class::wait;
    if (wait) add(Mutation::no_wait, with_word(inst.at, wait_for_nothing));
    if (barrier) add(Mutation::no_barrier, with_word(inst.at, no_operation));
    if (n + 1 == instructions.size() || is_target(n + 1)) continue;
    const gfx::Inst& next = instructions[n + 1];
    const bool before_barrier = wait && next.kind == gfx::Class::barrier;
    const bool access = gfx::counts_as_memory(inst.kind) && next.kind == gfx::Class::wait;
    if (!before_barrier && !access) continue;
    const std::size_t first = 4U * inst.words, second = 4U * next.words;
    std::vector<std::byte> both(first + second);
    std::memcpy(both.data(), code.data() + in_file(*elf, next.at), second);
    std::memcpy(both.data() + second, code.data() + in_file(*elf, inst.at), first);
    add(access ? Mutation::wait_before_access : Mutation::wait_after_barrier, with(inst.at, both));
  }
  const auto removes = [](const Mutant& m) {
    return m.kind == Mutation::no_wait || m.kind == Mutation::no_barrier;
  };
  std::ranges::stable_partition(mutants, removes);
  return mutants;
}

std::shared_ptr<Device> make_mutated_device(Arch arch, const MutatedOptions& options,
                                            std::span<const std::byte> original,
                                            std::span<const std::byte> replacement) {
  return std::make_shared<MutatedDevice>(
      make_emulated_device(arch,
                           {.run = {.schedule = drawn_timing(options.schedule).schedule,
                                    .checks = options.checks ? gfx::every_check : gfx::Checks{},
                                    .arrival = options.arrival}}),
      original, replacement);
}

}  // namespace gfx_test
