// Claims about what the planners refuse, and with which words.
#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

using mla::Arch;
using mla::ComputeUnits;
using mla::Dtype;
using mla::Heads;
using mla::plan::Fidelity;
using mla::plan::PlannerVersion;
using mla::plan::V12Kernel;
using mla::plan_test::all;
using mla::plan_test::Batch;
using mla::test::contains;

namespace {

// 128 heads of fp8: one tile a row.
void split_query(Batch& batch) {
  batch.input.key.heads_per_kv_head = Heads(128);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
}

}  // namespace

TEST_CASE("planners: input that has no meaning is refused with its value", "[plan]") {
  Batch batch({100, 200}, all(2, 1));
  SECTION("granularity") {
    batch.input.kv_granularity = 24;
    CHECK_THAT(batch.refusal(), contains("kv_granularity is 24"));
    batch.input.kv_granularity = 0;
    CHECK_THAT(batch.refusal(), contains("kv_granularity is 0"));
  }
  SECTION("page size") {
    batch.input.page_size = 48;
    CHECK_THAT(batch.refusal(), contains("page_size is 48"));
  }
  SECTION("heads") {
    batch.input.key.heads_per_kv_head = Heads(24);
    CHECK_THAT(batch.refusal(), contains("24 heads"));
  }
  SECTION("no KV list") {
    batch.input.kv_indptr = {};
    CHECK_THAT(batch.refusal(), contains("kv_indptr has 0 entries"));
  }
  SECTION("short query list") {
    batch.input.uniform_qo_len = -1;
    batch.input.qo_indptr = batch.input.qo_indptr.first(2);
    CHECK_THAT(batch.refusal(), contains("qo_indptr has 2 entries"));
  }
  SECTION("falling KV list") {
    batch.kv_indptr[1] = 301;
    CHECK_THAT(batch.refusal(), contains("kv_indptr falls from 301 to 300 at request 1"));
  }
  SECTION("missing last pages") {
    batch.input.page_size = 16;
    batch.input.last_page_len = batch.input.last_page_len.first(1);
    CHECK_THAT(batch.refusal(), contains("last_page_len has 1 entries for 2 requests"));
  }
  SECTION("no split budget") {
    batch.input.max_split_per_batch = 0;
    CHECK_THAT(batch.refusal(), contains("max_split_per_batch = 0"));
  }
  SECTION("more KV heads than compute units") {
    batch.input.key.compute_units = ComputeUnits(1);
    batch.input.key.kv_heads = Heads(2);
    batch.input.key.heads_per_kv_head = Heads(8);
    CHECK_THAT(batch.refusal(), contains("1 compute units and 2 KV heads"));
  }
}

TEST_CASE("planners: the last page is looked at where it is given, and where there is one",
          "[plan]") {
  Batch batch({100, 0, 200}, all(3, 1));
  batch.last_page_len = {1, 77, 1};
  CHECK(batch.refusal() == "planned");
  batch.last_page_len[2] = 2;
  CHECK_THAT(batch.refusal(), contains("request 2 has 2 tokens in its last page"));
  batch.input.last_page_len = {};
  CHECK(batch.refusal() == "planned");
}

TEST_CASE("planner v1.2: the parallel kernel refuses what it was not written for", "[plan]") {
  Batch batch({100, 200}, all(2, 1));
  batch.input.kernel = V12Kernel::parallel;
  CHECK(batch.refusal() == "planned");
  SECTION("pages") {
    batch.input.page_size = 16;
    CHECK_THAT(batch.refusal(), contains("page_size 16"));
  }
  SECTION("folded heads") {
    batch.input.key.heads_per_kv_head = Heads(32);
    CHECK_THAT(batch.refusal(), contains("folded 2 to 1"));
  }
  SECTION("several rows") {
    batch.input.key.max_qo_len = 2;
    CHECK_THAT(batch.refusal(), contains("max_qo_len 2"));
  }
  SECTION("sparse keys") {
    batch.input.topk = 64;
    CHECK_THAT(batch.refusal(), contains("topk = 64"));
  }
  SECTION("more requests than scratch memory") {
    Batch large(all(4000, 5), all(4000, 1));
    large.input.kernel = V12Kernel::parallel;
    CHECK_THAT(large.refusal(), contains("4000 requests in 65536 bytes"));
    large.input.kernel = V12Kernel::automatic;
    CHECK(large.refusal() == "planned");
  }
}

