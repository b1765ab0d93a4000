#include "properties/cli/judge_on.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/say.hpp"
#include "properties/app/failure_page.hpp"
#include "properties/app/memory.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/judge/runner.hpp"

namespace mla::cli {
namespace {

// Failure blocks on their way out. What stdout does not take is lost once, not for every block.
class Blocks {
 public:
  explicit Blocks(bool json) : json_(json) {}
  void print(const prop::Failure& failure) {
    const std::string block = prop::failure_block(failure) + "\n";
    if (json_) {
      files::write_stderr(block);
    } else if (!bad_) {
      bad_ = files::write_stdout(block);
    }
  }
  [[nodiscard]] const Status& bad() const { return bad_; }

 private:
  bool json_;
  Status bad_;
};

// The answers about a backend, empty if there are none yet.
app::BackendAnswers& answers_of(app::Recording& recording, const std::string& backend) {
  for (app::BackendAnswers& b : recording.backends)
    if (b.name == backend) return b;
  return recording.backends.emplace_back(
      app::BackendAnswers{.name = backend, .seconds = 0, .answers = {}});
}

// What another AITER did is not reported under the name of this one. Its files are summed only for
// a record.
Status check_code(const std::vector<app::NamedBackend>& backends, app::Recording& recording) {
  if (recording.path.empty() && recording.identity.empty()) return std::nullopt;
  const bool begun = !recording.identity.empty();
  for (const app::NamedBackend& b : backends) {
    const std::string sum = b.code_sum ? b.code_sum() : std::string();
    std::string& code = answers_of(recording, b.name).code;
    if (begun && code != sum)
      return Error{ErrorCode::usage,
                   say("the record is of another AITER: the code objects of backend ", b.name,
                       " are not those of today"),
                   ""};
    code = sum;
  }
  return std::nullopt;
}

// Puts what is known into the run. What is found comes into `fresh`.
void use_answers(const app::BackendAnswers& known, const app::Recording& recording,
                 prop::RunOptions& run, prop::Answers& fresh) {
  using std::chrono::milliseconds;
  run.shard = recording.shard;
  run.answers = &known.answers;
  run.only_answered = recording.only_answered;
  if (!recording.path.empty())
    run.answered = [&fresh](std::int64_t index, const prop::CaseAnswer& answer) {
      fresh.insert_or_assign(index, answer);
    };
  if (recording.only_answered) run.time_limit = std::nullopt;
  if (run.time_limit)
    run.time_limit = std::max(milliseconds(0),
                              *run.time_limit - milliseconds(std::llround(known.seconds * 1e3)));
}

// Why this run cannot be recorded; nothing if it can.
Status why_no_record(const std::vector<app::NamedBackend>& backends,
                     const app::Recording& recording) {
  if (recording.path.empty() && !recording.only_answered) return std::nullopt;
  std::set<std::string> names;
  for (const app::NamedBackend& b : backends)
    if (!names.insert(b.name).second)
      return Error{ErrorCode::usage,
                   "--record tells backends apart by their names, and two are named " + b.name +
                       ": record one device at a time",
                   ""};
  const bool checked =
      std::any_of(backends.begin(), backends.end(),
                  [](const app::NamedBackend& b) { return b.emulation != nullptr; });
  if (!checked) return std::nullopt;
  return Error{ErrorCode::usage,
               "--record keeps no findings of the emulated device's own checks: leave out one of "
               "them",
               ""};
}

// Why a report or the record cannot be written, asked before the run.
Status check_files(const Publication& publication, const app::Recording& recording) {
  const files::Output junit{"--junit", publication.junit};
  const files::Output html{"--html", publication.html};
  const files::Output record{"--record", recording.path};
  if (Status bad = files::check_outputs({files::printed(publication.json), junit, html, record},
                                        recording.inputs))
    return bad;
  return files::check_inputs_kept({junit, html}, {{"--resume", recording.resumed}});
}

app::RunSummary judge_on(const std::vector<app::NamedBackend>& backends,
                         const prop::RunOptions& asked, bool progress, Blocks& blocks,
                         app::Recording& recording) {
  prop::RunOptions run = asked;
  app::RunSummary summary{.seed = run.seed, .backends = {}};
  const prop::Ledger ledger = run.ledger;
  run.stopped = interrupted;
  for (const app::NamedBackend& b : backends) {
    app::BackendAnswers& known = answers_of(recording, b.name);
    prop::Answers fresh;
    run.time_limit = asked.time_limit;
    use_answers(known, recording, run, fresh);
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
    double& seconds = summary.backends.back().report.seconds;
    known.seconds = seconds += known.seconds;
    for (auto& [index, answer] : fresh) known.answers.insert_or_assign(index, std::move(answer));
  }
  return summary;
}

}  // namespace

prop::ExitCode judge_and_publish(std::string_view command,
                                 const std::vector<app::NamedBackend>& backends,
                                 const prop::RunOptions& run, bool progress,
                                 const Publication& publication, app::Recording recording) {
  if (const Status bad = why_no_record(backends, recording)) return complain(command, *bad);
  if (const Status bad = check_files(publication, recording)) return complain(command, *bad);
  const std::string identity = app::identity_of(run);
  if (!recording.identity.empty() && recording.identity != identity)
    return refuse(command,
                  "the record is of another run: its cases, properties or ledger are "
                  "not those of today");
  for (const app::BackendAnswers& b : recording.backends)
    if (const auto end = std::ssize(run.cases) + run.random_cases;
        !run.time_limit && !b.answers.empty() && b.answers.rbegin()->first >= end)
      return refuse(command, say("the record has case ", b.answers.rbegin()->first,
                                 ", and the run has ", end, ", counted from 0"));
  if (const Status bad = check_code(backends, recording)) return complain(command, *bad);
  recording.identity = identity;
  catch_interrupts();
  Blocks blocks(publication.json);
  app::RunSummary summary = judge_on(backends, run, progress, blocks, recording);
  summary.timing = publication.timing;
  summary.peak_memory = app::peak_memory();
  Publisher out(command);
  out.lost_stdout(blocks.bad());
  out.file(publication.junit, [&] { return app::junit_report(summary); });
  out.file(publication.html, [&] { return app::run_page(summary, backends); });
  out.file(recording.path, [&] { return app::record_text(recording); });
  return out.finish(publication.json ? app::json_report(summary) : app::verdict_table(summary),
                    summary.exit_code());
}

}  // namespace mla::cli
