// Target about machine code from outside: any bytes are refused in words, or load, print and run
// without touching memory that was not registered.
#include <algorithm>
#include <array>
#include <bit>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::prop::fuzz {
namespace {

constexpr std::size_t kFence = 4096, kBuffer = 8192, kKernels = 2;
constexpr std::byte kUntouched{0x5a};

// Three buffers with memory around them that nothing may change; the last is read-only.
struct Buffers {
  std::vector<std::byte> bytes = std::vector<std::byte>(4 * kFence + 3 * kBuffer, kUntouched);
  gfx::Memory memory;

  [[nodiscard]] std::span<std::byte> buffer(std::size_t n) {
    return std::span(bytes).subspan(kFence + n * (kFence + kBuffer), kBuffer);
  }
  [[nodiscard]] bool registered() {
    return !memory.add(buffer(0), "first", gfx::Rights::read_write) &&
           !memory.add(buffer(1), "second", gfx::Rights::read_write) &&
           !memory.add_read_only(buffer(2), "third");
  }
  [[nodiscard]] bool kept() const {
    const auto same = [&](std::size_t from, std::size_t size) {
      const auto part = std::span(bytes).subspan(from, size);
      return std::all_of(part.begin(), part.end(), [](std::byte b) { return b == kUntouched; });
    };
    return same(0, kFence) && same(kFence + kBuffer, kFence) &&
           same(2 * (kFence + kBuffer), 2 * kFence + kBuffer);
  }
};

// The last byte chooses how it runs: which text of the host, the checks, the order of the waves.
gfx::RunOptions options_of(std::uint8_t choice) {
  gfx::RunOptions options;
  options.threads = 1;
  options.instruction_limit = 600;
  options.fault_limit = 4;
  const bool checks = (choice & 2) != 0;
  options.checks = {.waits = checks,
                    .lds_races = checks,
                    .uninitialised = checks,
                    .barriers = true,
                    .bank_conflicts = checks};
  options.schedule.order = static_cast<gfx::Order>((choice >> 2) % 3);
  options.schedule.slice = choice >> 4;
  return options;
}

std::vector<std::byte> arguments_of(Buffers& buffers) {
  std::vector<std::byte> out;
  for (std::size_t n = 0; n < 24; ++n) {
    const auto address = std::bit_cast<std::array<std::byte, 8>>(buffers.buffer(n % 3).data());
    out.insert(out.end(), address.begin(), address.end());
  }
  return out;
}

std::optional<std::string> run_kernel(const gfx::CodeObject& object, const std::string& kernel,
                                      std::uint8_t choice) {
  Buffers buffers;
  if (!buffers.registered()) return "the buffers are not taken";
  const auto arguments = arguments_of(buffers);
  const gfx::LaunchRequest request = {.kernel = kernel,
                                      .grid = {2, 1, 1},
                                      .block = {96, 1, 1},
                                      .kernarg = arguments,
                                      .dynamic_lds = 256,
                                      .options = options_of(choice)};
  const auto report = gfx::run(object, request, buffers.memory);
  if (!report) {
    if (report.error().message.empty()) return "the launch is refused without a reason";
    return std::nullopt;
  }
  if (!buffers.kept()) return "memory that no range allows was written";
  for (const auto* events : {&report->faults, &report->findings})
    for (const gfx::Event& event : *events)
      if (event.text.empty() || event.line().empty()) return "an event without words";
  return std::nullopt;
}

std::optional<std::string> violation(Bytes bytes) {
  const std::uint8_t choice = bytes.empty() ? std::uint8_t{0} : bytes.back();
  const auto path = (choice & 1) != 0 ? gfx::HostPath::portable : gfx::best_host_path();
  const auto object = gfx::load_code_object(std::as_bytes(bytes),
                                            {.path = path, .image_limit = std::size_t{1} << 20});
  if (!object) {
    if (object.error().message.empty()) return "the bytes are refused without a reason";
    return std::nullopt;
  }
  for (const gfx::Inst& inst : object->instructions())
    if (gfx::disassemble(object->operations(), inst).empty()) return "an instruction has no text";
  const auto kernels = object->kernels();
  for (const auto& kernel : kernels.first(std::min(kKernels, kernels.size())))
    if (auto what = run_kernel(*object, kernel.name, choice)) return what;
  return std::nullopt;
}

}  // namespace

std::optional<Finding> fuzz_code_object(Bytes bytes) {
  if (auto what = violation(bytes))
    return Finding{say("an ELF file of ", bytes.size(), " bytes"), *what};
  return std::nullopt;
}

}  // namespace mla::prop::fuzz
