#include "mutants.hpp"

#include <cstring>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
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
  for (const gfx::Inst& inst : object->instructions()) {
    const bool barrier = inst.kind == gfx::Class::barrier, wait = inst.kind == gfx::Class::wait;
    std::string place = object->place(inst.at);
    if ((!barrier && !wait) || !place.starts_with(kernel + "+")) continue;
    const auto with = [&](std::uint32_t word) {
      std::vector<std::byte> bytes(code.begin(), code.end());
      std::memcpy(bytes.data() + in_file(*elf, inst.at), &word, sizeof word);
      return bytes;
    };
    mutants.push_back({.barrier = barrier,
                       .place = std::move(place),
                       .bytes = with(barrier ? no_operation : wait_for_nothing),
                       .trapped = with(abort_trap)});
  }
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
