// The barriers of stage 1: whichever is taken out of the machine code, P31 notices, because the
// emulator runs waves in many orders. On gfx942 a tile of bf16 keys has one buffer in LDS, so that
// it needs a barrier more than on gfx950. The prefill kernels have their barriers several times,
// for paths of which a case takes one: there all are taken out at once.
#include <algorithm>
#include <cstring>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/changed_code_device.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;

namespace {

constexpr std::uint32_t kBarrier = 0xBF8A0000;  // s_barrier
constexpr std::uint64_t kSeeds = 24;            // of the data, from which P31 draws schedules
constexpr std::uint32_t kNop = 0xBF800000;      // s_nop 0

// How the waves of a kernel work together (wave_decode.hpp).
enum class Keys { own, two_buffers, one_buffer };

struct Kernel {
  Arch arch = Arch::gfx942;
  const char* name = "";
  const char* persistent = "";  // a case that leads to it, with several tiles and works on a slot
  const char* split = "";       // the same on the split route
  Keys keys = Keys::own;
  const char* unit = "decode";
};

const Kernel kKernels[] = {
    {Arch::gfx942, "decode_bf16_bf16_r16", "mla1:2q1s130;cu=1", "mla1:2q1s130;cu=1;planner=none",
     Keys::own},
    {Arch::gfx942, "decode_bf16_bf16_r64", "mla1:2q4s130;cu=1", "mla1:2q4s130;cu=1;planner=none",
     Keys::one_buffer},
    {Arch::gfx942, "decode_fp8_fp8_r64", "mla1:2q2s130;cu=1;dtype=fp8/fp8",
     "mla1:2q2s130;cu=1;dtype=fp8/fp8;planner=none", Keys::two_buffers},
    {Arch::gfx950, "decode_bf16_bf16_r64", "mla1:2q2s130;cu=1;arch=gfx950",
     "mla1:2q1s130;heads=32;cu=1;planner=none;arch=gfx950", Keys::two_buffers},
    {Arch::gfx950, "decode_bf16_bf16_r128", "mla1:2q1s130;heads=128;cu=1;arch=gfx950",
     "mla1:2q1s130;heads=128;cu=1;planner=none;arch=gfx950", Keys::two_buffers},
    {Arch::gfx950, "decode_fp8_fp8_r16", "mla1:2q1s130;cu=1;arch=gfx950;dtype=fp8/fp8",
     "mla1:2q1s130;cu=1;arch=gfx950;dtype=fp8/fp8;planner=none", Keys::own},
};

// In the order of the code. Waves with keys of their own merge at the end: a barrier when maxima
// and sums are there, then two for each quarter of the columns. Shared keys: one before the first
// tile, one when a tile is in LDS, two around the cleaning of a tile that not all rows see whole
// and, with one buffer, one at the end of a tile (the third of the code), which makes the first one
// needless. Cleaning changes nothing that a row sees unless there are NaN or infinities.
int expected_barriers(const Kernel& kernel) {
  return kernel.keys == Keys::own ? 9 : kernel.keys == Keys::two_buffers ? 4 : 5;
}
std::vector<int> expected_unnoticed(const Kernel& kernel) {
  if (kernel.keys == Keys::own) return {};
  return kernel.keys == Keys::two_buffers ? std::vector<int>{2, 3} : std::vector<int>{0, 3, 4};
}

const Kernel kPrefillKernels[] = {
    {Arch::gfx942, "prefill_bf16", "mla1:1q70s70;heads=1;kind=prefill",
     "mla1:1q1s200;heads=1;block=16;kind=prefill", Keys::two_buffers, "prefill"},
    {Arch::gfx950, "prefill_bf16", "mla1:1q70s70;heads=1;arch=gfx950;kind=prefill",
     "mla1:1q1s200;heads=1;block=16;arch=gfx950;kind=prefill", Keys::two_buffers, "prefill"},
    {Arch::gfx950, "prefill_fp8", "mla1:1q70s70;heads=1;dtype=bf16/fp8;arch=gfx950;kind=prefill",
     "mla1:1q40s100;heads=1;dtype=bf16/fp8;arch=gfx950;kind=prefill", Keys::two_buffers, "prefill"},
};

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// Offsets in the file of the barriers of one kernel. The file holds the instructions in the order
// of the image, so that the n-th barrier of one is that of the other.
std::vector<std::size_t> barriers_of(const Kernel& kernel) {
  const std::span<const std::byte> bytes = hip::code_object(name(kernel.arch), kernel.unit);
  std::vector<std::size_t> in_file;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4)
    if (word_at(bytes, at) == kBarrier) in_file.push_back(at);
  const auto object = gfx::load_code_object(bytes, {});
  REQUIRE(object.ok());
  const auto symbol =
      std::find_if(object->symbols().begin(), object->symbols().end(),
                   [&](const gfx::Symbol& s) { return s.function && s.name == kernel.name; });
  REQUIRE(symbol != object->symbols().end());
  std::vector<std::size_t> out;
  std::size_t n = 0;
  for (const gfx::Inst& inst : object->instructions()) {
    if (inst.kind != gfx::Class::barrier) continue;
    REQUIRE(n < in_file.size());
    if (inst.at >= symbol->offset && inst.at < symbol->offset + symbol->size)
      out.push_back(in_file[n]);
    ++n;
  }
  REQUIRE(n == in_file.size());
  return out;
}

