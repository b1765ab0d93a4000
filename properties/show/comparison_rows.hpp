// What the text and the page of a comparison share. Private to properties/show.
#pragma once

#include <string>
#include <vector>

#include "properties/show/comparison.hpp"

namespace mla::show {

struct CostRow {
  std::string what;
  std::string first;
  std::string second;
  std::string change;  // in percent; empty: none
};

struct DifferenceList {
  std::string title;
  std::vector<std::string> lines;  // empty: nothing differs
};

std::vector<CostRow> cost_rows(const Comparison& c);
std::vector<DifferenceList> difference_lists(const Comparison& c, const DrawnPlan& first,
                                             const DrawnPlan& second);
// The whole in a line, and the units of the table.
std::string verdict_line(const Comparison& c);
std::string unit_line(const Comparison& c);
// The predicted time of each that has one.
std::vector<std::string> predicted_lines(const DrawnPlan& first, const DrawnPlan& second);
std::string work_line(const DrawnPlan& plan, std::int64_t index);

}  // namespace mla::show
