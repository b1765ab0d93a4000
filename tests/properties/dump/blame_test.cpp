// Claims about the diagnosis of a broken plan: it names who asked the wrong question, and what it
// was.
#include "properties/dump/blame/blame.hpp"

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using Json = nlohmann::ordered_json;
using mla::test::contains;

namespace {

// A call as an engine makes it: two requests of `rows` rows.
Json call_of(std::int64_t rows, std::int64_t heads, const char* dtype) {
  return {{"arch", "gfx942"},
          {"num_cu", 4},
          {"seqlens_qo_indptr", {0, rows, 2 * rows}},
          {"seqlens_kv_indptr", {0, 500, 1000}},
          {"kv_last_page_lens", {1, 1}},
          {"num_heads_per_head_k", heads},
          {"num_heads_k", 1},
          {"is_causal", true},
          {"max_seqlen_qo", rows},
          {"uni_seqlen_qo", rows},
          {"dtype_q", dtype},
          {"dtype_kv", dtype}};
}

// The call with the buffers that the original planner makes for `asked`, `larger` times as large as
// it asks for.
Json captured(Json call, const Json& asked, std::int64_t larger = 1) {
  const auto question = read_planner_call(asked);
  REQUIRE(question.ok());
  plan::PlanInput input = question->input;
  input.fidelity = plan::Fidelity::as_aiter;
  auto sizes = plan::query_sizes(question->sizes());
  REQUIRE(sizes.ok());
  for (auto* size : {&sizes->work_items, &sizes->reduce_indptr, &sizes->reduce_final_rows,
                     &sizes->reduce_partial_map})
    *size *= larger;
  const auto plan = plan::make_plan(input, *sizes);
  REQUIRE(plan.ok());
  write_plan(call, *sizes, *plan);
  return call;
}

Answer checked(const Json& object) {
  return mla::dump::test::checked(nlohmann::json::parse(object.dump()));
}

}  // namespace

TEST_CASE("diagnosis: lists that contradict each other are the builder's, with a plan or without",
          "[cli][check]") {
  for (const bool planned : {true, false}) {
    const Json call = call_of(1, 16, "bf16");
    Json step = planned ? captured(call, call) : call;
    CHECK(checked(step).findings.empty());
    step["seqlens_kv_indptr"] = {0, 500, 300};
    const Answer answer = checked(step);
    CHECK(answer.culprit == "the builder");
    REQUIRE(answer.findings.size() == 1);
    CHECK_THAT(answer.findings[0].what, contains("runs backwards at request 1: 500 to 300"));
  }
}

TEST_CASE("diagnosis: a valid plan blames no one", "[cli][check]") {
  const Json call = call_of(2, 128, "fp8");
  const Answer answer = checked(captured(call, call));
  CHECK(answer.findings.empty());
  CHECK(answer.culprit.empty());
}

TEST_CASE(
    "diagnosis: a plan whose planner wrote past the end of a buffer is broken, "
    "though no work is lost",
    "[cli][check][BUG-079]") {
  // Six tiles, none of them split: reduce_indptr has a 0 for each.
  Json call = call_of(1, 16, "bf16");
  call["seqlens_qo_indptr"] = {0, 1, 2, 3, 4, 5, 6};
  call["seqlens_kv_indptr"] = {0, 20, 40, 60, 80, 100, 120};
  call["kv_last_page_lens"] = {1, 1, 1, 1, 1, 1};
  for (const std::int64_t room : {7, 6}) {
    Json step = captured(call, call);
    step["reduce_indptr"] = std::vector<int>(static_cast<std::size_t>(room), 0);
    step["buffer_sizes"]["reduce_indptr"] = {room};
    const Answer answer = checked(step);
    CHECK(answer.findings.empty() == (room == 7));
    if (room == 7) continue;
    REQUIRE(answer.findings.size() == 1);
    CHECK(answer.findings[0].rule == kBufferRule);
    CHECK(answer.findings[0].what ==
          "the planner writes element 6 of reduce_indptr, which was allocated with 6");
    CHECK(answer.culprit == "the builder");
    CHECK(answer.diagnosis == answer.findings[0].what);
  }
}

TEST_CASE("diagnosis: the builder's wrong question is named", "[cli][check]") {
  const Json call = call_of(3, 128, "fp8");
  const std::pair<Json, const char*> wrong[] = {
      {call_of(3, 16, "fp8"), "the plan of 16 heads, the kernel gets 128"},
      {call_of(1, 128, "fp8"), "the plan of 1 query rows a request, the longest has 3"},
      {call_of(3, 128, "bf16"), "the plan of bf16/bf16 tensors, these are fp8/fp8"},
  };
  for (const auto& [asked, sentence] : wrong) {
    const Answer answer = checked(captured(call, asked));
    CHECK_FALSE(answer.findings.empty());
    CHECK(answer.culprit == "the builder");
    CHECK_THAT(answer.diagnosis, contains(sentence));
  }
}

