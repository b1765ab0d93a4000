// Claims about what `check` says of a launch that was dumped beside its plan.
#include <limits>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using namespace mla::dump::test;
using mla::test::contains;

TEST_CASE("launch: a kernel that found what was planned has no finding and no note",
          "[cli][check]") {
  const Answer answer = checked(launched());
  CHECK(answer.findings.empty());
  CHECK(answer.notes.empty());
}

TEST_CASE(
    "launch: each overwritten buffer is found, its first words are named, and the planner "
    "is not blamed",
    "[cli][check]") {
  for (const char* key : kBuffers) {
    json step = launched();
    json& words = step[std::string("launch_") + key];
    for (json& word : words) word = 0;
    INFO(key);
    CHECK_THAT(launch_finding(step), contains("changed between planner and kernel: "));
    CHECK_THAT(launch_finding(step), contains("and is 0 at the launch"));
    CHECK(checked(step).culprit == "what came after the planner");
    CHECK(checked(step).findings.size() > 1);  // and what is wrong with what the kernel found
  }
  json one = launched();
  one["launch_work_info"][5] = 1;
  CHECK_THAT(launch_finding(one), contains("work 0 kv_end was planned as "));
}

TEST_CASE("launch: more than four changed words are counted, not listed", "[cli][check]") {
  json step = launched();
  for (json& word : step["launch_work_info"]) word = 7;
  CHECK_THAT(launch_finding(step), contains(" more"));
}

TEST_CASE("launch: a page id that changed is named, and judged as the kernel found it",
          "[cli][check]") {
  json step = launched();
  std::vector<int> pages(1000);
  std::iota(pages.begin(), pages.end(), 5);
  step["kv_indices"] = pages;
  step["launch_kv_indices"] = pages;
  step["num_pages"] = 2001;
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
  step["launch_kv_indices"][999] = 2000;
  REQUIRE(checked(step).notes.size() == 1);
  CHECK_THAT(checked(step).notes[0],
             contains("kv_indices[999] was planned as 1004 and is 2000 at the launch; what the "
                      "kernel found is valid as well"));
  step["launch_kv_indices"][999] = -1;
  CHECK(checked(step).culprit == "what came after the planner");
  step["launch_kv_indices"] = {1, 2, 3};
  CHECK(launch_finding(step) ==
        "kv_indices has 3 entries at the launch, the planned batch has 1000");
}

TEST_CASE("launch: a buffer of the launch that has no whole rows is named as that",
          "[cli][check]") {
  json step = launched();
  step["launch_work_info"].push_back(1);
  CHECK_THAT(refusal(step), contains("as the kernel found it, key 'work_info' has "));
}

TEST_CASE("launch: works after the last one may hold anything", "[cli][check]") {
  json step = launched();
  const auto works = step["work_indptr"].back().get<std::size_t>();
  auto& words = step["launch_work_info"];
  while (words.size() < (works + 1) * 8) words.push_back(-7);
  words[works * 8] = 12345;
  CHECK(checked(step).findings.empty());
}

TEST_CASE("launch: lists that changed to those of another step are found", "[cli][check]") {
  json step = launched();
  step["launch_seqlens_kv_indptr"] = {0, 400, 800};
  CHECK_THAT(launch_finding(step),
             contains("seqlens_kv_indptr[1] was planned as 500 and is 400 at the launch"));
}

TEST_CASE("launch: entries after the planned batch are a graph's padding, fewer are a finding",
          "[cli][check]") {
  json step = launched();
  step["launch_seqlens_kv_indptr"] = {0, 500, 1000, 1000, 1000};
  CHECK(checked(step).findings.empty());
  step["launch_seqlens_kv_indptr"] = {0, 500};
  CHECK(launch_finding(step) ==
        "seqlens_kv_indptr has 2 entries at the launch, the planned batch has 3");
}

TEST_CASE("launch: lists of more slots than were planned are judged as the kernel found them",
          "[cli][check]") {
  for (const int works : {0, 1}) {
    json step = launched();
    json& slots = step["launch_work_indptr"];
    slots.push_back(slots.back().get<int>() + works);
    const std::string what = "work_indptr has 6 words at the launch, the planner got 5";
    if (works == 0) {
      REQUIRE(checked(step).notes.size() == 1);
      CHECK_THAT(checked(step).notes[0], contains(what + "; what the kernel found is valid"));
    } else {
      CHECK_THAT(launch_finding(step), contains(what));
    }
  }
}

TEST_CASE("launch: fewer page ids than the planned batch uses are a finding", "[cli][check]") {
  json step = launched();
  step["launch_total_kv"] = 1000;
  CHECK(checked(step).findings.empty());
  step["launch_total_kv"] = 999;
  CHECK(launch_finding(step) ==
        "kv_indices has 999 entries at the launch (launch_total_kv), the planned batch has 1000");
  step["launch_total_kv"] = -5;
  CHECK_THAT(refusal(step), contains("'launch_total_kv' is -5: expected at least 0"));
}

