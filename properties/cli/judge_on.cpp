#include "properties/cli/judge_on.hpp"

#include "properties/cli/command.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/terminal.hpp"

namespace mla::cli {

RunSummary judge_on(const std::vector<NamedBackend>& backends, prop::RunOptions run,
                    bool progress) {
  RunSummary summary{.seed = run.seed, .backends = {}};
  const prop::Ledger ledger = run.ledger;
  for (const NamedBackend& b : backends) {
    Progress bar(progress, run.time_limit);
    run.backend = b.backend.get();
    run.replay_options = b.replay_options;
    run.workers = b.workers;
    run.arch = b.arch;
    run.production = b.production;
    run.ledger = prop::concerning(ledger, b.name, run.properties);
    run.progress = [&bar](std::int64_t judged, std::int64_t wanted) { bar.update(judged, wanted); };
    summary.backends.push_back(
        {.backend = b.name, .facts = b.facts, .report = prop::run_properties(run)});
  }
  return summary;
}

prop::ExitCode publish(std::string_view command, const RunSummary& summary,
                       const Publication& publication) {
  std::string blocks;
  for (const BackendReport& b : summary.backends)
    for (const prop::Failure& f : b.report.failures) blocks += prop::failure_block(f) + "\n";
  if (!publication.junit.empty())
    if (const Status bad = write_file(publication.junit, junit_report(summary)))
      return complain(command, *bad);
  if (publication.json) {
    write_stderr(blocks);
    return finish(command, json_report(summary), summary.exit_code());
  }
  return finish(command, blocks + verdict_table(summary), summary.exit_code());
}

}  // namespace mla::cli