TEST_CASE("planner v1.2: fewer keys than rows in several tiles is refused",
          "[plan][BUG-075][P34]") {
  Batch batch({50, 1}, all(2, 4));
  CHECK(batch.refusal() == "planned");  // one tile: the kernel masks
  split_query(batch);
  CHECK_THAT(batch.refusal(), contains("request 1 has n = 1 keys for q = 4"));
  CHECK(batch.bug() == "BUG-075");
  batch.input.causal = false;
  CHECK(batch.refusal() == "planned");
  batch.input.causal = true;
  batch.input.fidelity = Fidelity::as_aiter;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  std::int32_t shortest = 0;
  for (std::int64_t w = 0; w < plan->works(); ++w)
    shortest = std::min(shortest, plan->work(w).kv_end - plan->work(w).kv_begin);
  CHECK(shortest == -2);
}

TEST_CASE("planner v1.2: even tiles of which the last begins past the rows are refused", "[plan]") {
  const std::int64_t page_size = GENERATE(1, 16);
  for (const std::int64_t rows : {15, 16}) {
    Batch batch({100, 200}, all(2, rows), page_size);
    batch.input.key.arch = Arch::gfx950;
    batch.input.key.heads_per_kv_head = Heads(40);  // 3.2 rows in a workgroup's 128
    const bool past = rows == 16;                   // 5 tiles of 4, where 15 have 5 of 3
    CHECK_THAT(batch.refusal(),
               contains(past ? "(q = 16) has 5 tiles of 4 rows for 40 heads" : "planned"));
    batch.input.fidelity = Fidelity::as_aiter;
    const auto plan = batch.make();
    REQUIRE(plan.ok());
    bool empty = false;
    for (std::int64_t w = 0; w < plan->works(); ++w)
      empty = empty || plan->work(w).q_begin >= plan->work(w).q_end;
    CHECK(empty == past);
  }
}

TEST_CASE("planner v1.2: safe plans refuse lists that the original misreads", "[plan]") {
  Batch batch({100, 200, 40}, {2, 1, 2});
  SECTION("folded heads and ragged queries") {
    batch.input.key.heads_per_kv_head = Heads(32);
    const std::string sentence = "qo_indptr up to entry 6 of 4";
    CHECK_THAT(batch.refusal(), contains(sentence));
    batch.input.fidelity = Fidelity::as_aiter;
    CHECK_THAT(batch.refusal(), contains(sentence));
    batch.qo_indptr.insert(batch.qo_indptr.end(), {6, 7, 8});
    batch.input.qo_indptr = batch.qo_indptr;
    CHECK(batch.refusal() == "planned");
  }
  SECTION("rows beyond max_qo_len") {
    batch.input.key.max_qo_len = 1;
    CHECK_THAT(batch.refusal(), contains("request 0 has 2 query rows"));
  }
  SECTION("a KV list that starts late") {
    for (std::int32_t& i : batch.kv_indptr) i += 7;
    CHECK_THAT(batch.refusal(), contains("kv_indptr starts at 7"));
  }
  SECTION("a last page that cannot be") {
    batch.input.page_size = 16;
    batch.last_page_len = {4, 17, 1};
    CHECK_THAT(batch.refusal(), contains("request 1 has 17 tokens in its last page"));
  }
  SECTION("no rows in a split query") {
    batch.qo_indptr[2] = 2;
    split_query(batch);
    batch.input.fidelity = Fidelity::as_aiter;
    CHECK_THAT(batch.refusal(), contains("request 1 has 0 query rows"));
  }
}

