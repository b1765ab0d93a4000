#include "properties/cli/recording_options.hpp"

#include <set>

#include "core/say.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

// Options that say what is written, or which part is judged, and not what.
const std::set<std::string>& other_options() {
  static const std::set<std::string> names = {"json",   "junit",     "html",   "no-progress",
                                              "timing", "record",    "resume", "memory-limit",
                                              "shard",  "aiter-hsa", "help"};
  return names;
}

}  // namespace

std::vector<std::string> deciding_arguments(const Command& command) {
  return command.given_words(other_options());
}

Status take_recorded(CommandLine& app, const app::Recording& recording, const JudgingOptions& how,
                     JudgingOptions& options) {
  if (const auto bad = app.parse(recording.arguments))
    return Error{ErrorCode::usage,
                 say("the record has options that the command does not take: ", bad->why), ""};
  if (deciding_arguments(app) != recording.arguments)
    return Error{ErrorCode::usage, "the record has options that decide nothing about the run", ""};
  options.publication = how.publication;
  options.no_progress = how.no_progress;
  options.memory = how.memory;
  return std::nullopt;
}

Result<app::Recording> begin_recording(std::string_view command, const JudgingOptions& options,
                                       const Command& app) {
  app::Recording out;
  out.path = options.record;
  out.command = command;
  out.arguments = deciding_arguments(app);
  if (options.shard.empty()) return out;
  const auto shard = parse_shard(options.shard);
  if (!shard) return shard.error();
  out.shard = *shard;
  return out;
}

}  // namespace mla::cli
