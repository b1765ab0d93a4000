// The ledger as a file: one JSON object.
//
//   {"format": "mla-testbed ledger 1", "entries": [
//     {"id": "BUG-058", "link": "https://...", "reason": "...", "status": "fails",
//      "backend": "aiter", "property": "P16", "where": {"heads": ["8", "64"]}, "says": "row",
//      "witnesses": ["mla1:2q1s300;heads=8;dtype=fp8/fp8"]}]}
//
// `status` is fails or quarantine, `link` an address or a file of this repository. `backend`,
// `where`, `says` may be left out; witnesses only of a quarantine. Fails: names the entry, the key
// and what stands there; an unknown key, property or field of a case; a witness outside `where`.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/ledger.hpp"

namespace mla::cli {

// `name` stands for the text in messages.
Result<prop::Ledger> parse_ledger(std::string_view text, const std::string& name);
Result<prop::Ledger> load_ledger(const std::string& path);

}  // namespace mla::cli
