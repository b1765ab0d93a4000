// The pictures of a plan, one function and one file each.
//
// A picture holds at most a few thousand shapes whatever the plan: what is beyond that is drawn
// together or left out, and a note of the picture says so. Works that a finding names come first.
#pragma once

#include <optional>
#include <vector>

#include "properties/show/drawn_plan.hpp"
#include "properties/show/svg.hpp"

namespace mla::show {

// Slots downwards, the keys that each reads to the right; works in the colour of their request.
Picture slots_picture(const DrawnPlan& plan);
// Each tile of a request with the pieces that read its keys, where they are cut, what the causal
// mask hides from all of its rows, and keys that no piece or two pieces read.
Picture requests_picture(const DrawnPlan& plan);
// Rows and last keys of the request with the most rows; nothing if no mask hides a key.
std::optional<Picture> mask_picture(const DrawnPlan& plan);
// Which partial rows merge into which rows of the output.
Picture merges_picture(const DrawnPlan& plan);
// Where the pages of requests lie in the cache; nothing if kv_indices are not known.
std::vector<Picture> page_pictures(const DrawnPlan& plan);
// What a kernel reads of each buffer, against what is allocated.
Picture buffers_picture(const DrawnPlan& plan);
// The blocks of each slot, overheads included, against what the planner promises.
Picture balance_picture(const DrawnPlan& plan);

// "A" where there are few works, "12" otherwise.
std::string work_label(const DrawnPlan& plan, const Work& work);
// The record in words, a line for each fact.
std::string work_text(const DrawnPlan& plan, const Work& work);
// The classes of a work's shape.
std::string work_class(const DrawnPlan& plan, const Work& work);

}  // namespace mla::show
