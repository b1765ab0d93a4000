// A step from what an engine dumped.
//
// Fails: with the key and what stands there. A plan or a launch that cannot be read is an error
// inside the dump.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "properties/dump/dump.hpp"
#include "properties/dump/read/bundle.hpp"

namespace mla::dump {

// `place` names an object that has no `name`.
Result<Dump> read_dump(const nlohmann::json& object, std::size_t place);
// One object.
Result<Dump> parse_dump(std::string_view document);
// With the tensors, for a replay.
Result<Dump> read_dump(Bundle bundle);

}  // namespace mla::dump
