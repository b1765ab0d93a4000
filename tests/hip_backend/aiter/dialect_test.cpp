// Claims about manifests from before 10 August 2026: what their columns mean, and which kernel the
// dispatch of their time took. The rows are made up; their keys are those of the time.
#include "hip_backend/aiter/dialect.hpp"

#include "core/say.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::hip::aiter;

namespace {

constexpr auto kB = ElementType::bf16;
constexpr auto kF = ElementType::fp8;

const std::string kJanuary = "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,knl_name,co_name\n";
const std::string kMarch = "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,knl_name,co_name\n";
const std::string kJune = "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,cprr,knl_name,co_name\n";

Manifest manifest_of(const std::string& text) {
  auto manifest = parse_manifest(text, "m.csv");
  REQUIRE(manifest.ok());
  return std::move(*manifest);
}

// "heads/qSeqLen rows-told file" of the row that is taken, or why there is none.
std::string taken(const Manifest& manifest, DecodeQuery query) {
  query.arch = Arch::gfx950;
  const auto s = select_decode(manifest, query);
  if (!s) return s.error().message;
  return say(s->row.key.heads, "/", s->row.key.qo_len, " ", s->packed_rows, " ", s->row.file);
}
std::string bf16(const Manifest& manifest, std::int64_t heads, std::int64_t rows) {
  return taken(manifest, {.heads = heads, .qo_len = rows});
}
std::string fp8(const Manifest& manifest, std::int64_t heads, std::int64_t rows) {
  return taken(manifest, {.q = kF, .kv = kF, .heads = heads, .qo_len = rows});
}

// What every table of the time begins with: fp8, 16 heads, 1, 2 and 4 rows.
std::string few(const std::string& tail) {
  return "fp8,fp8,16,1,1,0,0," + tail + ",k,fp8_1.co\n" + "fp8,fp8,16,1,2,0,0," + tail +
         ",k,fp8_2.co\n" + "fp8,fp8,16,1,4,0,0," + tail + ",k,fp8_4.co\n";
}

}  // namespace

TEST_CASE("aiter dialect: a table without lse has no kernel that returns it") {
  const Manifest m = manifest_of(kJanuary + "fp8,fp8,16,1,1,0,0,k,a.co\n");
  CHECK_FALSE(m.front().key.lse);
  CHECK(fp8(m, 16, 1) == "16/1 16 a.co");
  CHECK(
      taken(m, {.q = kF, .kv = kF, .lse = true}) ==
      "16 heads, 1 query rows, fp8/fp8 on gfx950, with a plan: the manifest has no row for decode "
      "fp8/fp8, 16 heads, qSeqLen 1, persistent, causal, lse");
}

TEST_CASE(
    "aiter dialect: causal 0 of earlier decode rows is a kernel with a mask; prefill is not") {
  const Manifest m = manifest_of(kMarch + few("0") + "fp8,fp8,1,1,0,1,0,0,k,pfl.co\n");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(m[i].key.causal);
    CHECK(m[i].asked_for == false);
  }
  CHECK_FALSE(m[3].key.causal);
  CHECK_FALSE(m[3].asked_for.has_value());
  CHECK(fp8(m, 16, 2) == "16/2 32 fp8_2.co");
  const auto refused = taken(m, {.q = kF, .kv = kF, .qo_len = 2, .causal = false});
  CHECK(refused.find("no row for decode fp8/fp8, 16 heads, qSeqLen 2, persistent, not causal") !=
        std::string::npos);
}

TEST_CASE("aiter dialect: a table with a mask for one row says of each other row what it has") {
  const Manifest m =
      manifest_of(kJune + "fp8,fp8,16,1,1,0,1,0,0,k,a.co\n" + "fp8,fp8,16,1,2,0,0,0,0,k,b.co\n");
  CHECK(m.front().key.causal);
  CHECK_FALSE(m.back().key.causal);
  CHECK_FALSE(m.back().asked_for.has_value());
  CHECK(dialect_of(m).asks_for_masks);
  // One row without a mask beside one with it is no earlier table.
  const Manifest both =
      manifest_of(kJune + "fp8,fp8,16,1,1,0,1,0,0,k,a.co\n" + "fp8,fp8,16,1,1,0,0,0,0,k,b.co\n");
  CHECK_FALSE(both.back().key.causal);
}

TEST_CASE("aiter dialect: 4 fp8 rows of 16 heads are told all packed rows before 6 August") {
  CHECK(fp8(manifest_of(kMarch + few("0")), 16, 4) == "16/4 64 fp8_4.co");
  const Manifest ranks = manifest_of(kJune + few("0,0") + "fp8,fp8,16,1,4,0,0,0,1,k,cp.co\n");
  CHECK(fp8(ranks, 16, 4) == "16/4 16 fp8_4.co");
}

