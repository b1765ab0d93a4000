#include "properties/cli/judge_on.hpp"

#include <optional>

#include "properties/app/failure_page.hpp"
#include "properties/app/judge_run.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/record_file.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/files/terminal.hpp"

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
  [[nodiscard]] const MaybeError& bad() const { return bad_; }

 private:
  bool json_;
  MaybeError bad_;
};

}  // namespace

prop::ExitCode judge_and_publish(std::string_view command,
                                 const std::vector<app::NamedBackend>& backends,
                                 const prop::RunOptions& run, bool progress,
                                 const Publication& publication, app::Recording recording) {
  if (const MaybeError bad = app::why_no_record(backends, recording))
    return complain(command, *bad);
  if (const MaybeError bad =
          check_files(publication, recording.path, recording.resumed, recording.inputs))
    return complain(command, *bad);
  if (const MaybeError bad = app::begin_answers(backends, run, recording))
    return complain(command, *bad);
  catch_interrupts();
  Blocks blocks(publication.json);
  std::optional<Progress> bar;
  app::RunSummary summary = app::judge_run(backends, run, recording, [&](prop::RunOptions& next) {
    bar.emplace("cases", progress, next.time_limit);
    next.stopped = interrupted;
    next.progress = [&bar](std::int64_t judged, std::int64_t wanted) {
      bar->update(judged, wanted);
    };
    next.found = [&](const prop::Failure& failure) {
      bar->hide();
      blocks.print(failure);
    };
  });
  bar.reset();
  summary.timing = publication.timing;
  summary.peak_memory = app::peak_memory();
  Publisher out(command);
  out.lost_stdout(blocks.bad());
  out.file(publication.junit, [&] { return app::junit_report(summary); });
  out.page(publication.html, [&] { return app::run_page(summary, backends); });
  out.file(recording.path, [&] { return app::record_text(recording); });
  return out.finish(publication.json ? app::json_report(summary) : app::verdict_table(summary),
                    summary.exit_code());
}

}  // namespace mla::cli
