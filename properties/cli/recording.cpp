#include "properties/cli/recording.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "core/io/checksum.hpp"
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

// Each with its length, so that no two lists of words give one text.
std::string counted(std::string_view word) {
  return say(" ", word.size(), ":", word);
}

std::string text_of(const prop::Condition& condition) {
  std::string out = counted(condition.fact->name);
  for (const std::string& word : condition.words) out += counted(word);
  for (const auto& [min, max] : condition.ranges) out += say(" ", min, "..", max);
  return out;
}

// All of an entry: its condition and its damage decide what is known to fail, the rest is reported.
std::string text_of(const prop::LedgerEntry& entry) {
  std::string out = "\nledger";
  for (const std::string& word : {entry.id, entry.link, entry.mechanism, entry.backend})
    out += counted(word);
  out += say("\nstatus ", static_cast<int>(entry.status), "\nkind ",
             entry.kind ? name(*entry.kind) : "any", "\ndamage ", prop::text_of(entry.damage));
  for (const std::string& kernel : entry.kernels) out += "\nkernel" + counted(kernel);
  for (const prop::Property* p : entry.properties) out += say("\ncovers ", p->id);
  for (const prop::Property* p : entry.claims) out += say("\nclaim ", p->id);
  for (const auto& alternative : entry.where) {
    out += "\nwhere";
    for (const prop::Condition& condition : alternative) out += "\n and" + text_of(condition);
  }
  for (const prop::Witness& w : entry.witnesses)
    out += say("\nwitness ", w.property->id, " ", format_case(w.c));
  return out;
}

}  // namespace

std::string identity_of(const prop::RunOptions& run) {
  std::string text = say("seed ", run.seed, "\nrandom ", run.random_cases, "\ntime ",
                         run.time_limit ? std::to_string(run.time_limit->count()) : "none");
  for (const prop::Property* p : run.properties) text += say("\nproperty ", p->id);
  for (const Case& c : run.cases) text += "\ncase " + format_case(c);
  for (const prop::LedgerEntry& e : run.ledger) text += text_of(e);
  return io::hex64(io::fnv1a64(std::as_bytes(std::span(text))));
}

Result<prop::Shard> parse_shard(std::string_view text) {
  const Error bad{ErrorCode::usage,
                  say("--shard has value '", text,
                      "': expected i/n with i from 1 to n, and n up to 10000, as 1/3"),
                  ""};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad;
  const auto index = parse_count("--shard", text.substr(0, slash));
  const auto count = parse_count("--shard", text.substr(slash + 1));
  if (!index || !count || *count < 1 || *count > kMostShards || *index < 1 || *index > *count)
    return bad;
  return prop::Shard{.index = *index - 1, .count = *count};
}

std::vector<std::string> deciding_arguments(const Command& command) {
  return command.given_words(other_options());
}

Status take_recorded(CommandLine& app, const Recording& recording, const JudgingOptions& how,
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

Result<Recording> begin_recording(std::string_view command, const JudgingOptions& options,
                                  const Command& app) {
  Recording out;
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