TEST_CASE("diagnosis: the plan of a step without a mask is not called one of other pages",
          "[cli][check]") {
  // Neither a step without a mask nor one with pages of 16 trims the last keys of a tile.
  const Json call = call_of(4, 128, "fp8");
  Json unmasked = call;
  unmasked["is_causal"] = false;
  const Answer answer = checked(captured(call, unmasked));
  CHECK_FALSE(answer.findings.empty());
  CHECK(answer.culprit == "the builder");
  CHECK(answer.diagnosis == "it is the plan of a step without a causal mask");
}

TEST_CASE("diagnosis: a plan of another step is called one", "[cli][check]") {
  const Json call = call_of(1, 16, "bf16");
  Json earlier = call;
  earlier["seqlens_kv_indptr"] = {0, 400, 700};
  const Answer answer = checked(captured(call, earlier));
  CHECK_FALSE(answer.findings.empty());
  CHECK_THAT(answer.culprit, contains("what came after it"));
  CHECK_THAT(answer.diagnosis, contains("another step, or damaged"));
}

TEST_CASE("diagnosis: a plan of lists in other pages is called one", "[cli][check]") {
  // 500 keys a request, counted in pages of 16 and of 1.
  Json call = call_of(1, 16, "bf16");
  call["page_size"] = 16;
  call["seqlens_kv_indptr"] = {0, 32, 64};
  call["kv_last_page_lens"] = {4, 4};
  const Json tokens = call_of(1, 16, "bf16");
  CHECK(checked(captured(call, call)).findings.empty());
  const Answer answer = checked(captured(call, tokens));
  CHECK_FALSE(answer.findings.empty());
  CHECK(answer.culprit == "the builder");
  CHECK(answer.diagnosis ==
        "it is the plan of lists that count pages of 1 token, these count pages of 16");
  CHECK_THAT(checked(captured(tokens, call)).diagnosis,
             contains("count pages of 16 tokens, these count pages of 1"));
}

TEST_CASE("diagnosis: a plan of one of the steps before says how many keys ago it was made",
          "[cli][check]") {
  const Json call = call_of(2, 16, "bf16");
  for (const auto& [ago, text] : {std::pair(1, "1 key fewer"), std::pair(6, "6 keys fewer")}) {
    Json before = call;
    before["seqlens_kv_indptr"] = {0, 500 - ago, 1000 - 2 * ago};
    const Answer answer = checked(captured(call, before));
    CHECK(answer.culprit == "the builder");
    CHECK_THAT(answer.diagnosis, contains("an earlier step: every request had") && contains(text));
  }
}

TEST_CASE("diagnosis: a plan that lacks the last requests is called one", "[cli][check]") {
  Json call = call_of(1, 16, "bf16");
  Json fewer = call;
  fewer["seqlens_qo_indptr"] = {0, 1};
  fewer["seqlens_kv_indptr"] = {0, 500};
  fewer["kv_last_page_lens"] = {1};
  const Answer answer = checked(captured(call, fewer));
  CHECK(answer.culprit == "the builder");
  CHECK(answer.diagnosis == "it is the plan of the first 1 requests, the batch has 2");
}

TEST_CASE("diagnosis: other heads may come with other uniform rows", "[cli][check]") {
  Json call = call_of(2, 16, "bf16");
  call["uni_seqlen_qo"] = -1;
  const Answer answer = checked(captured(call, call_of(2, 128, "bf16")));
  CHECK_FALSE(answer.findings.empty());
  CHECK(answer.diagnosis == "it is the plan of 128 heads, the kernel gets 16");
}

