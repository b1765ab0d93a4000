// Documents of a plan: one HTML page, one SVG picture, one trace.
//
// Pure functions to text. A page is whole: it loads nothing, and its policy forbids it. Nothing in
// it depends on time or machine.
#pragma once

#include <string>
#include <vector>

#include "properties/show/drawn_plan.hpp"
#include "properties/show/svg.hpp"

namespace mla::show {

// A part of a page: a heading, HTML that is safe already, pictures.
struct Section {
  std::string heading;
  std::string html;
  std::vector<Picture> pictures;
};

// `title` is foreign text. A long one, such as the case of a large batch, is shortened in the
// heading and stands below it in full.
std::string html_page(const std::string& title, const std::vector<Section>& sections);
// The page with a line at its end that says what made it; `facts` are foreign text.
std::string with_footer(std::string page, const std::vector<std::string>& facts);
// A table of two columns.
std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts);
// What is wrong, a line each; empty without findings.
std::string findings_html(const DrawnPlan& plan);

// All pictures of a plan.
std::vector<Picture> all_pictures(const DrawnPlan& plan);
std::string plan_page(const DrawnPlan& plan);
// Batch, slots and merges, one below the other.
std::string plan_svg(const DrawnPlan& plan);
// Trace Event JSON for Perfetto and chrome://tracing: slots as tracks of the first process, merges
// as a second one. A microsecond stands for one block of keys, overhead included.
std::string plan_trace(const DrawnPlan& plan);

}  // namespace mla::show
