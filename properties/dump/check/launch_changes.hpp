// The launch of a planned step: what the kernel found, against what the planner left.
//
// A dump may hold lists, buffers and addresses a second time, as the kernel got them
// (docs/reference/bundles.md). A plan that is overwritten in between, or an address of a freed
// buffer, is a fault of neither planner nor kernel, and no check of the plan alone shows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/dump/dump.hpp"

namespace mla::dump {

// Words of the lists and of the written part of the plan that changed between planner and kernel:
// the first few in words, and how many there are.
struct LaunchChanges {
  std::vector<std::string> first;
  std::int64_t count = 0;
  // A list that ends before the planned batch does, and addresses that lead elsewhere.
  std::vector<std::string> violations;
  std::vector<std::string> notes;  // requests of the launch that the plan is not for
};

LaunchChanges launch_changes(const Planning& planned, const Launch& launch);

// Lists and buffers as the kernel found them. A graph's padding is left out.
Planning as_launched(const Planning& planned, const Launch& launch);

}  // namespace mla::dump
