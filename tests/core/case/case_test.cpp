// Claims about the one-line case: it round-trips, it is canonical, and a bad line names what is
// wrong.
#include <algorithm>

#include "core/case/case.hpp"

#include "core/case/batch.hpp"
#include "tests/catch.hpp"

using mla::Case;
using mla::format_case;
using mla::parse_case;

namespace {

const char* const kExample =
    "mla1:16q4s1k_3q1s513;heads=8;block=16;arch=gfx942;cu=304;dtype=bf16/bf16;gran=16;split=-1;"
    "causal=1;layout=shuffled.7;data=normal.42";
const char* const kEverything =
    "mla1:1q0s0_2q17s200000;heads=127;block=256;arch=gfx950;cu=80;dtype=fp8/fp8;gran=64;split=2;"
    "causal=0;layout=prefix.3;data=spiky.18446744073709551615;page=16;planner=v12serial;pad=5;"
    "spare=77.stale;scale=0.5/0.125;lse=1;origin=16777215;sched=9;splits=7";

Case parsed(const std::string& line) {
  auto c = parse_case(line);
  INFO((c.ok() ? std::string() : c.error().message));
  REQUIRE(c.ok());
  return *c;
}

}  // namespace

TEST_CASE("case: a canonical line reads back to itself", "[case]") {
  CHECK(format_case(parsed(kExample)) == kExample);
  CHECK(format_case(parsed(kEverything)) == kEverything);
}

TEST_CASE("case: sequences, prefill and FA steps read back to themselves", "[case]") {
  for (const char* line :
       {"mla1:4q1s100+4q1s101+2q4s1k_1q1s7;heads=16;block=1;arch=gfx942;cu=304;dtype=bf16/bf16;"
        "gran=16;split=-1;causal=1;layout=shuffled.7;data=normal.42",
        "mla1:1q300s700;heads=12;block=16;arch=gfx950;cu=256;dtype=bf16/fp8;gran=16;split=-1;"
        "causal=1;layout=contiguous;data=normal.1;kind=prefill;workspace=1024",
        "mla1:2q1s9_1q5s5;heads=32;block=16;arch=gfx942;cu=304;dtype=bf16/bf16;gran=16;split=-1;"
        "causal=1;layout=contiguous;data=normal.1;kind=fa;kvheads=8;dim=64;window=127;draft=3"})
    CHECK(format_case(parsed(line)) == line);
  CHECK(parsed("mla1:q1s1+2q1s2+q3s3").later_steps[1][0] == mla::RequestSpec{3, 3});
  CHECK_FALSE(parse_case("mla1:q1s1+").ok());
}

TEST_CASE(
    "case: widths are printed where they are not 512 + 64, and values that are not the latent part",
    "[case]") {
  const std::string rest =
      ";heads=16;block=1;arch=gfx942;cu=304;dtype=bf16/bf16;gran=16;split=-1;"
      "causal=1;layout=shuffled.7;data=normal.42";
  for (const char* widths :
       {";rope=0", ";latent=448", ";latent=448;value=512", ";latent=1;rope=0", ";rope=32;value=20"})
    CHECK(format_case(parsed("mla1:1q1s1" + rest + widths)) == "mla1:1q1s1" + rest + widths);
  CHECK(format_case(parsed("mla1:1q1s1;latent=512;rope=64;value=512")) == "mla1:1q1s1" + rest);
  CHECK(format_case(parsed("mla1:1q1s1;value=448;latent=448")) ==
        "mla1:1q1s1" + rest + ";latent=448");
}

TEST_CASE("case: widths are those of rows, keys and values", "[case]") {
  const mla::RowWidths w = parsed("mla1:1q1s1;latent=448;value=512").widths();
  CHECK(w.latent() == mla::LatentDims(448));
  CHECK(w.rope() == mla::RopeDims(64));
  CHECK(w.key() == mla::KeyDims(512));
  CHECK(w.value() == mla::ValueDims(512));
  CHECK(w.key_bytes(mla::Dtype::bf16) == 1024);
  CHECK(parsed("mla1:1q1s1;latent=40").widths().value() == mla::ValueDims(40));
  CHECK(parsed("mla1:1q1s1;kind=prefill").widths() == mla::kBuiltIn);
}

