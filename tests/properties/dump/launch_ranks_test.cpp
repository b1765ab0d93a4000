// Claims about what `check` says of a rank's plan whose launch was dumped beside it.
#include <algorithm>

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using namespace mla::dump::test;
using mla::test::contains;

namespace {

// 3 rows of a rank with 2 of a request's 3 keys, each in a piece of its own.
json rank_step() {
  json step = launched(-1, {{"arch", "gfx950"},
                            {"num_cu", 2},
                            {"seqlens_qo_indptr", {0, 3}},
                            {"seqlens_kv_indptr", {0, 2}},
                            {"kv_last_page_lens", {1}},
                            {"max_seqlen_qo", 3},
                            {"is_cp_round_robin", true}});
  step.erase("buffer_sizes");
  step.update({{"work_indptr", {0, 1, 2}},
               {"work_info", {0, 0, 0, 3, 0, 1, 1, 0, 0, 3, 0, 3, 1, 2, 0, 0}},
               {"reduce_indptr", {0, 2}},
               {"reduce_final_map", {0, 3}},
               {"reduce_partial_map", {0, 3}},
               {"launch_max_seqlen_q", 3}});
  for (const char* key : kBuffers) step[std::string("launch_") + key] = step[key];
  return step;
}

json on_rank(int ranks, int rank, int keys) {
  json step = rank_step();
  step.update({{"launch_cp_world_size", ranks}, {"launch_cp_rank", rank}});
  if (keys > 0) step["launch_g_kv_indptr"] = {0, keys};
  return step;
}

}  // namespace

TEST_CASE("launched call: a piece of a rank of which a row sees no key is a finding",
          "[cli][check][BUG-012]") {
  const auto hides = [](const json& step) {
    const Answer answer = checked(step);
    return answer.findings.size() == 1 && answer.findings[0].rule == "hidden_rows" &&
           answer.findings[0].work == 1;
  };
  CHECK(hides(on_rank(2, 0, 3)));
  CHECK_THAT(checked(on_rank(2, 0, 3)).findings[0].what,
             contains("rows 0..2 see none of its keys on rank 0 of 2"));
  CHECK(hides(on_rank(2, 0, 4)));
  CHECK(hides(on_rank(2, 0, 0)));  // 3 or 4
  CHECK(checked(on_rank(2, 1, 5)).findings.empty());
  // Only the launch says that the kernel masks, as engines plan for ranks.
  json step = on_rank(2, 0, 3);
  step["is_causal"] = false;
  CHECK(checked(step).findings.empty());
  step["launch_causal"] = true;
  CHECK(launch_finding(step) ==
        "planned for a step without a causal mask, the kernel gets a causal one");
  CHECK(checked(step).findings[1].rule == "hidden_rows");
}

TEST_CASE("launched call: what a row of a rank sees is a note where the ranks are not known",
          "[cli][check][BUG-012]") {
  const auto noted = [](const json& step) {
    const Answer answer = checked(step);
    CHECK(answer.findings.empty());
    return std::ranges::any_of(answer.notes, [](const std::string& note) {
      return note.find("a row may see no key of a piece") != std::string::npos;
    });
  };
  CHECK(noted(rank_step()));
  CHECK(noted(on_rank(4, 0, 0)));        // wrong with 5 and 6 keys, right with 7 and 8
  CHECK_FALSE(noted(on_rank(4, 0, 7)));  // told
  // AITER's planner leaves no piece with fewer keys than a request has rows.
  json step = launched(
      -1, {{"arch", "gfx950"}, {"num_heads_per_head_k", 128}, {"is_cp_round_robin", true}});
  CHECK_FALSE(noted(step));
}

TEST_CASE("launched call: a list of all ranks' keys that is too short is refused", "[cli][check]") {
  json step = on_rank(2, 0, 3);
  step["launch_g_kv_indptr"] = {0};
  CHECK(refusal(step) ==
        "key 'launch_g_kv_indptr' has 1 entries: expected at least the 2 of seqlens_kv_indptr");
}

TEST_CASE("launched call: a rank's rows may see no key, whatever its planner was told of a mask",
          "[cli][check][BUG-012]") {
  const auto says_so = [](const json& step) {
    const Answer answer = checked(step);
    CHECK(answer.findings.empty());
    return std::ranges::any_of(answer.notes, [](const std::string& note) {
      return note.find("a row may see no key of a piece") != std::string::npos;
    });
  };
  // As vLLM plans for ranks: without a mask, which the launch brings.
  json step = rank_step();
  step["is_causal"] = false;
  CHECK(says_so(step));
  step = on_rank(4, 0, 0);
  step["is_causal"] = false;
  CHECK(says_so(step));
  step["launch_causal"] = false;
  CHECK_FALSE(says_so(step));
  // Certain but for the mask.
  for (const int keys : {0, 3}) {
    step = on_rank(2, 0, keys);
    step["is_causal"] = false;
    CHECK(says_so(step));
  }
  step = on_rank(4, 0, 7);
  step["is_causal"] = false;
  CHECK_FALSE(says_so(step));
  // Without max_seqlen_qo AITER's planner leaves one key to the last of two pieces.
  for (const int rows : {3, 4})
    for (const bool causal : {true, false}) {
      step = launched(-1, {{"arch", "gfx950"},
                           {"num_cu", 8},
                           {"seqlens_qo_indptr", {0, rows}},
                           {"seqlens_kv_indptr", {0, 49}},
                           {"kv_last_page_lens", {1}},
                           {"max_seqlen_qo", -1},
                           {"is_causal", causal},
                           {"is_cp_round_robin", true}});
      step["launch_max_seqlen_q"] = rows;
      INFO(rows << " rows, causal " << causal);
      CHECK(says_so(step));
      if (!causal) step["launch_causal"] = true;
      step.update({{"launch_cp_world_size", 2}, {"launch_cp_rank", 0}});
      CHECK_FALSE(checked(step).findings.empty());  // 97 or 98 keys, of which row 0 sees 95 at most
    }
}