TEST_CASE("launch: a change that leaves a valid plan is a note", "[cli][check]") {
  json step = launched();
  const json uncut = launched(1);
  for (const char* key : kBuffers) step[std::string("launch_") + key] = uncut[key];
  REQUIRE(step["work_info"] != step["launch_work_info"]);
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  REQUIRE(answer.notes.size() == 1);
  CHECK_THAT(answer.notes[0], contains("changed between planner and kernel: ") &&
                                  contains("; what the kernel found is valid as well"));
}

TEST_CASE("launch: a plan broken when it was planned keeps its culprit, the change is a note",
          "[cli][check]") {
  json step = launched();
  step["num_heads_per_head_k"] = 128;  // the plan is that of 16
  const std::string culprit = checked(step).culprit;
  step["launch_work_info"][5] = 1;
  const Answer answer = checked(step);
  CHECK(answer.culprit == culprit);
  CHECK(answer.culprit == "the builder");
  REQUIRE(answer.notes.size() == 1);
  CHECK_THAT(answer.notes[0], contains("changed between planner and kernel: work 0 kv_end"));
}

TEST_CASE("launch: a kernel that is told of fewer rows than a request has is a finding",
          "[cli][check]") {
  json step = launched();
  step["launch_max_seqlen_q"] = 1;
  CHECK_THAT(launch_finding(step),
             contains("planned for 2 query rows a request, the kernel gets 1"));
  CHECK(checked(step).culprit == "the builder");
}

TEST_CASE("launch: where the planner was told of no rows, the longest request is the measure",
          "[cli][check]") {
  json step = launched();
  step["max_seqlen_qo"] = -1;
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
  step["launch_max_seqlen_q"] = 1;
  CHECK_THAT(launch_finding(step), contains("planned for an unknown number of rows (the longest "
                                            "request has 2), the kernel gets 1"));
  CHECK(checked(step).culprit == "the builder");
  step["launch_max_seqlen_q"] = 4;
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
}

TEST_CASE("launch: where the planner was told of no rows, the kernel is that of the launch",
          "[cli][check]") {
  // Planned as one tile. The kernel for 5 rows packs 64 rows of all heads, that for 8 rows 128.
  json step =
      launched(-1, {{"arch", "gfx950"}, {"seqlens_qo_indptr", {0, 5, 10}}, {"max_seqlen_qo", -1}});
  step["launch_max_seqlen_q"] = 5;
  CHECK_THAT(checked(step).findings[0].what, contains("a workgroup takes 4 rows of 16 heads"));
  CHECK(checked(step).culprit == "the planner");
  CHECK(checked(step).notes.empty());
  step["launch_max_seqlen_q"] = 8;
  CHECK(checked(step).findings.empty());
}

TEST_CASE("launch: no kernel is launched for fewer than one row", "[cli][check]") {
  for (const int planned : {-1, 2})
    for (const int rows : {0, -1, -7}) {
      json step = launched();
      step["max_seqlen_qo"] = planned;
      step["launch_max_seqlen_q"] = rows;
      CHECK(launch_finding(step) == "max_seqlen_q is " + std::to_string(rows) +
                                        " at the launch: a kernel takes at least 1 row");
      CHECK(checked(step).culprit == "the builder");
    }
}

TEST_CASE("launch: the rows of the launch choose the kernel, not those that were planned",
          "[cli][check]") {
  json step = launched();
  step["max_seqlen_qo"] = 8;
  step["launch_max_seqlen_q"] = 2;
  CHECK(checked(step).findings.empty());
  step["max_seqlen_qo"] = 2;
  step["launch_max_seqlen_q"] = 8;
  CHECK_THAT(launch_finding(step),
             contains("planned for 2 query rows a request, the kernel gets 8"));
  CHECK(checked(step).findings.back().what ==
        "no persistent kernel is right for 16 heads, 8 query rows, bf16/bf16 on gfx942");
  CHECK(checked(step).culprit == "the builder");
  CHECK(checked(step).diagnosis == "it is the plan of 2 query rows a request, the kernel gets 8");
}

TEST_CASE("launch: work_meta_data has to lead to the buffers of the launch", "[cli][check]") {
  json step = launched();
  step["launch_addresses"]["work_meta_data"][1] = 8192;
  CHECK(launch_finding(step) ==
        "work_meta_data leads to 0x2000 for work_info, which is at 0x1000: the kernel reads other "
        "memory");
  step = launched();
  step["launch_addresses"]["work_meta_data"][0] = 0;
  CHECK_THAT(launch_finding(step), contains("work_meta_data leads to 0x0 for work_indptr, which "
                                            "is at 0xfffe000012345000"));
}

