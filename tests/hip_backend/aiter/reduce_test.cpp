// Claims about the launch of AITER's reduce: kernel, grid, LDS and arguments are those of
// mla_reduce_v1, seen by a device that only keeps what it is given.
#include "hip_backend/aiter/reduce.hpp"

#include "hip_backend/decode/decode_run.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter/recording_device.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

using namespace mla;
using namespace mla::hip;
using aiter::test::Recorded;
using aiter::test::RecordingDevice;

namespace {

struct NoStage1 final : Stage1, Stage1Maker {
  MaybeError run(StreamHandle) override { return std::nullopt; }
  MaybeError finish() override { return std::nullopt; }
  Result<std::unique_ptr<Stage1>> make(const Stage1Input&) const override {
    return std::unique_ptr<Stage1>(std::make_unique<NoStage1>());
  }
};

struct Seen {
  std::unique_ptr<hip::test::Step> step;
  std::unique_ptr<RecordingDevice> device;
  std::unique_ptr<DecodeRun> run;
  [[nodiscard]] const Recorded& launch() const { return device->launches.at(0); }
  [[nodiscard]] std::int32_t word(std::size_t offset) const {
    return static_cast<std::int32_t>(launch().at(offset));
  }
};

Seen see(const char* line, void (*change)(plan::Plan&) = nullptr) {
  Seen seen;
  std::string reason;
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  seen.step = hip::test::try_step(*spec, reason);
  INFO(reason);
  REQUIRE(seen.step != nullptr);
  if (change != nullptr) change(*seen.step->metadata.plan);
  seen.device = std::make_unique<RecordingDevice>("gfx942");
  const std::byte code[1] = {};
  auto run = DecodeRun::prepare(*seen.device, seen.step->launch(),
                                {.stage1 = NoStage1(), .reduce = aiter::AiterReduce(code)});
  if (!run) FAIL(run.error().message);
  seen.run = std::move(*run);
  REQUIRE_FALSE(seen.run->reduce({}));
  REQUIRE(seen.device->launches.size() == 1);
  return seen;
}

std::string name_of(const char* function, int heads, int groups) {
  return std::string(function) + "I23MlaReduceKernelV1TraitsILi512ELi" + std::to_string(heads) +
         "ELi" + std::to_string(groups) +
         "EEfDF16bEv23MlaReduceKernelV1Params24MlaReduceKernelV1Configs";
}

constexpr const char* kEach = "_Z16kn_mla_reduce_v1";
constexpr const char* kResident = "_Z19kn_mla_reduce_v1_ps";

}  // namespace

TEST_CASE("aiter reduce: few merges have a workgroup for each head, row group and tile") {
  const Seen seen = see("mla1:2q3s5000;cu=304");
  const plan::PlanView plan = seen.step->metadata.plan->view();
  const auto tiles = static_cast<std::uint32_t>(plan.reduce_indptr.size() - 1);
  const Recorded& l = seen.launch();
  CHECK(l.kernel == name_of(kEach, 16, 4));  // 3 rows, and room for more than 3 groups
  CHECK(l.size.grid_x == 16);
  CHECK(l.size.grid_y == 4);
  CHECK(l.size.grid_z == tiles);
  CHECK(l.size.threads == 128);
  CHECK(l.size.lds_bytes == 4 * (304 + 320 + 64));
  REQUIRE(l.arguments.size() == 88);
  CHECK(seen.word(56) == 16 * 512);
  CHECK(seen.word(60) == 512);
  CHECK(seen.word(64) == 304);
  CHECK(seen.word(68) == static_cast<std::int32_t>(tiles));
  CHECK((seen.word(72) & 0xFFFF) == 0x0101);
  CHECK(seen.word(80) == 320);
  CHECK(seen.device->memory<std::int32_t>(l.at(0), tiles + 1) ==
        std::vector<std::int32_t>(plan.reduce_indptr.begin(), plan.reduce_indptr.end()));
  CHECK(
      seen.device->memory<std::int32_t>(l.at(8), 2) ==
      std::vector<std::int32_t>(plan.reduce_final_map.begin(), plan.reduce_final_map.begin() + 2));
  CHECK(seen.device->memory<std::int32_t>(l.at(16), 2) ==
        std::vector<std::int32_t>(plan.reduce_partial_map.begin(),
                                  plan.reduce_partial_map.begin() + 2));
}

TEST_CASE("aiter reduce: many merges share workgroups that stay, sixteen a compute unit") {
  const Seen seen = see("mla1:41q1s1000;cu=3");
  const Recorded& l = seen.launch();
  CHECK(l.kernel == name_of(kResident, 16, 1));
  CHECK(l.size.grid_x == 3 * 16);
  CHECK(l.size.grid_y == 1);
  CHECK(l.size.grid_z == 1);
  CHECK(l.size.lds_bytes == 4 * (3 + 64));
}

// 1.3 times the 8 workgroups of 304 units: 3161 for 16 heads of 76 tiles, and 4864 that stay.
TEST_CASE(
    "aiter reduce: groups of rows fill the device 1.3 times, and count when workgroups stay") {
  CHECK(see("mla1:1q4s9000_75q4s20;cu=304").launch().kernel == name_of(kEach, 16, 4));
  CHECK(see("mla1:1q4s9000_76q4s20;cu=304").launch().kernel == name_of(kResident, 16, 4));
  CHECK(see("mla1:1q4s9000_99q4s20;cu=304").launch().kernel == name_of(kEach, 16, 2));
}

TEST_CASE("aiter reduce: LDS has room for a weight of every piece, by 64, by 256, or by 64 again") {
  CHECK(see("mla1:1q1s5000;cu=64").launch().size.lds_bytes == 4 * (64 + 64));
  CHECK(see("mla1:1q1s5000;cu=65").launch().size.lds_bytes == 4 * (65 + 256));
  CHECK(see("mla1:1q1s5000;cu=256").launch().size.lds_bytes == 4 * (256 + 256));
  CHECK(see("mla1:1q1s5000;cu=257").launch().size.lds_bytes == 4 * (257 + 320 + 64));
}

TEST_CASE("aiter reduce: a merge that must not run has no piece in the lists") {
  const Seen seen =
      see("mla1:2q1s600;cu=4", [](plan::Plan& plan) { plan.reduce_partial_map.set(0, -7); });
  const plan::PlanView plan = seen.step->metadata.plan->view();
  const std::int32_t pieces = plan.reduce_indptr[2] - plan.reduce_indptr[1];
  REQUIRE(plan.reduce_indptr[1] >= 2);
  REQUIRE(pieces >= 2);
  const Recorded& l = seen.launch();
  CHECK(seen.device->memory<std::int32_t>(l.at(0), 3) == std::vector<std::int32_t>{0, 0, pieces});
  const auto from = plan.reduce_partial_map.begin() + plan.reduce_indptr[1];
  CHECK(seen.device->memory<std::int32_t>(l.at(16), static_cast<std::size_t>(pieces)) ==
        std::vector<std::int32_t>(from, from + pieces));
}

TEST_CASE("aiter reduce: without a plan this project's kernel merges") {
  const Seen seen = see("mla1:1q1s5000;cu=8;planner=none");
  CHECK(seen.launch().kernel == "reduce");
}
