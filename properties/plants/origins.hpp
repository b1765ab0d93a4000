// Origins: the reports that the bug numbers stand for, and why some of them have no plant.
//
// One entry for each of the 122 real defects that this project started from, and 17 of sparse
// attention. Addresses are those of the public reports.
#pragma once

#include <span>
#include <string_view>

namespace mla::prop {

struct Origin {
  std::string_view id;       // "BUG-021"
  std::string_view address;  // of the report; empty where there is none
  std::string_view why_not;  // why nothing is planted; empty where something is
};

std::span<const Origin> all_origins();
// Of a plant "BUG-021" or "BUG-017-fa"; null for a plant that is no corpus entry.
const Origin* find_origin(std::string_view id);

}  // namespace mla::prop
