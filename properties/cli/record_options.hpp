// RecordOptions: what `plants` and `fuzz --cases` take alike, and what they write at their end.
//
// Private to properties/cli. Fails: with the option or the file and what is wrong there.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/app/record_file.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"

namespace mla::cli {

struct RecordOptions {
  std::string seed;    // empty: 1
  std::string shard;   // empty: all
  std::string record;  // empty: that of `resume`
  std::string resume;  // empty: a new run
  Publication publication;
  bool no_progress = false;

  [[nodiscard]] const std::string& written() const { return record.empty() ? resume : record; }
};

// Declares --record and what follows; `text` is what --json replaces. Returns --resume.
Option add_record_options(Command& command, RecordOptions& options, const std::string& text);
// The record to begin with: an empty one, or that of a run that ended early.
Result<app::Record> begin_record(app::RecordKind kind, const RecordOptions& options);
// Writes what was asked for, and prints `told` before the table. `lost` is why stdout did not take
// what was printed before.
prop::ExitCode publish(std::string_view command, const app::Record& record,
                       const RecordOptions& options, const std::string& told,
                       const MaybeError& lost);

}  // namespace mla::cli