TEST_CASE("planner v1.2: sparse requests are rows of equally long requests", "[plan]") {
  Batch batch({100, 200}, all(2, 2));
  batch.input.topk = 64;
  batch.input.key.max_qo_len = 1;
  CHECK_THAT(batch.refusal(), contains("uniform_qo_len is 2"));
  batch.input.uniform_qo_len = 1;
  CHECK(batch.refusal() == "planned");
  batch.qo_indptr = {0, 2, 3};
  CHECK_THAT(batch.refusal(), contains("request 1 has 1 query rows"));
  batch.qo_indptr = {0, 0, 0};
  CHECK_THAT(batch.refusal(), contains("request 0 has 0 query rows"));
  for (const std::int64_t rows : {1, 2}) {
    Batch ragged({100, 200}, all(2, rows));
    ragged.input.topk = 64;
    ragged.input.uniform_qo_len = -1;
    CHECK((ragged.refusal() == "planned") == (rows == 1));
  }
}

TEST_CASE("planner v1.2: a trim that hides visible keys is refused", "[plan]") {
  Batch batch({500}, all(1, 9));
  batch.input.key.heads_per_kv_head = Heads(32);
  CHECK(batch.refusal() == "planned");
  batch.input.cp_round_robin = true;
  CHECK_THAT(batch.refusal(), contains("of which only 0 are out of its sight"));
}

TEST_CASE("planners: a plan larger than its buffers is refused, or recorded as overruns",
          "[plan][BUG-015][P06]") {
  Batch batch({5000, 5000}, all(2, 1));
  batch.input.key.heads_per_kv_head = Heads(64);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  batch.input.version = PlannerVersion::v1_1;
  CHECK_THAT(batch.refusal(), contains("element 8 of reduce_indptr, which has 3 elements"));
  CHECK(batch.bug() == "BUG-015");
  batch.input.fidelity = Fidelity::as_aiter;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  REQUIRE_FALSE(plan->reduce_indptr.overruns().empty());
  CHECK(plan->reduce_indptr.overruns().rbegin()->first == 8);
}

TEST_CASE("planner v1.0: what it divides by or ignores is refused", "[plan]") {
  Batch batch({1000, 100}, all(2, 1));
  batch.input.version = PlannerVersion::v1_0;
  batch.input.max_split_per_batch = 16;
  SECTION("short requests on gfx950, in both fidelities") {
    batch.input.key.arch = Arch::gfx950;
    CHECK_THAT(batch.refusal(), contains("request 1 has 100 keys"));
    batch.input.fidelity = Fidelity::as_aiter;
    CHECK_THAT(batch.refusal(), contains("request 1 has 100 keys"));
  }
  SECTION("empty requests") {
    batch.kv_indptr = {0, 1000, 1000};
    CHECK_THAT(batch.refusal(), contains("request 1 has n = 0 keys"));
  }
  SECTION("a short tail after one piece") {
    batch.kv_indptr = {0, 1000, 1020};
    CHECK_THAT(batch.refusal(), contains("drops the last 4"));
    batch.input.fidelity = Fidelity::as_aiter;
    const auto plan = batch.make();
    REQUIRE(plan.ok());
    CHECK(plan->work(plan->works() - 1).kv_offset == 4);
  }
  SECTION("ragged queries") {
    batch.input.uniform_qo_len = -1;
    CHECK_THAT(batch.refusal(), contains("uniform_qo_len is -1"));
  }
  SECTION("sparse keys, pages, context parallelism") {
    batch.input.topk = 10;
    CHECK_THAT(batch.refusal(), contains("topk is 10"));
    batch.input.topk = -1;
    batch.input.cp_round_robin = true;
    CHECK_THAT(batch.refusal(), contains("cp_round_robin"));
    batch.input.cp_round_robin = false;
    batch.input.page_size = 2;
    batch.last_page_len = {1, 1};
    CHECK_THAT(batch.refusal(), contains("page_size is 2"));
  }
  SECTION("an empty batch") {
    batch.input.kv_indptr = batch.input.kv_indptr.first(1);
    CHECK_THAT(batch.refusal(), contains("0 requests"));
  }
}

TEST_CASE("planner v1.0: a last piece with as many keys as rows is planned, with one less refused",
          "[plan][BUG-012]") {
  // 16 splits of one block on gfx942, the last of which has the keys after 240.
  const auto answer = [](std::int64_t keys) {
    Batch batch({keys}, all(1, 6));
    batch.input.version = PlannerVersion::v1_0;
    batch.input.key.arch = Arch::gfx942;
    return batch.refusal();
  };
  CHECK_THAT(answer(245), contains("leaves the last 5 to a piece of 6 rows"));
  CHECK(answer(246) == "planned");
}

