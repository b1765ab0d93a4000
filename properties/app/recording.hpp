// Recording: the record of a run while it is made, continued or merged.
#pragma once

#include <string>
#include <vector>

#include "properties/app/record.hpp"
#include "properties/files/output_file.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::app {

struct Recording : Record {
  std::string path = {};       // where it is written at the end; empty: nowhere
  bool only_answered = false;  // a merge: nothing but what is here
  // Where AITER lies on this machine, if not where AITER_HSA says; not recorded.
  std::string aiter_hsa = {};
  // What is read beside the record, and the record that a run goes on from: no report may take
  // their place, but the new record may take that of the old. Not recorded.
  std::vector<files::Input> inputs = {};
  std::string resumed = {};
};

// What a run is about, as sixteen hexadecimal digits.
std::string identity_of(const prop::RunOptions& run);

}  // namespace mla::app
