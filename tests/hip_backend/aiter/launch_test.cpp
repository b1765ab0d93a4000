// Claims about launches: byte for byte what AITER's wrapper hands to its kernels, seen by a device
// that only keeps what it is given.
#include <bit>

#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/aiter/kernargs.hpp"
#include "hip_backend/aiter/stage1.hpp"
#include "hip_backend/decode/decode_run.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter/recording_device.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;
using namespace mla::hip;
using namespace mla::hip::aiter;
using aiter::test::Recorded;
using aiter::test::RecordingDevice;

namespace {

const char* const kLaunchManifest =
    "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,cprr,knl_name,co_name\n"
    "bf16,bf16,16,1,4,0,1,0,0,with_plan,a.co\n"
    "bf16,bf16,16,0,1,0,1,0,0,one_row,a.co\n"
    "bf16,bf16,16,0,4,0,1,0,0,four_rows,a.co\n"
    "fp8,fp8,64,1,1,0,1,1,0,returns_lse,a.co\n"
    "bf16,fp8,16,1,4,0,1,0,0,mixed,a.co\n";

// What stage 1 of the line launches, and the device that it was launched on.
struct Seen {
  std::unique_ptr<hip::test::Step> step;
  std::unique_ptr<RecordingDevice> device;
  std::unique_ptr<DecodeRun> run;
  [[nodiscard]] const Recorded& launch(std::size_t i) const { return device->launches.at(i); }
};

using Change = void (*)(plan::Plan&);

Seen see_with(const char* line, AiterOptions options, Change change = nullptr) {
  Seen seen;
  std::string reason;
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  seen.step = hip::test::try_step(*spec, reason);
  INFO(reason);
  REQUIRE(seen.step != nullptr);
  if (change != nullptr) change(*seen.step->metadata.plan);
  seen.device = std::make_unique<RecordingDevice>("gfx942");
  const auto installation = Installation::of(
      {{Arch::gfx942, *parse_manifest(kLaunchManifest, "m")}}, {{"a.co", {std::byte{1}}}});
  static std::vector<std::unique_ptr<Stage1Maker>> makers;  // a run refers to its maker's options
  makers.push_back(make_aiter_stage1(installation, std::move(options)));
  auto run = DecodeRun::prepare(*seen.device, seen.step->launch(), {.stage1 = *makers.back()});
  if (!run) FAIL(run.error().message);
  seen.run = std::move(*run);
  REQUIRE_FALSE(seen.run->stage1({}));
  DecodeResult result;
  REQUIRE_FALSE(seen.run->read_stage1(result));
  return seen;
}

Seen see(const char* line) {
  return see_with(line, {});
}

}  // namespace

TEST_CASE("aiter launch: with a plan, one workgroup for each slot, and its works") {
  const Seen seen = see("mla1:2q3s300;cu=3");
  const plan::Plan& plan = *seen.step->metadata.plan;
  const Recorded& l = seen.launch(0);
  CHECK(l.kernel == "with_plan");
  CHECK(l.size.grid_x == 3);
  CHECK(l.size.grid_y == 1);
  CHECK(l.size.grid_z == 1);
  CHECK(l.size.threads == 256);
  REQUIRE(l.arguments.size() == 0x170);
  const float scale = seen.step->tensors.softmax_scale;
  CHECK(static_cast<std::uint32_t>(l.at(0x70)) == std::bit_cast<std::uint32_t>(scale));
  CHECK(l.at(0x80) == 48);  // 16 heads, 3 rows
  CHECK(l.at(0x90) == 1);   // the plan has the splits
  CHECK(l.at(0xA0) == 3 * 16 * 576 * 2);
  CHECK(l.at(0xB0) == 576 * 2);
  CHECK(l.at(0xC0) == 0);
  CHECK(l.at(0x100) == 0);
  CHECK(l.at(0x110) == 0);
  CHECK(l.at(0x120) == 1);
  CHECK(l.at(0x130) == 0);  // this kernel returns no LSE
  CHECK(l.at(0x140) == 0);
  CHECK(l.at(0x150) == 1);
  CHECK(l.at(0x160) == 0);
  const auto meta = seen.device->memory<std::uint64_t>(l.at(0xE0), 2);
  REQUIRE(meta.size() == 2);
  const auto indptr = seen.device->memory<std::int32_t>(meta[0], 4);
  CHECK(indptr == std::vector<std::int32_t>(plan.work_indptr.data().begin(),
                                            plan.work_indptr.data().begin() + 4));
  const auto words = static_cast<std::size_t>(plan.works() * 8);
  const auto works = seen.device->memory<std::int32_t>(meta[1], words);
  CHECK(std::equal(works.begin(), works.end(), plan.work_info.data().begin()));
  CHECK(seen.device->memory<std::int32_t>(l.at(0x40), 3) == std::vector<std::int32_t>{0, 300, 600});
  CHECK(seen.device->memory<std::int32_t>(l.at(0xD0), 3) == std::vector<std::int32_t>{0, 3, 6});
  CHECK(seen.device->memory<std::int32_t>(l.at(0x60), 2) == std::vector<std::int32_t>{1, 1});
}