prop::Outcome p31(const Backend& backend, const char* line, std::uint64_t data_seed) {
  auto c = parse_case(line);
  REQUIRE(c.ok());
  c->data.seed = data_seed;  // P31 draws its schedules from it
  prop::Subject subject(*c, backend, nullptr);
  return prop::find_property("P31")->check(subject);
}

bool noticed(const Kernel& kernel, const std::vector<std::size_t>& barriers) {
  const auto device = std::make_shared<hip::test::ChangedCodeDevice>(
      hip::make_emulated_device(kernel.arch, {}), kernel.unit, [&](std::span<std::byte> code) {
        for (const std::size_t at : barriers) std::memcpy(code.data() + at, &kNop, sizeof kNop);
      });
  const auto backend = hip::make_hip_backend(device, {});
  for (const char* line : {kernel.persistent, kernel.split})
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      if (p31(*backend, line, seed).verdict == prop::Verdict::fail) return true;
  return false;
}

}  // namespace

TEST_CASE("kernels: P31 notices each barrier taken out of stage 1, but those that order nothing",
          "[hip][emulated][P31]") {
  for (const Kernel& kernel : kKernels) {
    INFO(name(kernel.arch) << " " << kernel.name);
    if (!hip::test::has_code(kernel.arch, kernel.unit)) continue;
    const std::vector<std::size_t> barriers = barriers_of(kernel);
    std::vector<int> unnoticed;
    for (std::size_t n = 0; n < barriers.size(); ++n)
      if (!noticed(kernel, {barriers[n]})) unnoticed.push_back(static_cast<int>(n));
    CHECK(std::ssize(barriers) == expected_barriers(kernel));
    CHECK(unnoticed == expected_unnoticed(kernel));
  }
}

TEST_CASE("kernels: P31 notices a prefill without barriers", "[hip][emulated][P31]") {
  for (const Kernel& kernel : kPrefillKernels) {
    INFO(name(kernel.arch) << " " << kernel.name);
    if (!hip::test::has_code(kernel.arch, kernel.unit)) continue;
    const std::vector<std::size_t> barriers = barriers_of(kernel);
    CHECK(barriers.size() > 4);
    CHECK(noticed(kernel, barriers));
  }
}

TEST_CASE("kernels: with all their barriers P31 holds", "[hip][emulated][P31]") {
  std::vector<Kernel> kernels(std::begin(kKernels), std::end(kKernels));
  kernels.insert(kernels.end(), std::begin(kPrefillKernels), std::end(kPrefillKernels));
  for (const Kernel& kernel : kernels) {
    INFO(name(kernel.arch) << " " << kernel.name);
    if (!hip::test::has_code(kernel.arch, kernel.unit)) continue;
    const auto backend = hip::make_hip_backend(hip::make_emulated_device(kernel.arch, {}), {});
    for (const char* line : {kernel.persistent, kernel.split})
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const prop::Outcome outcome = p31(*backend, line, seed);
        INFO(line << " " << outcome.message);
        CHECK(outcome.verdict == prop::Verdict::pass);
      }
  }
}