TEST_CASE("planner v1.0: 128 heads trim rows exactly when the query is not bf16", "[plan]") {
  Batch batch({1000, 600}, all(2, 2));
  batch.input.version = PlannerVersion::v1_0;
  batch.input.key.heads_per_kv_head = Heads(128);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  CHECK(batch.refusal() == "planned");
  batch.input.causal = false;
  CHECK_THAT(batch.refusal(), contains("trims its keys although causal is false"));
  batch.input.key.dtype = {Dtype::bf16, Dtype::bf16};
  CHECK(batch.refusal() == "planned");
  batch.input.causal = true;
  CHECK_THAT(batch.refusal(), contains("gives it all keys although causal is true"));
}

TEST_CASE("planner v1.1: what it divides by or ignores is refused", "[plan]") {
  Batch batch({1000, 100}, all(2, 1));
  batch.input.version = PlannerVersion::v1_1;
  SECTION("a query list for another batch") {
    batch.qo_indptr.push_back(3);
    batch.input.qo_indptr = batch.qo_indptr;
    CHECK_THAT(batch.refusal(), contains("qo_indptr has 4 entries and kv_indptr 3"));
  }
  SECTION("fewer rows than requests") {
    batch.qo_indptr = {0, 0, 1};
    batch.input.uniform_qo_len = -1;
    CHECK_THAT(batch.refusal(), contains("lists 1 query rows for 2 planning requests"));
  }
  SECTION("fewer keys than rows in several tiles") {
    Batch split({1000, 1}, all(2, 2));
    split.input.version = PlannerVersion::v1_1;
    split.input.key.heads_per_kv_head = Heads(128);
    CHECK_THAT(split.refusal(), contains("request 1 has n = 1 keys for q = 2"));
    CHECK(split.bug() == "BUG-075");
  }
  SECTION("but not as many keys as rows, nor fewer without a mask") {
    Batch split({1000, 2}, all(2, 2));
    split.input.version = PlannerVersion::v1_1;
    split.input.key.heads_per_kv_head = Heads(128);
    CHECK(split.refusal() == "planned");
    Batch unmasked({1000, 1}, all(2, 2));
    unmasked.input = split.input;
    unmasked.input.causal = false;
    unmasked.input.qo_indptr = unmasked.qo_indptr;
    unmasked.input.kv_indptr = unmasked.kv_indptr;
    CHECK(unmasked.refusal() == "planned");
  }
  SECTION("more requests than scratch memory") {
    Batch large(all(3000, 5), all(3000, 1));
    large.input.version = PlannerVersion::v1_1;
    // Four words a request and one more, two a slot, four a tile.
    CHECK_THAT(large.refusal(),
               contains("3000 planning requests take 98436 bytes of scratch memory"));
  }
  SECTION("a tile limit that the queries exceed") {
    Batch split({1000, 900}, all(2, 2));
    split.input.version = PlannerVersion::v1_1;
    split.input.key.heads_per_kv_head = Heads(128);
    split.input.key.max_qo_len = -1;
    CHECK_THAT(split.refusal(), contains("have 4 tiles, but max_qo_len = -1"));
  }
  SECTION("one piece that is taken for several") {
    Batch tiny({18}, all(1, 2));
    tiny.input.version = PlannerVersion::v1_1;
    tiny.input.key.heads_per_kv_head = Heads(128);
    tiny.input.key.compute_units = ComputeUnits(80);
    tiny.input.kv_granularity = 1;
    CHECK_THAT(tiny.refusal(), contains("leaves its only piece in the partial buffer"));
    tiny.input.fidelity = Fidelity::as_aiter;
    CHECK(tiny.refusal() == "planned");
  }
  SECTION("no room left, in both fidelities") {
    Batch empty({0}, all(1, 2));
    empty.input.version = PlannerVersion::v1_1;
    empty.input.key.heads_per_kv_head = Heads(128);
    empty.input.key.compute_units = ComputeUnits(4);
    CHECK_THAT(empty.refusal(), contains("divides by its room of 0"));
    empty.input.fidelity = Fidelity::as_aiter;
    CHECK_THAT(empty.refusal(), contains("divides by its room of 0"));
  }
}