TEST_CASE("launch: an unknown key of launch_addresses is refused with a suggestion",
          "[cli][check]") {
  json step = launched();
  step["launch_addresses"] = {{"work_indptr", 1}, {"work_info_set", 2}, {"work_meta_data", {1, 3}}};
  const auto answer = read_and_check(step);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().message ==
        "key 'launch_addresses' has 'work_info_set', which is unknown; did you mean 'work_info'?");
}

TEST_CASE("launch: keys of a wrong type are refused by name", "[cli][check]") {
  for (const auto& [key, value] :
       {std::pair("launch_addresses", json(3)), std::pair("launch_max_seqlen_q", json("two")),
        std::pair("launch_work_info", json("x")), std::pair("launch_seqlens_qo_indptr", json(1)),
        std::pair("launch_addresses", json{{"work_meta_data", {1}}})}) {
    json step = launched();
    step[key] = value;
    INFO(refusal(step));
    CHECK_THAT(
        refusal(step),
        contains(std::string(key).starts_with("launch_work") ? "work_info" : std::string(key)));
  }
}

TEST_CASE("launch: a buffer that is shorter than what the plan uses is a finding", "[cli][check]") {
  json step = launched();
  step["launch_work_info"].erase(step["launch_work_info"].begin() + 8,
                                 step["launch_work_info"].end());
  CHECK_THAT(launch_finding(step), contains("work_info_set has 8 words at the launch, the plan"));
  CHECK_THAT(checked(step).findings.back().what, contains("work_info_set has 1 records"));
  step["launch_work_info"] = json::array();
  CHECK_THAT(launch_finding(step), contains("work_info_set has 0 words at the launch"));
}

TEST_CASE("launch: a request after the planned ones is noted if it has rows and several pages",
          "[cli][check]") {
  json step = launched();
  const json rows = step["seqlens_qo_indptr"], pages = step["seqlens_kv_indptr"];
  const auto more = [&](int own, int held) {
    step["launch_seqlens_qo_indptr"] = rows;
    step["launch_seqlens_kv_indptr"] = pages;
    step["launch_seqlens_qo_indptr"].push_back(rows.back().get<int>() + own);
    step["launch_seqlens_kv_indptr"].push_back(pages.back().get<int>() + held);
    return checked(step);
  };
  CHECK(more(4, 1).notes.empty());
  CHECK(more(0, 200).notes.empty());
  CHECK(more(4, 200).findings.empty());
  REQUIRE(more(4, 200).notes.size() == 1);
  CHECK_THAT(more(4, 200).notes[0], contains("of 4 rows and 200 pages; the plan is for "));
}

TEST_CASE("launch: page ids that are known of the launch alone are judged", "[cli][check]") {
  json step = launched();
  std::vector<int> ids(1000);
  std::iota(ids.begin(), ids.end(), 0);
  step["launch_kv_indices"] = ids;
  CHECK(checked(step).findings.empty());
  ids[7] = -5;
  step["launch_kv_indices"] = ids;
  CHECK(launch_finding(step) == "the page ids, as the kernel found them:");
  CHECK_THAT(checked(step).findings.back().what, contains("page 7 of request 0 is -5"));
}

TEST_CASE("launch: what was planned may stand below 'expected', and not beside it",
          "[cli][check]") {
  json step = launched();
  for (const char* key : kBuffers) {
    step["expected"][key] = step[key];
    step.erase(key);
  }
  CHECK(checked(step).findings.empty());
  step["launch_work_info"][0] = 1;
  CHECK_THAT(launch_finding(step), contains("changed between planner and kernel: work 0 batch"));
  step["work_info"] = json::array({7, 7, 7, 7, 7, 7, 7, 7});
  CHECK_THAT(refusal(step), contains("key 'work_info' stands beside 'expected'"));
}

TEST_CASE("check: numbers beyond 32 bits are no words, and sizes of gigabytes are refused",
          "[cli][check]") {
  json step = launched();
  step["work_info"][1] = std::numeric_limits<std::uint64_t>::max();
  CHECK_THAT(refusal(step), contains("key 'work_info' must be a list of 32-bit integers"));
  for (const char* buffer : {"work_indptr", "reduce_indptr", "reduce_partial_map"}) {
    step = launched();
    step["buffer_sizes"][buffer] = {std::int64_t{1} << 26};
    CHECK_THAT(refusal(step), contains("expected at most 67108864"));
    step["buffer_sizes"][buffer] = {std::numeric_limits<std::uint64_t>::max()};
    CHECK_THAT(refusal(step), contains("it must be a shape of at most 67108864 words"));
  }
}
