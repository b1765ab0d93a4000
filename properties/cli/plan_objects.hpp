// Plan objects: the plans of a file, each as a JSON object, and their pictures.
//
// A file is a bundle, or a JSON document: one object, a list of them, or an object with a list
// `cases` or `steps`. Private to properties/cli. Fails: what cannot be read, or is no plan, with
// file and place; draw_object() what has no plan to draw, with the reason.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/capture/checked_plan.hpp"
#include "properties/show/drawn_plan.hpp"

namespace mla::cli {

Result<std::vector<nlohmann::json>> read_plan_objects(const std::string& path);
// The error with file and place in front of it.
Error in_plan_file(Error error, const std::string& path, std::size_t place);

// The plan with what check found about it, which must be about this object.
Result<show::DrawnPlan> draw_object(const nlohmann::json& object, const PlanAnswer& answer);

}  // namespace mla::cli
