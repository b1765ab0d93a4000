// The ledger as a file: one JSON object, one entry for each finding.
//
//   {"format": "mla-testbed ledger 2", "entries": [
//     {"id": "BUG-058", "link": "https://...", "mechanism": "page sizes above 1 are ignored",
//      "kernels": ["mla_a16w16"], "status": "fails", "backend": "aiter",
//      "where": {"route": "split", "page": {"min": 2}}, "damage": ["value", "unwritten"],
//      "witnesses": [{"case": "mla1:2q1s300;page=16;block=16", "property": "P05"}]}]}
//
// Keys and facts: docs/reference/ledgers.md, "Ledgers". Fails: names the entry, the key and its
// value; refuses the format of the first version.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/judge/ledger.hpp"

namespace mla::app {

// `name` stands for the text in messages.
Result<prop::Ledger> parse_ledger(std::string_view text, const std::string& name);
Result<prop::Ledger> load_ledger(const std::string& path);

}  // namespace mla::app