TEST_CASE("case: widths that no row has are refused with their values", "[case]") {
  const auto why = [](const char* fields) {
    const auto c = parse_case(std::string("mla1:1q1s1;") + fields);
    return c.ok() ? std::string() : c.error().message;
  };
  CHECK(why("latent=0") == "case field 'latent' has value '0': expected 1 to 512 elements");
  CHECK(why("rope=-1") == "case field 'rope' has value '-1': expected 0 to 575 elements");
  CHECK(why("rope=65") ==
        "case fields 'latent', 'rope' and 'value': latent width 512 and rope width 65 make rows of "
        "577 elements: expected at most 576");
  CHECK(why("latent=16;rope=8;value=25") ==
        "case fields 'latent', 'rope' and 'value': the value width 25 is not in a row of 24 "
        "elements");
  CHECK(why("value=513") == "case field 'value' has value '513': expected 0 to 512 elements");
  CHECK(why("kind=prefill;rope=0") ==
        "case field 'rope' has value '0', but a case of kind prefill has no such field (decode has "
        "it)");
}

TEST_CASE("case: order, left-out fields and split groups do not matter", "[case]") {
  const Case c = parsed("mla1:q1s1024_1q1s1k_2q3s5;cu=80;heads=12");
  CHECK(c.requests.size() == 4);
  CHECK(c.heads == 12);
  CHECK(format_case(c) ==
        "mla1:2q1s1k_2q3s5;heads=12;block=1;arch=gfx942;cu=80;dtype=bf16/bf16;gran=16;split=-1;"
        "causal=1;layout=shuffled.7;data=normal.42");
}

TEST_CASE("case: ',' separates fields as ';' does", "[case]") {
  const auto written = parse_case("mla1:2q1s100;heads=8;arch=gfx950;cu=4");
  REQUIRE(written.ok());
  for (const char* line :
       {"mla1:2q1s100,heads=8,arch=gfx950,cu=4", "mla1:2q1s100,heads=8;arch=gfx950,cu=4"}) {
    const auto c = parse_case(line);
    REQUIRE(c.ok());
    CHECK(*c == *written);
    CHECK(format_case(*c) == format_case(*written));
  }
  CHECK_THAT(parse_case("mla1:2q1s100,").error().message,
             mla::test::contains("a field after ';' or ','"));
}

TEST_CASE("case: the compute units default to those of the product", "[case]") {
  CHECK(parsed("mla1:q1s1;arch=gfx950").compute_units == 256);
  CHECK(parsed("mla1:q1s1").compute_units == 304);
}

TEST_CASE("case: a sequence has at most 1024 steps", "[case]") {
  std::string line = "mla1:q1s1";
  for (int step = 1; step < 1024; ++step) line += "+q1s2";
  CHECK(parsed(line).later_steps.size() == 1023);
  const auto c = parse_case(line + "+q1s2");
  REQUIRE_FALSE(c.ok());
  CHECK(c.error().message ==
        "case field 'requests' has value '1025 steps': expected at most 1024 steps");
}