TEST_CASE("aiter launch: a work whose pages run backwards is left out") {
  const Seen seen = see_with("mla1:2q1s20;cu=2", {}, [](plan::Plan& plan) {
    plan::WorkItem item = plan.work(0);
    item.kv_end = item.kv_begin - 1;
    plan.set_work(0, item);
  });
  const auto meta = seen.device->memory<std::uint64_t>(seen.launch(0).at(0xE0), 2);
  const auto indptr = seen.device->memory<std::int32_t>(meta[0], 3);
  CHECK(indptr == std::vector<std::int32_t>{0, 0, 1});
  const auto work = seen.device->memory<std::int32_t>(meta[1], 8);
  CHECK(work[0] == 1);
}

TEST_CASE("aiter launch: direct works are asked again, as partial ones, for their LSE") {
  const Seen seen = see("mla1:1q1s20_1q1s400;cu=2");
  REQUIRE(seen.device->launches.size() == 2);
  const Recorded& again = seen.launch(1);
  CHECK(again.at(0xE0) != seen.launch(0).at(0xE0));
  CHECK(again.at(0x00) != seen.launch(0).at(0x00));
  CHECK(again.at(0x10) != seen.launch(0).at(0x10));
  const auto meta = seen.device->memory<std::uint64_t>(again.at(0xE0), 2);
  const auto indptr = seen.device->memory<std::int32_t>(meta[0], 3);
  CHECK(indptr == std::vector<std::int32_t>{0, 1, 1});  // request 0 alone is whole
  const auto work = seen.device->memory<std::int32_t>(meta[1], 8);
  CHECK(work == std::vector<std::int32_t>{0, 0, 0, 1, 0, 20, 0, 0});
}

TEST_CASE("aiter launch: a kernel that returns the LSE is given its place, and is asked once") {
  const Seen seen = see("mla1:2q1s20;heads=64;dtype=fp8/fp8;scale=0.5/0.25;lse=1;cu=2");
  REQUIRE(seen.device->launches.size() == 1);
  const Recorded& l = seen.launch(0);
  CHECK(l.kernel == "returns_lse");
  CHECK(l.at(0x130) != 0);
  CHECK(seen.device->memory<float>(l.at(0x100), 1) == std::vector<float>{0.5F});
  CHECK(seen.device->memory<float>(l.at(0x110), 1) == std::vector<float>{0.25F});
  CHECK(l.at(0xB0) == 576);
}

TEST_CASE("aiter launch: a bf16 query with an fp8 cache has one scale") {
  const Seen seen = see("mla1:1q1s20;dtype=bf16/fp8;scale=1/0.25;cu=2");
  CHECK(seen.launch(0).at(0x100) == 0);
  CHECK(seen.device->memory<float>(seen.launch(0).at(0x110), 1) == std::vector<float>{0.25F});
  CHECK(seen.launch(0).at(0xA0) == 16 * 576 * 2);
  CHECK(seen.launch(0).at(0xB0) == 576);
}

TEST_CASE("aiter launch: without a plan, blocks of rows by requests by splits") {
  const Seen seen = see("mla1:3q4s900;planner=none");
  const std::int64_t splits = seen.step->metadata.shape.kv_splits;
  REQUIRE(splits > 1);
  const Recorded& l = seen.launch(0);
  CHECK(l.kernel == "four_rows");
  CHECK(l.size.grid_x == 1);
  CHECK(l.size.grid_y == 3);
  CHECK(l.size.grid_z == splits);
  CHECK(l.at(0x80) == 64);
  CHECK(static_cast<std::int64_t>(l.at(0x90)) == splits);
  CHECK(l.at(0x120) == 0);
  CHECK(l.at(0xF0) == 0);
  const auto s = static_cast<std::int32_t>(splits);
  CHECK(seen.device->memory<std::int32_t>(l.at(0xE0), 4) ==
        std::vector<std::int32_t>{0, s, 2 * s, 3 * s});
  CHECK(seen.device->launches.size() == 1);
}

