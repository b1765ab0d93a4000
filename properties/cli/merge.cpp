// `mla-testbed merge`: the records of all shards of a run become the report of one run.
#include <memory>
#include <utility>

#include "core/say.hpp"
#include "properties/app/record_file.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/record_options.hpp"
#include "properties/files/output_file.hpp"

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

ExitCode merge(const MergeOptions& o) {
  const Publication& publication = o.judging.publication;
  std::vector<files::Input> inputs;
  for (const std::string& file : o.files) inputs.push_back({"merge", file});
  if (const MaybeError bad = check_files(publication, "", "", inputs))
    return complain("merge", *bad);
  auto all = app::merge_records(o.files, [](const std::string& what) { note("merge", what); });
  if (!all) return complain("merge", all.error());
  if (all->kind != app::RecordKind::run) {
    const char* kind = all->kind == app::RecordKind::fuzz ? "fuzz" : "plants";
    if (!publication.html.empty()) return refuse("merge", say("a run of ", kind, " has no --html"));
    if (app::named_aiter(o.aiter_hsa))
      return refuse("merge", say("--aiter-hsa ", o.aiter_hsa,
                                 " goes with backend aiter, and a run of ", kind, " has none"));
    RecordOptions how;
    how.publication = publication;
    return publish("merge", *all, how, app::accounts(*all), {});
  }
  app::Recording recording{std::move(*all)};
  recording.only_answered = true;
  recording.aiter_hsa = o.aiter_hsa;
  if (recording.command == "run") return run_recorded(std::move(recording), o.judging);
  if (recording.command == "cross-check")
    return cross_check_recorded(std::move(recording), o.judging);
  return refuse("merge", "'" + o.files.front() + "' is of the command '" + recording.command +
                             "'; expected run, cross-check, fuzz or plants");
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
