// `mla-testbed merge`: the records of all shards of a run become the report of one run.
#include <algorithm>
#include <memory>

#include "core/say.hpp"
#include "properties/capture/output_file.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/fuzz_counted.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/merge_files.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/plants_report.hpp"
#include "properties/cli/recording.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct MergeOptions {
  std::vector<std::string> files;
  std::string aiter_hsa;
  JudgingOptions judging;
};

constexpr const char* kMergeFooter = R"(
Takes the files that `run --shard i/n --record FILE`, `cross-check`, `plants` or `fuzz --cases N`
wrote on several machines, in any order. Table, JSON, JUnit and exit code are those of one run over
all cases. Failures are shrunk again, and witnesses of the ledger judged again, on this machine: it
needs the backend that was judged. If a shard is missing, the exit code is 4, or 1 if something
failed.

Examples:
  mla-testbed merge shard1.json shard2.json shard3.json
  mla-testbed merge shard*.json --junit report.xml --json > report.json
  mla-testbed merge shard*.json --aiter-hsa aiter/hsa)";

// Adds the answers of a further shard.
Status add(Recording& all, const Recording& one, const std::string& file,
           const std::string& first) {
  if (one.command != all.command || one.arguments != all.arguments)
    return of_another_run(file, first, "the options of the run");
  if (one.identity != all.identity)
    return of_another_run(file, first, "cases, properties or ledger");
  if (one.backends.size() != all.backends.size())
    return of_another_run(file, first, "the backends");
  for (const BackendAnswers& b : one.backends) {
    const auto same = std::find_if(all.backends.begin(), all.backends.end(),
                                   [&](const BackendAnswers& a) { return a.name == b.name; });
    if (same == all.backends.end()) return of_another_run(file, first, "the backends");
    if (b.code != same->code)
      return of_another_run(file, first,
                            say("AITER's code objects of backend ", printable(b.name)));
    same->seconds += b.seconds;
    same->answers.insert(b.answers.begin(), b.answers.end());
  }
  return std::nullopt;
}

ExitCode merge(const MergeOptions& o) {
  const Publication& publication = o.judging.publication;
  std::vector<Input> inputs;
  for (const std::string& file : o.files) inputs.push_back({"merge", file});
  const Output junit{"--junit", publication.junit};
  const Output html{"--html", publication.html};
  if (const Status bad = check_outputs({printed(publication.json), junit, html}, inputs))
    return complain("merge", *bad);
  // A file that cannot be read is reported by whoever reads it for good.
  const auto text = read_file(o.files.front());
  const bool fuzz = text && is_fuzz_record(*text);
  const bool plants = text && is_plants_record(*text);
  if ((fuzz || plants) && !publication.html.empty())
    return complain("merge", {ErrorCode::usage,
                              say("a run of ", fuzz ? "fuzz" : "plants", " has no --html"), ""});
  if ((fuzz || plants) && named_aiter(o.aiter_hsa))
    return complain("merge",
                    {ErrorCode::usage,
                     say("--aiter-hsa ", o.aiter_hsa, " goes with backend aiter, and a run of ",
                         fuzz ? "fuzz" : "plants", " has none"),
                     ""});
  if (fuzz) return merge_fuzz(o.files, publication.junit, publication.json);
  if (plants) return merge_plants(o.files, publication.junit, publication.json);
  auto all = merge_files<Recording>(o.files, read_record, add);
  if (!all) return complain("merge", all.error());
  all->only_answered = true;
  all->aiter_hsa = o.aiter_hsa;
  if (all->command == "run") return run_recorded(std::move(*all), o.judging);
  if (all->command == "cross-check") return cross_check_recorded(std::move(*all), o.judging);
  return complain("merge", {ErrorCode::usage,
                            "'" + o.files.front() + "' is of the command '" + all->command +
                                "'; expected run, cross-check, fuzz or plants",
                            ""});
}

}  // namespace

void add_merge(Command& app, ExitCode& exit) {
  auto o = std::make_shared<MergeOptions>();
  Command c = app.add_subcommand("merge", "Make one report of the shards of a run");
  c.add_option("files", o->files, "Records of all shards").required();
  add_aiter_option(c, o->aiter_hsa);
  add_publication_options(c, o->judging);
  c.footer(kMergeFooter);
  c.callback([o, &exit] { exit = merge(*o); });
}

}  // namespace mla::cli