TEST_CASE("aiter launch: one split writes bf16, and its LSE comes from two") {
  const Seen seen = see("mla1:1q4s20;planner=none;cu=1");
  REQUIRE(seen.step->metadata.shape.kv_splits == 1);
  REQUIRE(seen.device->launches.size() == 2);
  CHECK(seen.launch(0).at(0x120) == 1);
  CHECK(seen.launch(1).at(0x120) == 0);
  CHECK(seen.launch(1).at(0x90) == 2);
  CHECK(seen.launch(1).size.grid_z == 2);
  CHECK(seen.device->memory<std::int32_t>(seen.launch(1).at(0xE0), 2) ==
        std::vector<std::int32_t>{0, 2});
  CHECK(seen.launch(0).at(0x00) != seen.launch(1).at(0x00));
}

TEST_CASE("aiter launch: one split of one bf16 row of 16 heads stays f32") {
  const Seen seen = see("mla1:1q1s20;planner=none;cu=1");
  REQUIRE(seen.step->metadata.shape.kv_splits == 1);
  CHECK(seen.device->launches.size() == 1);
  CHECK(seen.launch(0).kernel == "one_row");
  CHECK(seen.launch(0).at(0x120) == 1);
}

TEST_CASE("aiter launch: page 0 lies before a cache that is a window") {
  const Seen seen = see("mla1:1q1s20;origin=1000;cu=2");
  const KvCache& cache = seen.step->tensors.cache;
  REQUIRE(cache.first_slot > 0);
  const Address first = seen.launch(0).at(0x30) + static_cast<Address>(cache.first_slot * 1152);
  const auto row = seen.device->memory<std::byte>(first, 1152);
  REQUIRE(row.size() == 1152);
  CHECK(std::equal(row.begin(), row.end(), cache.bytes.begin()));
}

TEST_CASE(
    "aiter launch: a packed cache stands in for the launch's, in pages of 656 bytes a token") {
  AiterOptions options;
  options.row = (*parse_manifest(kLaunchManifest, "m")).front();
  options.packed_cache.assign(std::size_t{2 * 64 * 656}, std::byte{7});
  options.packed_cache.front() = std::byte{9};
  const Seen seen = see_with("mla1:1q1s100;page=64;block=64;cu=2", options);
  REQUIRE(seen.device->launches.size() == 2);
  for (const std::size_t i : {0U, 1U}) {
    const Recorded& l = seen.launch(i);
    CHECK(l.at(0xB0) == 64 * 656);
    CHECK(l.at(0xC0) == 6);
    CHECK(l.at(0x110) == 0);
    CHECK(seen.device->memory<std::byte>(l.at(0x30), 2 * 64 * 656) == options.packed_cache);
  }
}

TEST_CASE("aiter launch: a backend launches under the timing that it is asked for") {
  if (!hip::test::has_code(Arch::gfx942, "reduce")) return;
  std::string reason;
  const auto step = hip::test::try_step(*parse_case("mla1:1q1s300;cu=3"), reason);
  INFO(reason);
  REQUIRE(step != nullptr);
  const auto device = std::make_shared<RecordingDevice>("gfx942");
  const auto backend =
      make_aiter_backend(device,
                         Installation::of({{Arch::gfx942, *parse_manifest(kLaunchManifest, "m")}},
                                          {{"a.co", {std::byte{1}}}}),
                         {});
  for (const std::uint64_t seed : {7U, 0U}) {
    device->launches.clear();
    const auto result =
        backend->run(step->launch(), {.schedule_seed = 5, .timing_seed = seed, .checked = true});
    INFO((result ? "" : result.error().message));
    REQUIRE(device->launches.size() == 2);  // stage 1 and the reduce
    for (const Recorded& l : device->launches) {
      CHECK(l.timing.seed == seed);
      CHECK(l.timing.checked);
    }
  }
}

TEST_CASE("aiter launch: prefill arguments lie in slots of sixteen bytes") {
  PrefillKernargs k;
  k.out = 3;
  k.softmax_scale = 0.5F;
  k.used_pages = 9;
  const auto* bytes = reinterpret_cast<const std::byte*>(&k);
  std::uint64_t out = 0;
  std::memcpy(&out, bytes + 0x30, 8);
  CHECK(out == 3);
  float scale = 0;
  std::memcpy(&scale, bytes + 0xE0, 4);
  CHECK(scale == 0.5F);
  std::uint32_t pages = 0;
  std::memcpy(&pages, bytes + 0x120, 4);
  CHECK(pages == 9);
}
