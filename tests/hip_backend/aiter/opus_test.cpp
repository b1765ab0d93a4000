// Claims about the launch of AITER's OPUS decode: kernel, grid and arguments are those of
// mla_decode_fwd_opus_stage1, seen by a device that only keeps what it is given.
#include "hip_backend/aiter/opus.hpp"

#include <bit>
#include <set>

#include "hip_backend/decode/decode_run.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter/recording_device.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

using namespace mla;
using namespace mla::hip;
using aiter::test::RecordingDevice;

namespace {

const std::byte kCode[1] = {};

std::unique_ptr<hip::test::Step> step_of_line(const std::string& line) {
  std::string reason;
  const auto spec = parse_case(line + ";arch=gfx950");
  REQUIRE(spec.ok());
  auto step = hip::test::try_step(*spec, reason);
  INFO(reason);
  REQUIRE(step != nullptr);
  return step;
}

struct OpusSeen {
  std::unique_ptr<hip::test::Step> step;
  RecordingDevice device{"gfx950"};
  std::unique_ptr<DecodeRun> run;
  explicit OpusSeen(const std::string& line, void (*change)(plan::Plan&) = nullptr)
      : step(step_of_line(line)) {
    if (change != nullptr) change(*step->metadata.plan);
    auto made =
        DecodeRun::prepare(device, step->launch(), {.stage1 = aiter::OpusStage1Maker(kCode)});
    if (!made) FAIL(made.error().message);
    run = std::move(*made);
    REQUIRE_FALSE(run->stage1({}));
    REQUIRE(device.launches.size() == 1);
  }
  [[nodiscard]] std::uint64_t at(std::size_t offset) const { return device.launches[0].at(offset); }
  [[nodiscard]] std::int32_t word(std::size_t offset) const {
    return static_cast<std::int32_t>(at(offset));
  }
};

std::string name_of(int masks, int large) {
  return "_Z45mla_decode_fwd_16mx8_32nx1_fp8fp8_opus_kernelI32mla_16mx8_32nx1_fp8fp8_ps_traits"
         "ILi16ELi32ELi8EDB8_S1_DF16bLb" +
         std::to_string(masks) + "ELb" + std::to_string(large) + "EEEv9mla_kargs";
}

std::string refusal(const std::string& line) {
  RecordingDevice device("gfx950");
  const auto support =
      aiter::OpusStage1Maker(kCode).supports(device, step_of_line(line)->metadata.shape);
  CHECK(support.ok == support.reason.empty());
  return support.reason;
}

}  // namespace

TEST_CASE("aiter opus: one workgroup of eight waves for each slot, strides in elements") {
  OpusSeen seen("mla1:2q3s300;cu=3;dtype=fp8/fp8;scale=0.5/0.75");
  const auto& launch = seen.device.launches[0];
  CHECK(launch.kernel == name_of(1, 0));
  CHECK(launch.size.grid_x == 3);
  CHECK(launch.size.grid_y == 1);
  CHECK(launch.size.threads == 512);
  REQUIRE(launch.arguments.size() == 136);
  CHECK(seen.device.memory<float>(seen.at(8), 1) == std::vector{0.5F});
  CHECK(seen.device.memory<float>(seen.at(24), 1) == std::vector{0.75F});
  CHECK(seen.device.memory<std::int32_t>(seen.at(64), 3) == std::vector<std::int32_t>{0, 3, 6});
  CHECK(seen.device.memory<std::int32_t>(seen.at(72), 3) == std::vector<std::int32_t>{0, 300, 600});
  const plan::PlanView plan = seen.step->metadata.plan->view();
  CHECK(seen.device.memory<std::int32_t>(seen.at(88), 4) ==
        std::vector<std::int32_t>(plan.work_indptr.begin(), plan.work_indptr.end()));
  const auto works = seen.device.memory<std::int32_t>(seen.at(96), 8);
  CHECK(std::equal(works.begin(), works.end(), plan.work_info.begin()));
  // Partial outputs, their LSE, the output, its LSE: kernel rows of 16 heads each.
  const std::size_t rows = 6 * 16;
  CHECK(seen.device.memory<float>(seen.at(40), rows).size() == rows);
  CHECK(seen.device.memory<std::uint16_t>(seen.at(48), rows * 512).size() == rows * 512);
  CHECK(seen.device.memory<float>(seen.at(56), rows).size() == rows);
  CHECK(std::set{seen.at(32), seen.at(40), seen.at(48), seen.at(56)}.size() == 4);
  CHECK(seen.word(104) == 16);
  const KvCache& cache = seen.step->tensors.cache;
  CHECK(seen.word(108) == cache.first_slot + cache.slots);
  CHECK(seen.word(112) == 16 * 576);
  CHECK(seen.word(116) == 576);
  CHECK(seen.word(120) == 16 * 512);
  CHECK(seen.word(124) == 512);
  CHECK(seen.word(128) == 576);
  CHECK(seen.word(132) == std::bit_cast<std::int32_t>(seen.step->tensors.softmax_scale));
}

TEST_CASE(
    "aiter opus: it masks where there is a mask and a second row, and reads 4 GiB otherwise") {
  CHECK(OpusSeen("mla1:1q1s300;cu=1;dtype=fp8/fp8").device.launches[0].kernel == name_of(0, 0));
  CHECK(OpusSeen("mla1:1q2s300;cu=1;dtype=fp8/fp8;causal=0").device.launches[0].kernel ==
        name_of(0, 0));
  // 576 bytes a token: the descriptor's 2^32 bytes end in token 7456540.
  CHECK(OpusSeen("mla1:1q1s9;cu=1;dtype=fp8/fp8;origin=7456000").device.launches[0].kernel ==
        name_of(0, 0));
  CHECK(OpusSeen("mla1:1q1s9;cu=1;dtype=fp8/fp8;origin=7456540").device.launches[0].kernel ==
        name_of(0, 1));
}

TEST_CASE("aiter opus: a work whose pages run backwards is left out") {
  OpusSeen seen("mla1:2q1s20;cu=2;dtype=fp8/fp8", [](plan::Plan& plan) {
    plan::WorkItem item = plan.work(0);
    item.kv_end = item.kv_begin - 1;
    plan.set_work(0, item);
  });
  CHECK(seen.device.memory<std::int32_t>(seen.at(88), 3) == std::vector<std::int32_t>{0, 0, 1});
  CHECK(seen.device.memory<std::int32_t>(seen.at(96), 1) == std::vector<std::int32_t>{1});
}

TEST_CASE("aiter opus: other types, larger pages and steps without a plan are refused") {
  CHECK(refusal("mla1:1q1s9;dtype=fp8/fp8") == "");
  CHECK(refusal("mla1:1q1s9") == "AITER's OPUS kernel takes fp8 alone");
  CHECK(refusal("mla1:1q1s9;dtype=bf16/fp8") == "AITER's OPUS kernel takes fp8 alone");
  CHECK(refusal("mla1:1q1s9;dtype=fp8/fp8;page=16;block=16") ==
        "AITER's OPUS kernel takes pages of one token, not of 16");
  CHECK(refusal("mla1:1q1s9;dtype=fp8/fp8;planner=none") == "AITER's OPUS kernel needs a plan");
}
