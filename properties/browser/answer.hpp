// What the page in the browser says of a case line or of files: one JSON object.
//
//   {"error": "..."}   a sentence, or else
//   {"name", "steps", "step", "state": "valid" | "broken" | "unchecked", "summary", "check",
//   "plan",
//    "page", "undrawn"}
//
// `check` and `plan` are the texts of these commands (`plan` is empty for files), `page` is the
// document that `show` writes, and `undrawn` says why it is empty. Pure functions: no file is
// opened, nothing depends on time or machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mla::browser {

// `step` counts the steps of a case from 0.
std::string answer_case(const std::string& line, std::int64_t step);

// A folder with manifest.json, or one .safetensors or JSON file. `name` stands for it in messages;
// `step` counts the plans of a JSON file from 0.
using Files = std::map<std::string, std::string>;  // names without a folder, and bytes
std::string answer_files(const std::string& name, const Files& files, std::int64_t step);

}  // namespace mla::browser
