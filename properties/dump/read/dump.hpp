// A step from what an engine dumped.
//
// Fails: with the key and what stands there. A plan or a launch that cannot be read is an error
// inside the dump.
#pragma once

#include <map>
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
// Of a decode step whose document was read: the other arrays of its bundle.
void take_tensors(Dump& dump, std::map<std::string, io::RawArray> arrays);

}  // namespace mla::dump
