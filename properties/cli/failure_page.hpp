// Failure pages: verdicts and failures of a run, a replay or a check, as one HTML page.
//
// Owns the way from a failing case to its pictures: the case is executed once more on the backend
// that failed, its result is held to the reference, and the works behind the worst element are
// outlined. Private to properties/cli. Where nothing can be drawn the page says why.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "properties/cli/backends.hpp"
#include "properties/cli/report.hpp"
#include "properties/show/document.hpp"
#include "properties/show/error_map.hpp"
#include "properties/step/compare.hpp"

namespace mla::cli {

// How far `result` is off; an empty LSE is not judged.
show::ErrorMap error_map_of(const DecodeResult& result, const cpu::ReferenceResult& reference,
                            std::int64_t heads);

// The plan of a step, with what plan_check says and the works behind row and head of the worst
// element of the map, if an element is wrong.
show::DrawnPlan draw_metadata(const DecodeMetadata& metadata, const show::ErrorMap& map);

// The pictures of a case on a backend; `defect` may be null.
show::Section pictures_of_case(const Case& c, const Backend& backend,
                               const prop::Interposer* defect);

// What failed, why, the command that repeats it, and from what the case was made smaller.
show::Section failure_section(const prop::Failure& failure);

// A block of text, and a command with a button that copies it.
std::string block_html(const std::string& text);
std::string command_html(const std::string& command);

// Verdict tables, then each failure with its pictures as long as the page stays below 4 MB.
// `backends` are those of the summary, in its order.
std::string run_page(const RunSummary& summary, const std::vector<NamedBackend>& backends);

}  // namespace mla::cli
