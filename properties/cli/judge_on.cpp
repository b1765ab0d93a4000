#include "properties/cli/judge_on.hpp"

#include "properties/capture/terminal.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/failure_page.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/progress.hpp"

namespace mla::cli {
namespace {

// Failure blocks on their way out. What stdout does not take is lost once, not for every block.
class Blocks {
 public:
  explicit Blocks(bool json) : json_(json) {}
  void print(const prop::Failure& failure) {
    const std::string block = prop::failure_block(failure) + "\n";
    if (json_) {
      write_stderr(block);
    } else if (!bad_) {
      bad_ = write_stdout(block);
    }
  }
  [[nodiscard]] const Status& bad() const { return bad_; }

 private:
  bool json_;
  Status bad_;
};

RunSummary judge_on(const std::vector<NamedBackend>& backends, prop::RunOptions run, bool progress,
                    Blocks& blocks) {
  RunSummary summary{.seed = run.seed, .backends = {}};
  const prop::Ledger ledger = run.ledger;
  run.stopped = interrupted;
  for (const NamedBackend& b : backends) {
    Progress bar("cases", progress, run.time_limit);
    run.backend = b.backend.get();
    run.replay_options = b.replay_options;
    run.workers = b.workers;
    run.arch = b.arch;
    run.production = b.production;
    run.ledger = prop::concerning(ledger, b.name);
    run.progress = [&bar](std::int64_t judged, std::int64_t wanted) { bar.update(judged, wanted); };
    run.found = [&](const prop::Failure& failure) {
      bar.hide();
      blocks.print(failure);
    };
    summary.backends.push_back({.backend = b.name,
                                .facts = b.facts,
                                .report = prop::run_properties(run),
                                .emulation = b.emulation});
  }
  return summary;
}

}  // namespace

prop::ExitCode judge_and_publish(std::string_view command,
                                 const std::vector<NamedBackend>& backends, prop::RunOptions run,
                                 bool progress, const Publication& publication) {
  for (const std::string& path : {publication.junit, publication.html})
    if (!path.empty())
      if (const Status bad = check_writable(path)) return complain(command, *bad);
  catch_interrupts();
  Blocks blocks(publication.json);
  const RunSummary summary = judge_on(backends, std::move(run), progress, blocks);
  prop::ExitCode code = summary.exit_code();
  if (!publication.junit.empty())
    if (const Status bad = write_file(publication.junit, junit_report(summary)))
      code = complain(command, *bad);
  if (!publication.html.empty())
    if (const Status bad = write_file(publication.html, run_page(summary, backends)))
      code = complain(command, *bad);
  if (blocks.bad()) return complain(command, *blocks.bad());
  return finish(command, publication.json ? json_report(summary) : verdict_table(summary), code);
}

}  // namespace mla::cli