TEST_CASE("case: a bad line names the field and the value", "[case]") {
  struct Bad {
    const char* line;
    const char* field;
    const char* value;
  };
  const Bad bad[] = {
      {"mla2:q1s1", "version", "mla2"},
      {"q1s1", "version", "q1s1"},
      {"mla1:", "requests", "''"},
      {"mla1:1q1", "requests", "1q1"},
      {"mla1:1q1s", "requests", "1q1s"},
      {"mla1:0q1s1", "requests", "0q1s1"},
      {"mla1:1q-1s1", "requests", "1q-1s1"},
      {"mla1:1q1s99999999", "requests", "1q1s99999999"},
      {"mla1:1q1s1_", "requests", "''"},
      {"mla1:q1s1;heads=0", "heads", "0"},
      {"mla1:q1s1;heads=129", "heads", "129"},
      {"mla1:q1s1;heads=16x", "heads", "16x"},
      {"mla1:q1s1;heads=", "heads", "''"},
      {"mla1:q1s1;block=257", "block", "257"},
      {"mla1:q1s1;page=8", "page", "8"},
      {"mla1:q1s1;arch=gfx90a", "arch", "gfx90a"},
      {"mla1:q1s1;dtype=bf16", "dtype", "bf16"},
      {"mla1:q1s1;dtype=fp8_e4m3/fp8", "dtype", "fp8_e4m3/fp8"},
      {"mla1:q1s1;split=0", "split", "0"},
      {"mla1:q1s1;causal=yes", "causal", "yes"},
      {"mla1:q1s1;layout=shuffled", "layout", "shuffled"},
      {"mla1:q1s1;layout=contiguous.3", "layout", "contiguous.3"},
      {"mla1:q1s1;data=normal", "data", "normal"},
      {"mla1:q1s1;planner=v13", "planner", "v13"},
      {"mla1:q1s1;spare=4", "spare", "4"},
      {"mla1:q1s1;scale=1", "scale", "1"},
      {"mla1:q1s1;scale=1/0", "scale", "1/0"},
      {"mla1:q1s1;scale=nan/1", "scale", "nan/1"},
      {"mla1:q1s1;head=16", "head", "16"},
      {"mla1:q1s1;splits=65", "splits", "65"},
      {"mla1:q1s1;kind=extend", "kind", "extend"},
      {"mla1:q1s1;window=x", "window", "x"},
      {"mla1:q1s1;kind=fa;gran=0", "gran", "0"},
      {"mla1:q1s1;heads=16;heads=8", "heads", "8"},
      {"mla1:q1s1;", "", "''"},
  };
  for (const Bad& b : bad) {
    INFO(b.line);
    const auto c = parse_case(b.line);
    REQUIRE_FALSE(c.ok());
    CHECK(c.error().message.find("'" + std::string(b.field) + "'") != std::string::npos);
    CHECK(c.error().message.find(b.value) != std::string::npos);
  }
}

TEST_CASE("case: a field that the kind does not have is refused, with the kinds that have it",
          "[case]") {
  const auto message = [](const std::string& line) {
    const auto c = parse_case("mla1:q1s1;" + line);
    INFO(line);
    REQUIRE_FALSE(c.ok());
    return c.error().message;
  };
  CHECK(message("window=12") ==
        "case field 'window' has value '12', but a case of kind decode has no such field (fa has "
        "it)");
  CHECK(message("workspace=7") ==
        "case field 'workspace' has value '7', but a case of kind decode has no such field "
        "(prefill and fa have it)");
  for (const char* line : {"kvheads=2", "dim=64", "draft=1"})
    for (const char* kind : {"", ";kind=decode", ";kind=prefill"})
      CHECK(message(std::string(line) + kind).find("(fa has it)") != std::string::npos);
  for (const char* line :
       {"gran=64", "split=2", "spare=1.huge", "scale=2/1", "lse=1", "qpad=4", "splits=3"})
    for (const char* kind : {"prefill", "fa"}) {
      const std::string of_kind = std::string("kind=") + kind;
      CHECK(message(of_kind + ";" + line).find("(decode has it)") != std::string::npos);
      CHECK(message(std::string(line) + ";" + of_kind).find("kind " + std::string(kind)) !=
            std::string::npos);
    }
  for (const char* line : {"page=16", "planner=v11", "sched=3"})
    CHECK(message(std::string(line) + ";kind=fa").find("(decode and prefill have it)") !=
          std::string::npos);
}

TEST_CASE("case: a field that the kind does not have may be there with its default", "[case]") {
  CHECK(parsed("mla1:q1s1;window=-1;workspace=65536;dim=128") == parsed("mla1:q1s1"));
  CHECK(parsed("mla1:q1s1;kind=fa;gran=16;split=-1;lse=0;scale=1/1;page=1;planner=auto") ==
        parsed("mla1:q1s1;kind=fa"));
}

TEST_CASE("batch: every layout gives each request its own blocks, shared prefixes excepted",
          "[case][P18]") {
  for (const char* layout : {"contiguous", "shuffled.3", "interleaved", "descending", "prefix.2"}) {
    INFO(layout);
    const Case c = parsed(std::string("mla1:2q1s33_1q1s0_1q2s70;block=16;layout=") + layout);
    const auto batch = mla::make_batch(c);
    REQUIRE(batch.ok());
    std::vector<std::int64_t> owned;
    const std::int64_t shared = c.layout.kind == mla::Layout::prefix ? 2 : 0;
    for (std::size_t r = 0; r < batch->requests.size(); ++r)
      for (std::int64_t j = 0; j < mla::ceil_div(batch->requests[r].kv_len, 16); ++j) {
        const std::int64_t id = batch->table().at(static_cast<std::int64_t>(r), j);
        CHECK(id >= 0);
        CHECK(id < batch->cache_blocks - 1);  // never the null block
        if (j < shared) CHECK(id == j);
        if (j >= shared) owned.push_back(id);
      }
    std::sort(owned.begin(), owned.end());
    CHECK(std::adjacent_find(owned.begin(), owned.end()) == owned.end());
  }
}

