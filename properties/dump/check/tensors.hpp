// The tensors of a dump against its lists: rows and heads of Q, output and LSE.
//
// A replay refuses what is a violation here. More rows than the batch has are a graph's padding, or
// rows that the lists leave out: a note.
#pragma once

#include <string>
#include <vector>

#include "properties/dump/check/lists.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

ListFindings check_tensors(const DecodeDump& dump);

// Q and cache, unless its rows are packed, whose elements are not of the
// dtypes that the launch was given, and without a launch the planner.
std::vector<std::string> check_dtypes(const DecodeDump& dump);

}  // namespace mla::dump
