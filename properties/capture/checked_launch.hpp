// The launch of a planned step: what the kernel found, against what the planner left.
//
// A dump may hold lists, buffers and addresses a second time, as the kernel got them
// (`launch_...`, docs/reference/bundles.md). A plan that is overwritten in between, or an address
// of a freed buffer, is a fault of neither planner nor kernel, and no check of the plan alone shows
// it. What else the kernel is told is launched_call.hpp's. Fails: a launch_ key that holds
// something else than it should.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::cli {

// Words of the lists and of the written part of the plan that changed between planner and kernel:
// the first few in words, and how many there are.
struct LaunchChanges {
  std::vector<std::string> first;
  std::int64_t count = 0;
  // A list that ends before the planned batch does, and addresses that lead elsewhere.
  std::vector<std::string> violations;
  std::vector<std::string> notes;  // requests of the launch that the plan is not for
};

// The key of the rows that the kernel is told of, by which it is chosen.
inline constexpr const char* kLaunchRows = "launch_max_seqlen_q";

// Whether the document says anything about a launch.
bool has_launch(const nlohmann::json& object);

Result<LaunchChanges> launch_changes(const PlannerCall& call, const nlohmann::json& object);

// The document without the keys of the launch.
nlohmann::json without_launch(const nlohmann::json& object);
// `out` with what `object` says of the ranks of its launch.
nlohmann::json with_ranks(nlohmann::json out, const nlohmann::json& object);
// The document without the keys of the launch, with lists and buffers as the kernel found them.
nlohmann::json as_launched(const nlohmann::json& object);

}  // namespace mla::cli
