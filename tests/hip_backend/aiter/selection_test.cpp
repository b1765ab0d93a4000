// Claims about the selection: the row that AITER's dispatch looks up, for the shapes whose kernels
// are documented.
#include "hip_backend/aiter/selection.hpp"

#include "core/case/case.hpp"
#include "core/shape/resolved_shape.hpp"
#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/aiter/stage1.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::hip::aiter;

namespace {

constexpr auto kB = ElementType::bf16;
constexpr auto kF = ElementType::fp8;

// "heads/qSeqLen" of the row that is looked up, and the rows that the kernel is told; or
// "rejected".
std::string looked_up(const DecodeQuery& query) {
  const auto s = dispatch_decode(query);
  if (!s) return "rejected";
  return std::to_string(s->row.key.heads) + "/" + std::to_string(s->row.key.qo_len) + " " +
         std::to_string(s->packed_rows) + " by " + std::to_string(s->rows_per_workgroup);
}

std::string with_plan(Arch arch, ElementType q, ElementType kv, std::int64_t heads,
                      std::int64_t rows) {
  return looked_up({.arch = arch, .q = q, .kv = kv, .heads = heads, .qo_len = rows});
}
std::string without_plan(Arch arch, ElementType type, std::int64_t heads, std::int64_t rows) {
  return looked_up(
      {.arch = arch, .q = type, .kv = type, .heads = heads, .qo_len = rows, .persistent = false});
}

ManifestRow row_of(const RowKey& key, const char* file) {
  return {.key = key, .kernel = "k", .file = file, .line = 2};
}

}  // namespace

TEST_CASE("aiter selection: persistent kernels of gfx942") {
  const auto arch = Arch::gfx942;
  CHECK(with_plan(arch, kB, kB, 16, 1) == "16/4 16 by 128");
  CHECK(with_plan(arch, kB, kB, 16, 4) == "16/4 64 by 128");
  CHECK(with_plan(arch, kB, kB, 16, 5) == "16/5 80 by 128");  // no such row: refused there
  CHECK(with_plan(arch, kB, kF, 16, 3) == "16/4 48 by 128");
  CHECK(with_plan(arch, kF, kF, 16, 1) == "16/1 16 by 128");
  CHECK(with_plan(arch, kF, kF, 16, 2) == "16/2 32 by 128");
  CHECK(with_plan(arch, kF, kF, 16, 3) == "16/4 48 by 64");
  CHECK(with_plan(arch, kF, kF, 16, 5) == "rejected");
  CHECK(with_plan(arch, kF, kF, 64, 1) == "64/1 64 by 128");
  CHECK(with_plan(arch, kF, kF, 128, 7) == "128/0 896 by 128");
  CHECK(with_plan(arch, kB, kB, 8, 2) == "8/2 16 by 128");
}

TEST_CASE("aiter selection: gfx950 gathers its persistent shapes on a few kernels") {
  const auto arch = Arch::gfx950;
  CHECK(with_plan(arch, kB, kB, 16, 1) == "64/1 16 by 128");
  CHECK(with_plan(arch, kB, kB, 16, 7) == "64/1 16 by 128");
  CHECK(with_plan(arch, kB, kB, 16, 8) == "32/4 16 by 128");
  CHECK(with_plan(arch, kB, kB, 48, 9) == "64/1 48 by 128");
  CHECK(with_plan(arch, kB, kB, 64, 2) == "32/4 64 by 128");
  CHECK(with_plan(arch, kB, kB, 80, 1) == "32/4 80 by 128");
  CHECK(with_plan(arch, kB, kB, 8, 8) == "64/1 8 by 128");
  CHECK(with_plan(arch, kF, kF, 16, 2) == "16/2 32 by 128");
  CHECK(with_plan(arch, kF, kF, 16, 4) == "16/4 16 by 64");
  CHECK(with_plan(arch, kF, kF, 16, 5) == "32/4 16 by 128");
  CHECK(with_plan(arch, kF, kF, 32, 1) == "32/1 32 by 32");
  CHECK(with_plan(arch, kF, kF, 32, 2) == "16/4 32 by 128");
  CHECK(with_plan(arch, kF, kF, 32, 4) == "32/4 32 by 128");
  CHECK(with_plan(arch, kF, kF, 64, 1) == "16/4 64 by 128");
  CHECK(with_plan(arch, kF, kF, 64, 2) == "32/4 64 by 128");
  CHECK(with_plan(arch, kF, kF, 128, 1) == "32/4 128 by 128");
  CHECK(with_plan(arch, kF, kF, 8, 4) == "8/4 32 by 128");
  CHECK(with_plan(arch, kB, kF, 16, 4) == "16/4 64 by 128");
}