TEST_CASE("batch: graph padding is uniform where the engine's rule makes it so", "[case][P11]") {
  const auto last = [](const std::string& line) {
    return (*mla::make_batch(parsed(line))).requests.back();
  };
  CHECK(last("mla1:2q4s9;pad=3") == mla::RequestSpec{4, 4});
  CHECK(last("mla1:2q1s9;pad=3") == mla::RequestSpec{1, 0});
  CHECK(last("mla1:1q1s9_1q2s9;pad=3") == mla::RequestSpec{0, 0});
}

TEST_CASE("batch: uniform padding follows every condition of the engine's rule", "[case][P26]") {
  using mla::uniform_padded_qo_len;
  CHECK(uniform_padded_qo_len({2, 2, 0}, 2, 6) == 2);
  CHECK(uniform_padded_qo_len({2, 0, 2}, 2, 6) == 0);  // zeros do not trail
  CHECK(uniform_padded_qo_len({2, 2}, 2, 4) == 0);     // nothing padded
  CHECK(uniform_padded_qo_len({2, 2, 0}, 2, 7) == 0);  // not divisible
  CHECK(uniform_padded_qo_len({2, 2, 0}, 3, 6) == 0);  // the longest is another
  CHECK(uniform_padded_qo_len({1, 1, 0}, 1, 3) == 0);  // one row each is no padding case
  CHECK(uniform_padded_qo_len({1, 3, 0}, 3, 6) == 0);  // ragged, though the mean is even (BUG-016)
  CHECK(uniform_padded_qo_len({0, 0}, 0, 6) == 3);     // all padding
  CHECK(uniform_padded_qo_len({}, 0, 6) == 0);
}

// The conditions of vllm_metadata.md 5.5, one after the other.
static std::int64_t padded_by_the_list(const std::vector<std::int64_t>& q, std::int64_t max_q,
                                       std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const std::int64_t len : q) sum += len;
  const auto requests = static_cast<std::int64_t>(q.size());
  if (requests == 0 || tokens <= 0 || tokens <= sum || tokens % requests != 0) return 0;
  const std::int64_t u = tokens / requests;
  if (u <= 1) return 0;
  bool zero = false;
  for (const std::int64_t len : q) {
    if (zero && len != 0) return 0;  // zeros are one run at the end
    if (len != 0 && len != u) return 0;
    zero = zero || len == 0;
  }
  if (!zero || (sum > 0 && max_q != u)) return 0;
  return u;
}

TEST_CASE("batch: uniform padding is the engine's rule for every small batch", "[case][P26]") {
  std::int64_t batches = 0;
  std::int64_t uniform = 0;
  for (std::int64_t requests = 0; requests <= 4; ++requests) {
    std::vector<std::int64_t> q(static_cast<std::size_t>(requests), 0);
    for (std::int64_t code = 0; code < std::int64_t{1} << (2 * requests); ++code) {
      for (std::size_t r = 0; r < q.size(); ++r) q[r] = code >> (2 * r) & 3;
      for (std::int64_t tokens = 0; tokens < 13; ++tokens)
        for (std::int64_t max_q = 0; max_q < 5; ++max_q) {
          const std::int64_t want = padded_by_the_list(q, max_q, tokens);
          REQUIRE(mla::uniform_padded_qo_len(q, max_q, tokens) == want);
          ++batches;
          uniform += want > 0 ? 1 : 0;
        }
    }
  }
  CHECK(batches == (1 + 4 + 16 + 64 + 256) * 13 * 5);
  CHECK(uniform > 50);
}

TEST_CASE("batch: block ids beyond int32 are refused with the id", "[case][P17]") {
  const auto batch = mla::make_batch(parsed("mla1:q1s1;block=256;origin=16777216"));
  REQUIRE_FALSE(batch.ok());
  CHECK(batch.error().message.find("16777218") != std::string::npos);
}
