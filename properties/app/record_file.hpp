// Records as files, their merge, and the reports that follow from a record alone.
//
// Records may come from anywhere: everything is checked before it is used. Fails: with the file and
// what is wrong there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/app/record.hpp"
#include "properties/step/verdict.hpp"

namespace mla::app {

std::string record_text(const Record& record);
// Without a kind, that which the format names; a run if it names none.
Result<Record> read_record(const std::string& path, std::optional<RecordKind> kind);
// The record of a run that goes on: one of this build.
Result<Record> read_begun(const std::string& path, RecordKind kind);

// The record of the whole from those of its shards, of the kind that the first has. Files must not
// be empty. `note` gets what the user should know of a merge that goes on.
Result<Record> merge_records(const std::vector<std::string>& files,
                             const std::function<void(const std::string&)>& note);

// The reports of plants and fuzz; those of a run take its backends, see judge_run().
prop::ExitCode exit_code(const Record& record);
// What became of one item: `BUG-021 (what it is): caught`, and the FAIL block; a block for each
// finding, with the command that repeats it.
std::string account(const Record& record, const Item& item);
std::string accounts(const Record& record);  // of all
// The table at the end.
std::string verdict_table(const Record& record);
std::string json_report(const Record& record);
std::string junit_report(const Record& record);

}  // namespace mla::app
