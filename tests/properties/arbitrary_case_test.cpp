// Claims about all values, drawn and shrunk by RapidCheck: rc::Arbitrary<Case>, and functions of
// the core that have to hold for whatever it draws.
#include "properties/generate/arbitrary_case.hpp"
#include "core/engine/step_hooks.hpp"

#include <rapidcheck.h>

#include <cstring>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/io/npy.hpp"
#include "core/plan/plan_check.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prop;

TEST_CASE("arbitrary case: format and parse give every case back", "[rapidcheck]") {
  CHECK(rc::check([](const Case& c) {
    const auto again = parse_case(format_case(c));
    RC_ASSERT(again.ok());
    RC_ASSERT(format_case(*again) == format_case(c));
  }));
}

TEST_CASE("arbitrary case: every regime draws cases that have a batch", "[rapidcheck]") {
  CHECK(rc::check([] {
    const Regime regime =
        *rc::gen::elementOf(std::vector<Regime>(all_regimes().begin(), all_regimes().end()));
    const Case c = *arbitrary_case(regime);
    const auto batch = make_batch(c);
    RC_ASSERT(batch.ok());
    RC_ASSERT(std::ssize(batch->requests) ==
              std::ssize(c.requests) + static_cast<std::ptrdiff_t>(c.pad_requests));
  }));
}

TEST_CASE("arbitrary case: what is planned is valid, and inside the buffers that were asked for",
          "[rapidcheck]") {
  CHECK(rc::check([](const Case& c) {
    RC_PRE(c.kind() == StepKind::decode);
    const auto batch = make_batch(c);
    RC_PRE(batch.ok());
    const DecodeMetadataBuilder builder({}, StepHooks::none());
    const auto shape = builder.shape(c, *batch);
    RC_PRE(shape.ok());
    DecodeBuffers buffers = make_decode_buffers(c, *batch, *shape);
    const auto metadata = builder.build(*batch, *shape, buffers);
    RC_PRE(metadata.ok());
    RC_PRE(metadata->plan.has_value());
    RC_ASSERT(plan::plan_check(check_input_of(*metadata)).empty());
    RC_ASSERT(metadata->plan->work_info.overruns().empty());
    RC_ASSERT(metadata->plan->reduce_indptr.overruns().empty());
    RC_ASSERT(metadata->plan->reduce_partial_map.overruns().empty());
  }));
}

TEST_CASE("arbitrary case: a false claim is shrunk to a case that no simpler one fails",
          "[rapidcheck]") {
  CHECK(rc::check([](const Case& drawn) {
    const auto fails = [](const Case& c) { return c.heads > 64; };
    RC_PRE(fails(drawn));
    rc::Shrinkable<Case> smallest = shrinkable_case(drawn);
    for (bool simpler = true; simpler;) {
      simpler = false;
      auto shrinks = smallest.shrinks();
      while (auto next = shrinks.next())
        if (fails(next->value())) {
          smallest = *next;
          simpler = true;
          break;
        }
    }
    RC_ASSERT(fails(smallest.value()));
    RC_ASSERT(smallest.value().requests.size() <= 1U);
  }));
}

TEST_CASE("npy: what is written is read back, whatever its shape and words", "[rapidcheck]") {
  CHECK(rc::check([](const std::vector<std::int32_t>& words, bool row) {
    io::RawArray array;
    array.shape = {std::ssize(words)};
    if (row) array.shape.insert(array.shape.begin(), 1);
    array.bytes.resize(4 * words.size());
    if (!words.empty()) std::memcpy(array.bytes.data(), words.data(), array.bytes.size());
    const auto again = io::read_npy(io::write_npy(array));
    RC_ASSERT(again.ok());
    RC_ASSERT(again->kind == array.kind);
    RC_ASSERT(again->width == array.width);
    RC_ASSERT(again->shape == array.shape);
    RC_ASSERT(again->bytes == array.bytes);
  }));
}
