// The style sheet and the script of a page. Private to properties/show.
#pragma once

#include <string_view>

namespace mla::show {

// Of text and tables.
std::string_view page_sheet();
// Of dark screens, narrow ones and paper; goes after the sheet of the pictures.
std::string_view adapted_sheet();
// Shows where else a work is drawn; filters lanes and enlarges pictures; copies commands.
std::string_view page_script();

}  // namespace mla::show
