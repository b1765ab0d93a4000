// Claims about prefill with a plan by AITER's kernel: which installations have it, and that each
// row gets the LSE that the kernel gives to that row. The kernel is played by a device.
#include <bit>

#include "core/engine/prefill/kernels.hpp"
#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter/planned_prefill.hpp"
#include "tests/hip_backend/aiter/recording_device.hpp"

using namespace mla;
using namespace mla::hip;
using namespace mla::hip::aiter;
using aiter::test::PlannedPrefill;
using aiter::test::RecordingDevice;

namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kSlab = 256;
const std::string kPrefillHeader =
    "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,cprr,knl_name,co_name\n";
const std::string kCausal = "fp8,fp8,1,1,0,1,1,0,0,attend,a.co\n";
const std::string kFull = "fp8,fp8,1,1,0,1,0,0,0,attend,b.co\n";

std::shared_ptr<Installation> installation(Arch arch, const std::string& rows,
                                           std::map<std::string, std::vector<std::byte>> files = {
                                               {"a.co", {std::byte{1}}},
                                               {"b.co", {std::byte{1}}}}) {
  return Installation::of({{arch, *parse_manifest(kPrefillHeader + rows, "m")}}, files);
}

float lse_of(std::int64_t row, std::int64_t head) {
  return static_cast<float>(100 * row + head);
}

// Writes the LSE of partial works, and nothing into a work that is none. Like AITER's it fills the
// slab of a work, here with the row's number after those that exist.
class PlayedKernel final : public RecordingDevice {
 public:
  explicit PlayedKernel(std::int64_t works) : RecordingDevice("gfx950"), works_(works) {}
  std::vector<std::int32_t> last_works;

  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override {
    if (MaybeError bad = RecordingDevice::launch(stream, kernel, size, arguments)) return bad;
    const auto& seen = launches.back();
    if (seen.kernel != "attend") return std::nullopt;
    CHECK(size.threads == 512);
    last_works = memory<std::int32_t>(seen.at(0x70), static_cast<std::size_t>(8 * works_));
    REQUIRE(std::ssize(last_works) == 8 * works_);
    for (std::int64_t w = 0; w < works_; ++w)
      if (MaybeError bad = attend(&last_works[static_cast<std::size_t>(8 * w)], seen.at(0x50)))
        return bad;
    return std::nullopt;
  }

 private:
  MaybeError attend(const std::int32_t* work, Address lse) {
    const std::int64_t head = work[7] & 0xFFFF;
    for (std::int64_t i = 0; i < kSlab && work[1] >= 0; ++i) {
      const float value = lse_of(work[2] + i, head);
      const Address to = lse + static_cast<Address>(4 * ((work[1] + i) * kHeads + head));
      if (MaybeError bad = copy_in(to, std::as_bytes(std::span(&value, 1)))) return bad;
    }
    return std::nullopt;
  }
  std::int64_t works_;
};

std::unique_ptr<PlannedPrefill> planned(const std::vector<std::int64_t>& rows, std::int64_t units) {
  Case spec;
  for (const std::int64_t n : rows) spec.requests.push_back({n, n});
  spec.heads = kHeads;
  spec.arch = Arch::gfx950;
  spec.step = PrefillSpec{};
  std::string reason;
  auto step = PlannedPrefill::make(spec, units, true, reason);
  INFO(reason);
  REQUIRE(step != nullptr);
  return step;
}

}  // namespace

TEST_CASE("aiter prefill: rows that a work writes directly get the LSE of a second launch") {
  const auto step = planned({300, 40, 70}, 6);
  const plan::Plan& plan = step->planned();
  PlayedKernel device(plan.works());
  const auto from = installation(Arch::gfx950, kCausal + kFull);
  const auto result = prefill_with_plan(device, *from, step->input(plan));
  if (!result) FAIL(result.error().message);
  CHECK(result->launches.of("aiter", "recording", StepKind::prefill) == 2);
  std::int64_t direct = 0;
  for (std::int64_t w = 0; w < plan.works(); ++w) {
    const plan::WorkItem work = plan.work(w);
    if (work.partial_row >= 0) {
      CHECK(device.last_works[static_cast<std::size_t>(8 * w + 1)] == work.partial_row);
      continue;
    }
    const std::int64_t head = work.first_head();
    for (std::int64_t row = work.q_begin; row < work.q_end; ++row, ++direct)
      CHECK(result->lse[static_cast<std::size_t>(row * kHeads + head)] == lse_of(row, head));
  }
  CHECK(direct > 0);
  CHECK(direct < 410 * kHeads);
}

TEST_CASE("aiter prefill: without a wish for the LSE there is one launch and no LSE") {
  const auto step = planned({40}, 6);
  PlayedKernel device(step->planned().works());
  const auto from = installation(Arch::gfx950, kCausal + kFull);
  PrefillInput input = step->input(step->planned());
  input.direct_lse = false;
  const auto result = prefill_with_plan(device, *from, input);
  if (!result) FAIL(result.error().message);
  CHECK(device.launches.size() == 2);  // the kernel and the reduce
  CHECK(std::bit_cast<std::uint32_t>(result->lse[0]) == kPoisonF32);
}

TEST_CASE("aiter prefill: a plan whose works are all partial is launched once") {
  const auto step = planned({256}, 4);
  PlayedKernel device(step->planned().works());
  for (std::int64_t w = 0; w < step->planned().works(); ++w)
    REQUIRE(step->planned().work(w).partial_row >= 0);
  const auto from = installation(Arch::gfx950, kCausal + kFull);
  const auto result = prefill_with_plan(device, *from, step->input(step->planned()));
  if (!result) FAIL(result.error().message);
  CHECK(result->launches.of("aiter", "recording", StepKind::prefill) == 1);
}

TEST_CASE("aiter backend: prefill steps exist where both kernels do, on gfx950") {
  const auto has = [](Arch arch, const std::shared_ptr<Installation>& from) {
    const auto device = std::make_shared<RecordingDevice>(std::string(name(arch)));
    const auto backend = make_aiter_backend(device, from, {});
    const bool kernels = backend->prefill_kernels() != nullptr;
    CHECK(backend->device(StepKind::prefill) == (kernels ? "recording" : ""));
    CHECK(backend->device(StepKind::fa).empty());
    if (kernels) CHECK_FALSE(backend->prefill_kernels()->flash);
    return kernels;
  };
  CHECK(has(Arch::gfx950, installation(Arch::gfx950, kCausal + kFull)));
  CHECK_FALSE(has(Arch::gfx942, installation(Arch::gfx942, kCausal + kFull)));
  CHECK_FALSE(has(Arch::gfx950, installation(Arch::gfx942, kCausal + kFull)));
  CHECK_FALSE(has(Arch::gfx950, installation(Arch::gfx950, kCausal)));
  CHECK_FALSE(has(Arch::gfx950, installation(Arch::gfx950, kFull)));
  CHECK_FALSE(
      has(Arch::gfx950, installation(Arch::gfx950, kCausal + kFull, {{"a.co", {std::byte{1}}}})));
}