TEST_CASE("diagnosis: few damaged words are named with what was planned", "[cli][check]") {
  const Json call = call_of(1, 16, "bf16");
  const Json sound = captured(call, call);
  const auto word = [&](const char* list, std::size_t at) {
    return sound[list][at].get<std::int64_t>();
  };
  const auto damaged = [&](std::vector<std::pair<const char*, std::size_t>> words) {
    Json step = sound;
    for (const auto& [list, at] : words) step[list][at] = word(list, at) + 1;
    const Answer answer = checked(step);
    CHECK_FALSE(answer.findings.empty());
    CHECK_THAT(answer.culprit, contains("what came after it"));
    return answer.diagnosis;
  };
  const auto is = [&](const char* list, std::size_t at) {
    return " is " + std::to_string(word(list, at) + 1) + ", planned " +
           std::to_string(word(list, at));
  };
  CHECK(damaged({{"work_info", 5}}) ==
        "it differs from the planner's in one word: work 0 kv_end" + is("work_info", 5));
  CHECK(damaged({{"work_info", 8}}) ==
        "it differs from the planner's in one word: work 1 batch" + is("work_info", 8));
  CHECK_THAT(damaged({{"work_indptr", 4}}), contains("one word: work_indptr[4]"));
  CHECK_THAT(damaged({{"reduce_final_map", 1}}), contains("one word: reduce entry 0 q_end"));
  CHECK_THAT(damaged({{"reduce_partial_map", 1}}), contains("one word: reduce_partial_map[1]"));
  CHECK(damaged({{"work_info", 5}, {"reduce_indptr", 1}}) ==
        "it differs from the planner's in 2 words: work 0 kv_end" + is("work_info", 5) +
            "; reduce_indptr[1]" + is("reduce_indptr", 1));
  CHECK_THAT(damaged({{"work_info", 3},
                      {"work_info", 4},
                      {"work_info", 5},
                      {"work_info", 11},
                      {"work_info", 12}}),
             contains("another step, or damaged"));
  Json unwritten = sound;
  unwritten["work_info"][5] = nullptr;
  CHECK_THAT(checked(unwritten).diagnosis, contains("work 0 kv_end is unwritten, planned"));
}

TEST_CASE("diagnosis: partial rows in another order merge to the same result", "[cli][check]") {
  const Json call = call_of(1, 16, "bf16");
  Json step = captured(call, call);
  REQUIRE(step["reduce_indptr"][1] == 2);
  std::swap(step["reduce_partial_map"][0], step["reduce_partial_map"][1]);
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  CHECK(answer.culprit.empty());
}

TEST_CASE("diagnosis: what the planner itself gives is the planner's", "[cli][check]") {
  // Fewer keys than rows in several tiles: the original trims beyond the beginning (BUG-075).
  Json call = call_of(4, 128, "fp8");
  call["seqlens_kv_indptr"] = {0, 1, 501};
  const Answer answer = checked(captured(call, call));
  CHECK_FALSE(answer.findings.empty());
  CHECK(answer.culprit == "the planner");
}

TEST_CASE("diagnosis: lists that contradict each other are the builder's", "[cli][check]") {
  const Json call = call_of(1, 16, "bf16");
  Json object = captured(call, call);
  object["seqlens_kv_indptr"] = {0, 500, 400};
  const Answer answer = checked(object);
  CHECK(answer.culprit == "the builder");
  CHECK_THAT(answer.diagnosis, contains("contradict"));
}

TEST_CASE("diagnosis: a plan for a shape that no kernel takes is the builder's, though it is right",
          "[cli][check]") {
  Json mixed = call_of(1, 16, "fp8");
  mixed["dtype_kv"] = "bf16";
  for (const char* mode : {"v1.2", "v1.1"})
    for (const auto& [asked, shape] :
         {std::pair(call_of(6, 16, "bf16"), "16 heads, 6 query rows, bf16/bf16 on gfx942"),
          std::pair(call_of(8, 16, "bf16"), "16 heads, 8 query rows, bf16/bf16 on gfx942"),
          std::pair(mixed, "16 heads, 1 query rows, fp8/bf16 on gfx942")}) {
      Json call = asked;
      call["fast_mode"] = std::string(mode) == "v1.2";
      const Answer answer = checked(captured(call, call));
      INFO(mode);
      REQUIRE(answer.findings.size() == 1);
      CHECK(answer.findings[0].rule == kKernelRule);
      CHECK(answer.findings[0].what == std::string("no persistent kernel is right for ") + shape);
      CHECK(answer.culprit == "the builder");
      CHECK_THAT(answer.diagnosis, contains("asked for a plan that no kernel takes"));
    }
}

TEST_CASE("diagnosis: of a call without max_seqlen_qo the longest request chooses the kernel",
          "[cli][check]") {
  for (const int untold : {-1, 0})
    for (const auto& [rows, findings] : {std::pair(4, 0U), std::pair(6, 1U)}) {
      Json call = call_of(rows, 16, "bf16");
      call["max_seqlen_qo"] = untold;
      CHECK(checked(captured(call, call)).findings.size() == findings);
    }
}

TEST_CASE("diagnosis: of a call without max_seqlen_qo the sentence has the longest request",
          "[cli][check]") {
  Json call = call_of(3, 128, "fp8");
  call["max_seqlen_qo"] = -1;
  CHECK(checked(captured(call, call_of(1, 128, "fp8"))).diagnosis ==
        "it is the plan of 1 query rows a request, the longest has 3");
}

