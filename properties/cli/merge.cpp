// `mla-testbed merge`: the records of all shards of a run become the report of one run.
#include <algorithm>
#include <memory>

#include "core/say.hpp"
#include "properties/app/fuzz_report.hpp"
#include "properties/app/merge_files.hpp"
#include "properties/app/plants_report.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"

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
MaybeError add(app::Recording& all, const app::Recording& one, const std::string& file,
               const std::string& first) {
  if (one.command != all.command || one.arguments != all.arguments)
    return app::of_another_run(file, first, "the options of the run");
  if (one.identity != all.identity)
    return app::of_another_run(file, first, "cases, properties or ledger");
  if (one.backends.size() != all.backends.size())
    return app::of_another_run(file, first, "the backends");
  for (const app::BackendAnswers& b : one.backends) {
    const auto same = std::find_if(all.backends.begin(), all.backends.end(),
                                   [&](const app::BackendAnswers& a) { return a.name == b.name; });
    if (same == all.backends.end()) return app::of_another_run(file, first, "the backends");
    if (b.code != same->code)
      return app::of_another_run(file, first,
                                 say("AITER's code objects of backend ", files::printable(b.name)));
    same->seconds += b.seconds;
    same->answers.insert(b.answers.begin(), b.answers.end());
  }
  return std::nullopt;
}

void note_merge(const std::string& what) {
  note("merge", what);
}

ExitCode merge_fuzz(const MergeOptions& o) {
  const auto all = app::merge_files<app::FuzzReport>(o.files, app::read_fuzz_record,
                                                     app::merge_into, note_merge);
  if (!all) return complain("merge", all.error());
  Publisher out("merge");
  const Publication& publication = o.judging.publication;
  out.file(publication.junit, [&] { return app::fuzz_junit(*all); });
  return out.finish(publication.json ? app::fuzz_json(*all) : app::fuzz_table(*all),
                    all->exit_code());
}

ExitCode merge_plants(const MergeOptions& o) {
  const auto all = app::merge_files<app::PlantsReport>(o.files, app::read_plants_record,
                                                       app::merge_into, note_merge);
  if (!all) return complain("merge", all.error());
  std::string accounts;
  for (const app::PlantTried& t : all->tried) accounts += app::plant_account(t);
  Publisher out("merge");
  const Publication& publication = o.judging.publication;
  if (!publication.json) out.lost_stdout(files::write_stdout(accounts));
  out.file(publication.junit, [&] { return app::plants_junit(*all); });
  return out.finish(publication.json ? app::plants_json(*all) : app::plants_table(*all),
                    all->exit_code());
}

ExitCode merge(const MergeOptions& o) {
  const Publication& publication = o.judging.publication;
  std::vector<files::Input> inputs;
  for (const std::string& file : o.files) inputs.push_back({"merge", file});
  const files::Output junit{"--junit", publication.junit};
  const files::Output html{"--html", publication.html};
  if (const MaybeError bad =
          files::check_outputs({files::printed(publication.json), junit, html}, inputs))
    return complain("merge", *bad);
  // A file that cannot be read is reported by the code that reads it in full.
  const auto text = files::read_file(o.files.front());
  const bool fuzz = text && app::is_fuzz_record(*text);
  const bool plants = text && app::is_plants_record(*text);
  if ((fuzz || plants) && !publication.html.empty())
    return refuse("merge", say("a run of ", fuzz ? "fuzz" : "plants", " has no --html"));
  if ((fuzz || plants) && app::named_aiter(o.aiter_hsa))
    return refuse("merge",
                  say("--aiter-hsa ", o.aiter_hsa, " goes with backend aiter, and a run of ",
                      fuzz ? "fuzz" : "plants", " has none"));
  if (fuzz) return merge_fuzz(o);
  if (plants) return merge_plants(o);
  auto all = app::merge_files<app::Recording>(o.files, app::read_record, add, note_merge);
  if (!all) return complain("merge", all.error());
  all->only_answered = true;
  all->aiter_hsa = o.aiter_hsa;
  if (all->command == "run") return run_recorded(std::move(*all), o.judging);
  if (all->command == "cross-check") return cross_check_recorded(std::move(*all), o.judging);
  return refuse("merge", "'" + o.files.front() + "' is of the command '" + all->command +
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