TEST_CASE("aiter dialect: fp8 of 32 heads and 2 rows, and of 64 and 1, have kernels of their own") {
  const Manifest m = manifest_of(kJune + few("0,0") + "fp8,fp8,32,1,2,0,0,0,0,k,two.co\n" +
                                 "fp8,fp8,64,1,1,0,0,0,0,k,one.co\n");
  CHECK(fp8(m, 32, 2) == "32/2 64 two.co");
  CHECK(fp8(m, 64, 1) == "64/1 64 one.co");
}

TEST_CASE(
    "aiter dialect: fp8 of 32 heads and 4 rows is told all of them until its LSE kernel came") {
  const std::string plain = "fp8,fp8,32,1,4,0,0,0,k,a.co\n";
  CHECK(fp8(manifest_of(kMarch + few("0") + plain), 32, 4) == "32/4 128 a.co");
  CHECK(fp8(manifest_of(kMarch + few("0") + plain + "fp8,fp8,32,1,4,0,0,1,k,b.co\n"), 32, 4) ==
        "32/4 32 a.co");
}

TEST_CASE("aiter dialect: fp8 of 128 heads had a kernel for one row and one for several") {
  const std::string one = "fp8,fp8,128,1,0,0,0,0,k,one.co\n";
  const Manifest alone = manifest_of(kMarch + few("0") + one);
  CHECK(fp8(alone, 128, 1) == "128/0 128 one.co");
  CHECK(fp8(alone, 128, 2) == "128/0 256 one.co");
  const Manifest two = manifest_of(kMarch + few("0") + one + "fp8,fp8,128,1,0,0,1,0,k,some.co\n");
  CHECK(fp8(two, 128, 1) == "128/0 128 one.co");
  CHECK(fp8(two, 128, 2) == "128/0 256 some.co");
}

TEST_CASE("aiter dialect: bf16 goes to the kernels of its own, then to two, small shapes last") {
  const std::string own = few("0") + "bf16,bf16,16,1,4,0,0,0,k,own.co\n";
  CHECK(bf16(manifest_of(kMarch + own), 16, 4) == "16/4 64 own.co");
  const std::string larger = own + "bf16,bf16,32,1,4,0,0,0,k,larger.co\n";
  CHECK(bf16(manifest_of(kMarch + larger), 16, 3) == "16/4 48 own.co");
  CHECK(bf16(manifest_of(kMarch + larger), 32, 4) ==
        "AITER's dispatch rejects 32 heads, 4 query rows, bf16/bf16 on gfx950, with a plan");
  const Manifest may = manifest_of(kMarch + larger + "bf16,bf16,64,1,1,0,0,0,k,gather.co\n");
  CHECK(bf16(may, 16, 1) == "16/4 16 own.co");
  CHECK(bf16(may, 16, 4) == "64/1 16 gather.co");
  CHECK(bf16(may, 32, 1) == "64/1 32 gather.co");
  CHECK(bf16(may, 32, 4) == "32/4 32 larger.co");
  const Manifest end_of_may = manifest_of(kMarch + larger + "bf16,bf16,64,1,1,0,0,0,k,gather.co\n" +
                                          "bf16,bf16,32,1,4,0,0,1,k,lse.co\n");
  CHECK(bf16(end_of_may, 32, 1) == "32/4 32 larger.co");
  CHECK(bf16(end_of_may, 16, 2) == "16/4 32 own.co");
  const Manifest june =
      manifest_of(kJune + few("0,0") + "bf16,bf16,16,1,4,0,0,0,0,k,own.co\n" +
                  "bf16,bf16,64,1,1,0,0,0,0,k,gather.co\n" + "bf16,bf16,64,1,1,0,0,0,1,k,cp.co\n");
  CHECK(bf16(june, 16, 1) == "64/1 16 gather.co");
}

TEST_CASE("aiter dialect: a table of today has that of today") {
  const Dialect d = dialect_of(manifest_of(kJune + "fp8,fp8,16,1,1,0,1,0,0,k,a.co\n"));
  CHECK(d.asks_for_masks);
  CHECK(d.fp8_on_16x4);
  CHECK(d.fp8_on_32x4);
  CHECK(d.bf16_gathered);
  CHECK(d.small_bf16_gathered);
  CHECK_FALSE(d.bf16_32x1_on_32x4);
  CHECK_FALSE(d.bf16_heads_as_stride);
}
