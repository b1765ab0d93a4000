// Claims about rows of other widths than 512 + 64 on the CPU backend.
#include <cstring>
#include <vector>

#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"
#include "tests/cpu_backend/paths.hpp"

using namespace mla;
using namespace mla::cpu::test;

namespace {

constexpr const char* kWidths[] = {
    "rope=0",                      // without a rope part
    "latent=448;value=512",        // DeepSeek-V4: the whole row is the value
    "latent=448",                  // its latent part is
    "latent=256",                  // and of a smaller model
    "latent=1;rope=0",             // the least
    "latent=7;rope=2",             // no multiple of anything
    "latent=30;rope=11;value=35",  // values that end in the rope part
    "latent=40;rope=8;value=9",    // and in the latent part
    "latent=512;rope=63",          // one less than there is room for
    "latent=33;rope=543;value=512",
};
constexpr const char* kSteps[] = {
    "mla1:1q2s70_1q1s200;heads=16;cu=4;gran=1",
    "mla1:2q4s300;heads=16;arch=gfx950;dtype=fp8/fp8;scale=0.5/3;cu=8;gran=2",
    "mla1:3q1s129;heads=5;dtype=bf16/fp8;arch=gfx950;cu=3;page=16;block=16",
    "mla1:1q1s700_1q1s0;heads=16;planner=none;splits=4",
};

}  // namespace

TEST_CASE("row widths: every path is within the bounds on every route, with split and merged rows",
          "[cpu][widths]") {
  for (const char* step_line : kSteps)
    for (const char* widths : kWidths) {
      const auto step = make_step(say(step_line, ";", widths));
      const cpu::ReferenceResult reference = step->reference();
      for (const cpu::DataPath* path : runnable_paths()) {
        INFO(step_line << ";" << widths << " on " << path->label);
        const auto result = cpu::execute(*path, step->launch(), {.threads = 1});
        REQUIRE(result.ok());
        CHECK(faults_text(*result).empty());
        CHECK(result->out.size() == reference.out.size());
        CHECK(closeness(*result, reference).within());
      }
    }
}

TEST_CASE("row widths: what lies after the last key's row in the cache changes no bit",
          "[cpu][widths]") {
  for (const char* widths : kWidths) {
    const auto step = make_step(say("mla1:1q1s3;heads=16;layout=contiguous;", widths));
    const DecodeResult before = run(*step);
    auto& bytes = step->tensors.cache.bytes;
    const std::int64_t row = step->tensors.cache.row_bytes();
    const std::int64_t live = step->batch.slot(0, 2) - step->tensors.cache.first_slot;
    std::memset(bytes.data() + (live + 1) * row, 0xFF,
                bytes.size() - static_cast<std::size_t>((live + 1) * row));
    INFO(widths);
    CHECK(same_bits(before, run(*step)));
  }
}

TEST_CASE("row widths: a cache of other widths than the shape's is refused with both",
          "[cpu][widths]") {
  const auto step = make_step("mla1:1q1s9;rope=0");
  step->tensors.cache.widths = kBuiltIn;
  const MaybeError bad = check_launch(step->launch());
  REQUIRE(bad.has_value());
  CHECK(bad->message == "the cache has rows of 512 + 64, the shape says 512 + 0");
}
