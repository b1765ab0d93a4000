// Memory runs out at every place: whatever allocation fails, the caller sees std::bad_alloc, and
// nothing that was taken before is lost. The core does not catch it: the command says what happened
// and exits with 3.
#include <cstdlib>
#include <functional>
#include <new>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/plan/plan_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "tests/catch.hpp"

namespace {

// Counts what the code under test holds, and fails the allocation that is due.
struct Account {
  bool open = false;
  long until_failure = -1;  // allocations that still succeed; negative: all do
  long live = 0;
};
Account account;

void* take(std::size_t bytes) {
  if (account.open) {
    if (account.until_failure == 0) throw std::bad_alloc();
    if (account.until_failure > 0) --account.until_failure;
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (account.open) ++account.live;
  return memory;
}

void give(void* memory) {
  if (memory == nullptr) return;
  if (account.open) --account.live;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return take(bytes);
}
void* operator new[](std::size_t bytes) {
  return take(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
  return operator new(bytes, tag);
}
void operator delete(void* memory) noexcept {
  give(memory);
}
void operator delete[](void* memory) noexcept {
  give(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give(memory);
}

using namespace mla;

namespace {

// Runs `work` once for every allocation that it makes, failing that one. How many there were.
long fail_each(const std::function<void()>& work) {
  for (long n = 0; n < 100000; ++n) {
    bool failed = false;
    account = {.open = true, .until_failure = n, .live = 0};
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const long live = account.live;
    account.open = false;
    INFO("allocation " << n);
    REQUIRE(live == 0);
    if (!failed) return n;
  }
  return -1;
}

struct Step {
  Case spec;
  Batch batch;
  ResolvedShape shape;
};

Step step_of(const char* line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  const auto batch = make_batch(*c);
  REQUIRE(batch.ok());
  const auto shape = resolve_shape(*c, *batch);
  REQUIRE(shape.ok());
  return {*c, *batch, *shape};
}

}  // namespace

TEST_CASE("memory: a case line survives every failing allocation", "[case]") {
  const char* const lines[] = {"mla1:16q4s1k_3q1s513;heads=8;block=16;layout=prefix.3",
                               "mla1:1q1s1;heads=0", "mla1:2q2s90+1q2s2;cu=4;qpad=4"};
  for (const char* line : lines)
    CHECK(fail_each([line] {
            const auto c = parse_case(line);
            if (!c) return;
            static_cast<void>(format_case(*c));
            static_cast<void>(make_batch(*c));
          }) > 3);
}

TEST_CASE("memory: every planner and its checker survive every failing allocation", "[plan]") {
  const char* const lines[] = {
      "mla1:2q4s900_1q1s513;cu=4",
      "mla1:3q1s700;cu=5",
      "mla1:3q1s700;cu=5;planner=v12serial",
      "mla1:3q1s700;cu=3;planner=v11",
      "mla1:2q1s704;cu=3;planner=v10",
      "mla1:2q4s70;heads=128;dtype=fp8/fp8;cu=3",
      "mla1:2q8s33;arch=gfx942",
  };
  for (const char* line : lines) {
    INFO(line);
    const Step s = step_of(line);
    CHECK(fail_each([&s] {
            DecodeBuffers buffers = make_decode_buffers(s.spec, s.batch, s.shape);
            const auto md =
                DecodeMetadataBuilder({}, StepHooks::none()).build(s.batch, s.shape, buffers);
            if (!md || !md->plan) return;
            static_cast<void>(plan::plan_check(check_input_of(*md)));
          }) > 20);
  }
}

TEST_CASE("memory: the prefill planner survives every failing allocation", "[prefill]") {
  const std::vector<std::int32_t> rows{0, 700, 900, 901};
  const std::vector<std::int32_t> lengths{700, 200, 1};
  const plan::PsInput input{.compute_units = ComputeUnits(7),
                            .kv_heads = Heads(3),
                            .qo_indptr = rows,
                            .kv_indptr = rows,
                            .context_lens = lengths,
                            .kvlen_granularity = 128,
                            .block_size = 1};
  CHECK(fail_each([&input] {
          const auto sizes = plan::query_ps_sizes({.compute_units = ComputeUnits(7),
                                                   .batch = Requests(3),
                                                   .kv_heads = Heads(3),
                                                   .max_qo_len = 700});
          if (sizes) static_cast<void>(plan::plan_ps_prefill(input, *sizes));
        }) > 10);
}

TEST_CASE("memory: a leak would be seen", "[plan]") {
  static int* kept = nullptr;
  account = {.open = true, .until_failure = -1, .live = 0};
  kept = new int(3);
  const long live = account.live;
  account.open = false;
  CHECK(live == 1);
  delete kept;
}
