#include "mutants.hpp"

#include <cstring>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

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

class MutatedDevice final : public Device {
 public:
  MutatedDevice(std::unique_ptr<Device> device, std::span<const std::byte> original,
                std::span<const std::byte> replacement)
      : device_(std::move(device)), original_(original), replacement_(replacement) {}

  [[nodiscard]] const DeviceProperties& properties() const override {
    return device_->properties();
  }
  Result<Address> allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  void release(Address address) override { device_->release(address); }
  Status copy_in(Address to, std::span<const std::byte> from) override {
    return device_->copy_in(to, from);
  }
  Status copy_out(Address from, std::span<std::byte> to) override {
    return device_->copy_out(from, to);
  }
  Status fill(Address to, std::uint32_t word, std::int64_t words) override {
    return device_->fill(to, word, words);
  }
  Status copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) override {
    return device_->copy_on(stream, to, from, bytes);
  }
  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    return device_->find_kernel(code.data() == original_.data() ? replacement_ : code, name);
  }
  Status launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                std::span<const std::byte> arguments) override {
    return device_->launch(stream, kernel, size, arguments);
  }
  Result<StreamHandle> make_stream() override { return device_->make_stream(); }
  void release(StreamHandle stream) override { device_->release(stream); }
  Status synchronize(StreamHandle stream) override { return device_->synchronize(stream); }
  Result<EventHandle> make_event() override { return device_->make_event(); }
  void release(EventHandle event) override { device_->release(event); }
  Status record(StreamHandle stream, EventHandle event) override {
    return device_->record(stream, event);
  }
  Result<double> elapsed_ms(EventHandle from, EventHandle to) override {
    return device_->elapsed_ms(from, to);
  }
  Status begin_capture(StreamHandle stream) override { return device_->begin_capture(stream); }
  Result<GraphHandle> end_capture(StreamHandle stream) override {
    return device_->end_capture(stream);
  }
  Status replay(StreamHandle stream, GraphHandle graph) override {
    return device_->replay(stream, graph);
  }
  void release(GraphHandle graph) override { device_->release(graph); }
  Status recover() override { return device_->recover(); }

 private:
  std::unique_ptr<Device> device_;
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
                           {.run = {.schedule = drawn_schedule(options.schedule),
                                    .checks = options.checks ? gfx::every_check : gfx::Checks{},
                                    .arrival = options.arrival}}),
      original, replacement);
}

}  // namespace gfx_test