TEST_CASE(
    "diagnosis: folded heads that gfx950's fp8 kernel looks up too far have a note from three rows",
    "[cli][check]") {
  for (const auto& [rows, kernel] : {std::pair(2, ""), std::pair(3, "a8w8 qh16_qseqlen4_v3 folded"),
                                     std::pair(5, "a8w8 qh32_qseqlen4 folded")}) {
    Json call = call_of(rows, 48, "fp8");
    call["arch"] = "gfx950";
    const Answer answer = checked(captured(call, call));
    CHECK(answer.findings.empty());
    const std::size_t late = rows == 3 ? 1 : 0;  // AITER-10
    REQUIRE(answer.notes.size() == (rows < 3 ? 0 : 1 + late));
    if (rows < 3) continue;
    CHECK(answer.notes[0] ==
          std::string(kernel) +
              " reads qo_indptr with the folded request index, for most requests "
              "past the end of the list");
  }
}

TEST_CASE("diagnosis: a plan of folded heads is wrong for a kernel that takes them whole",
          "[cli][check]") {
  // Planner v1.1 folds 64 heads of every dtype; the kernel for fp8 and one row takes all of them.
  Json call = call_of(1, 64, "fp8");
  call["fast_mode"] = false;
  const Answer answer = checked(captured(call, call, 4));
  CHECK_FALSE(answer.findings.empty());
  CHECK(answer.culprit == "the planner");
  call["max_seqlen_qo"] = call["uni_seqlen_qo"] = 2;
  call["seqlens_qo_indptr"] = {0, 2, 4};
  CHECK(checked(captured(call, call, 4)).findings.empty());
}

TEST_CASE("diagnosis: a tile has no more pieces than the device has compute units",
          "[cli][check]") {
  Json call = call_of(1, 16, "bf16");
  call["seqlens_kv_indptr"] = {0, 100000, 100001};
  Json larger = call;
  call["num_cu"] = 80;
  larger["num_cu"] = 304;
  CHECK(checked(captured(larger, larger)).findings.empty());
  const Answer answer = checked(captured(call, larger));
  REQUIRE(answer.findings.size() == 1);
  CHECK(answer.findings[0].rule == "reduce_list");
  CHECK_THAT(answer.findings[0].what, contains(" pieces, and the reduce has room for 80"));
}

TEST_CASE("diagnosis: a list of works for more compute units is the builder's", "[cli][check]") {
  const Json call = call_of(1, 16, "bf16");
  Json step = captured(call, call);
  step["buffer_sizes"]["work_indptr"] = {6};
  const Answer answer = checked(step);
  CHECK_THAT(answer.findings.at(0).what, contains("runs backwards at slot 4"));
  CHECK(answer.culprit == "the builder");
  CHECK(answer.diagnosis ==
        "work_indptr has 6 entries, of which the planner fills 5 for 4 compute units");
}

TEST_CASE("diagnosis: a plan for ranks on a kernel that has no build for them is the builder's",
          "[cli][check]") {
  for (const std::int64_t rows : {1, 2}) {
    Json call = call_of(rows, 16, "bf16");
    call["is_cp_round_robin"] = true;
    Json step = captured(call, call);
    const Answer answer = checked(step);
    if (rows == 1) {  // which sees all keys of its rank
      CHECK(answer.findings.empty());
      continue;
    }
    REQUIRE(answer.findings.size() == 1);
    CHECK(answer.findings[0].rule == kKernelRule);
    CHECK(answer.findings[0].what ==
          "is_cp_round_robin is true, and there is no round-robin build of a16w16 qh16_m16x4 on "
          "gfx942");
    CHECK(answer.culprit == "the builder");
    step["arch"] = call["arch"] = "gfx950";
    CHECK(checked(captured(call, call)).findings.empty());
  }
}

TEST_CASE("diagnosis: heads that a kernel takes are named before heads that none takes",
          "[cli][check]") {
  Json call = call_of(4, 64, "bf16");
  call["arch"] = "gfx950";
  Json asked = call;
  asked["num_heads_per_head_k"] = 16;
  CHECK(checked(captured(call, asked)).diagnosis ==
        "it is the plan of 16 heads, the kernel gets 64");
}
TEST_CASE("a broken plan says how many requests, rows and works are wrong", "[cli][check]") {
  const Json call = call_of(2, 16, "bf16");
  Json step = captured(call, call);
  CHECK(checked(step).where.empty());
  // One word of one work: the end of its keys. The next one begins where it does not end.
  Json damaged = step;
  const std::int64_t end = damaged["work_info"][5].get<std::int64_t>();
  damaged["work_info"][5] = end - 16;
  CHECK(checked(damaged).where == "1 of 2 requests (0), 2 of 4 rows, 2 of 4 works (0, 1)");
  // A plan of one row a request: no work has the others.
  CHECK(
      checked(captured(call, call_of(1, 16, "bf16"))).where.starts_with("2 of 2 requests (0, 1)"));
  // What is about no request says nothing.
  step["work_indptr"][0] = 1;
  CHECK(checked(step).where.empty());
}
