// The golden vectors of fixtures/golden and how an answer is held against them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mla::golden {

inline const std::vector<std::string> kFiles = {
    "v10", "v11", "v12_h16_q1", "v12_heads", "ps_prefill", "v12_multitoken", "v12_paging_splits"};

// The parsed file; the test fails if it cannot be read.
nlohmann::json load(const std::string& name);

// One sentence for each thing in which `result` is not what `golden` says. `expected` names the
// golden arrays: "expected" or "expected_serial". An expected refusal must name the value.
std::vector<std::string> differences(const nlohmann::json& golden, const nlohmann::json& result,
                                     const std::string& expected);

}  // namespace mla::golden
