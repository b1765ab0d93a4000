// `mla-testbed merge`: the records of all shards of a run become the report of one run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "core/say.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/fuzz_counted.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/recording.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct Options {
  std::vector<std::string> files;
  JudgingOptions judging;
};

constexpr const char* kFooter = R"(
Takes the files that `run --shard i/n --record FILE`, `cross-check` or `fuzz --cases N` wrote on
several machines, in any order, and ends in the table, JSON, JUnit and exit code that one run over all cases would have
had. Failures are shrunk again, and witnesses of the ledger judged again, on this machine: it needs
the backend that was judged. If a shard is missing, the exit code is 4, or 1 if something failed.

Examples:
  mla-testbed merge shard1.json shard2.json shard3.json
  mla-testbed merge shard*.json --junit report.xml --json > report.json)";

Error differs(const std::string& file, const std::string& first, const std::string& what) {
  return {ErrorCode::usage,
          "'" + file + "' does not belong to '" + first + "': " + what + " differ", ""};
}

// Adds the answers of a further shard.
Status add(Recording& all, Recording one, const std::string& file, const std::string& first) {
  if (one.command != all.command || one.arguments != all.arguments)
    return differs(file, first, "the options of the run");
  if (one.identity != all.identity) return differs(file, first, "cases, properties or ledger");
  if (one.shard.count != all.shard.count) return differs(file, first, "the numbers of shards");
  note_builds(file, one.build, first, all.build);
  for (BackendAnswers& b : one.backends) {
    const auto same = std::find_if(all.backends.begin(), all.backends.end(),
                                   [&](const BackendAnswers& a) { return a.name == b.name; });
    if (same == all.backends.end()) return differs(file, first, "the backends");
    same->seconds += b.seconds;
    same->answers.merge(b.answers);
  }
  return std::nullopt;
}

std::string missing_shards(const std::vector<bool>& seen) {
  std::string out;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) out += say(" ", i + 1, "/", seen.size());
  return out;
}

// Whether it is the record of a fuzz run, which has answers of another kind.
bool is_of_fuzz(const std::string& file) {
  const auto text = read_file(file);
  return text && is_fuzz_record(*text);
}

ExitCode merge(const Options& o) {
  if (is_of_fuzz(o.files.front())) {
    if (!o.judging.publication.html.empty())
      return complain("merge", {ErrorCode::usage, "a fuzz run has no --html", ""});
    return merge_fuzz(o.files, o.judging.publication.junit, o.judging.publication.json);
  }
  Recording all;
  std::vector<bool> seen;
  for (const std::string& file : o.files) {
    auto one = read_record(file);
    if (!one) return complain("merge", one.error());
    if (seen.empty()) {
      seen.resize(static_cast<std::size_t>(one->shard.count));
      all = *one;
      for (BackendAnswers& b : all.backends) b = {.name = b.name, .seconds = 0, .answers = {}};
    }
    const auto shard = static_cast<std::size_t>(one->shard.index);
    if (shard < seen.size() && seen[shard] && one->shard.count == all.shard.count)
      return complain("merge", {ErrorCode::usage,
                                say("'", file, "' is shard ", shard + 1, "/", seen.size(),
                                    ", which another file is too"),
                                ""});
    if (const Status bad = add(all, std::move(*one), file, o.files.front()))
      return complain("merge", *bad);
    seen[shard] = true;
  }
  if (const std::string missing = missing_shards(seen); !missing.empty())
    write_stderr("mla-testbed merge: not there:" + missing.substr(0, 200) + "\n");
  all.only_answered = true;
  all.shard = {};
  if (all.command == "run") return run_recorded(std::move(all), o.judging);
  if (all.command == "cross-check") return cross_check_recorded(std::move(all), o.judging);
  return complain("merge", {ErrorCode::usage,
                            "'" + o.files.front() + "' is of the command '" + all.command +
                                "'; expected run, cross-check or fuzz",
                            ""});
}

}  // namespace

void add_merge(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("merge", "Make one report of the shards of a run");
  c->add_option("files", o->files, "Records of all shards")->required();
  add_publication_options(*c, o->judging);
  c->footer(kFooter);
  c->callback([o, &exit] { exit = merge(*o); });
}

}  // namespace mla::cli
