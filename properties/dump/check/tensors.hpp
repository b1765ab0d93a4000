// The tensors of a dump against its lists: rows and heads of Q, output and LSE.
//
// A replay refuses what is a violation here. More rows than the batch has are a graph's padding, or
// rows that the lists leave out: a note. Elements and encodings are checked by a
// replay (replay/step.hpp).
#pragma once

#include "properties/dump/check/lists.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

ListFindings check_tensors(const DecodeDump& dump);

}  // namespace mla::dump
