// The plans of files and bundles, checked.
//
// What cannot be read is an error beside the answers, and the others are judged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/show/document.hpp"

namespace mla::app {

struct Checked {
  std::vector<dump::Answer> answers;
  std::vector<std::string> places;      // the file of each answer
  std::vector<show::Section> sections;  // of a page; empty unless drawn
  std::vector<Error> unread;            // files and plans that are none
};
// What adds to the answer about a plan, such as TreePlanners (tree_backend.hpp). Fails: it cannot
// be asked, and the answer stays.
using SecondOpinion = std::function<MaybeError(const dump::Dump&, dump::Answer&)>;
// Answers of one name, from several files, have the file in front of it.
Checked check_files(const std::vector<std::string>& paths, bool draw,
                    const SecondOpinion& ask = {});

struct Tally {
  std::int64_t valid = 0;
  std::int64_t broken = 0;
  std::int64_t not_checked = 0;
};
Tally tally_of(const std::vector<dump::Answer>& answers);

// The first findings of each rule, culprits, notes, and the tally at the end.
std::string check_text(const std::vector<dump::Answer>& answers);
std::string check_json(const std::vector<dump::Answer>& answers);
std::string check_page(const Checked& checked);

}  // namespace mla::app