TEST_CASE("aiter selection: without a plan, six rows of 16 heads run on the kernel for eight",
          "[BUG-001]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    CHECK(without_plan(arch, kB, 16, 1) == "16/1 16 by 16");
    CHECK(without_plan(arch, kB, 16, 3) == "16/4 48 by 128");
    CHECK(without_plan(arch, kB, 16, 4) == "16/4 64 by 128");
    CHECK(without_plan(arch, kB, 16, 5) == "16/8 80 by 128");
    CHECK(without_plan(arch, kB, 16, 6) == "16/8 96 by 128");
    CHECK(without_plan(arch, kB, 32, 4) == "32/0 128 by 64");
    CHECK(without_plan(arch, kB, 64, 1) == "64/1 64 by 64");
    CHECK(without_plan(arch, kB, 64, 2) == "64/0 128 by 64");
    CHECK(without_plan(arch, kB, 128, 3) == "128/0 384 by 128");
    CHECK(without_plan(arch, kB, 8, 1) == "8/1 8 by 8");
    CHECK(without_plan(arch, kB, 8, 2) == "8/2 8 by 16");
    CHECK(without_plan(arch, kF, 16, 4) == "16/4 64 by 64");
    CHECK(without_plan(arch, kF, 16, 5) == "rejected");
    CHECK(without_plan(arch, kF, 32, 2) == "rejected");
    CHECK(without_plan(arch, kF, 64, 1) == "rejected");
  }
}

TEST_CASE("aiter selection: mask, LSE and ranks are part of the key; one row needs no mask") {
  const auto key = [](DecodeQuery query) {
    query.arch = Arch::gfx950;
    return (*dispatch_decode(query)).row.key;
  };
  CHECK(key({.qo_len = 1, .causal = false}).causal);
  CHECK_FALSE(key({.qo_len = 2, .causal = false}).causal);
  CHECK(key({.lse = true}).lse);
  CHECK_FALSE(key({.persistent = false, .lse = true}).lse);  // no such kernel is looked for
  CHECK(key({.cprr = true}).cprr);
}

TEST_CASE("aiter selection: a step without a mask is refused where AITER's own call ends",
          "[BUG-108]") {
  const auto row = [](std::int64_t rows, bool causal) {
    return row_of({.q = kF, .kv = kF, .persistent = true, .qo_len = rows, .causal = causal},
                  "k.co");
  };
  const auto installation = Installation::of(
      {{Arch::gfx950, {row(1, true), row(2, true), row(4, true), row(4, false)}}}, {});
  const auto answer = [&](const std::string& line) {
    const auto c = parse_case(line + ";dtype=fp8/fp8;arch=gfx950");
    REQUIRE(c.ok());
    const auto shape = resolve_shape(*c, *make_batch(*c));
    REQUIRE(shape.ok());
    const auto selection = select_for(*installation, *shape, {});
    return selection ? std::string() : selection.error().message;
  };
  CHECK(answer("mla1:1q2s100;causal=0") ==
        "AITER ends a step of 2 query rows without a mask: 16 heads, 2 query rows, fp8/fp8 on "
        "gfx950, with a plan: the manifest has no row for decode fp8/fp8, 16 heads, qSeqLen 2, "
        "persistent, not causal");
  CHECK_FALSE(answer("mla1:1q2s100_1q1s20;causal=0").empty());
  CHECK(answer("mla1:1q2s100").empty());
  CHECK(answer("mla1:1q1s100;causal=0").empty());
  CHECK(answer("mla1:1q4s100;causal=0").empty());
}

TEST_CASE("aiter selection: the first of the rows with the key, the others by name") {
  const RowKey key{.heads = 8, .persistent = false, .qo_len = 2};
  const Manifest manifest = {row_of({}, "other.co"), row_of(key, "a.co"), row_of(key, "b.co")};
  const auto found =
      select_decode(manifest, {.arch = Arch::gfx950, .heads = 8, .qo_len = 2, .persistent = false});
  REQUIRE(found.ok());
  CHECK(found->row.file == "a.co");
  REQUIRE(found->rivals.size() == 1);
  CHECK(found->rivals.front().file == "b.co");
  CHECK(found->packed_rows == 8);
}

TEST_CASE("aiter selection: a shape without a row is refused with the key that was looked for") {
  const auto none = select_decode({row_of({}, "a.co")}, {.arch = Arch::gfx942, .qo_len = 5});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::unsupported);
  CHECK(none.error().message ==
        "16 heads, 5 query rows, bf16/bf16 on gfx942, with a plan: the manifest has no row for "
        "decode bf16/bf16, 16 heads, qSeqLen 5, persistent, causal");
}

TEST_CASE("aiter selection: a row that dispatch leads past is told all rows") {
  const RowKey key{.heads = 16, .persistent = true, .qo_len = 4};
  const auto s = select_row(row_of(key, "a.co"), {.arch = Arch::gfx950, .qo_len = 4});
  REQUIRE(s.ok());
  CHECK(s->packed_rows == 64);
  CHECK(s->row.file == "a.co");
}

TEST_CASE("aiter selection: prefill rows by type, heads, plan and mask") {
  RowKey key{.q = kF, .kv = kF, .heads = 1, .persistent = true, .qo_len = 0, .prefill = true};
  key.causal = false;
  const Manifest manifest = {row_of(key, "all.co")};
  CHECK((*select_prefill(manifest, kF, 1, true, false)).file == "all.co");
  CHECK_FALSE(select_prefill(manifest, kF, 1, true, true).ok());
  CHECK_FALSE(select_prefill(manifest, kB, 1, true, false).ok());
}
