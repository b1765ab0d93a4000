#include "properties/cli/publisher.hpp"

#include "core/say.hpp"
#include "properties/cli/footer.hpp"
#include "properties/files/printable.hpp"
#include "properties/files/terminal.hpp"

namespace mla::cli {

MaybeError check_files(const Publication& publication, const std::string& record,
                       const std::string& resumed, const std::vector<files::Input>& inputs) {
  const files::Output junit{"--junit", publication.junit};
  const files::Output html{"--html", publication.html};
  if (MaybeError bad = files::check_outputs(
          {files::printed(publication.json), junit, html, {"--record", record}}, inputs))
    return bad;
  return files::check_inputs_kept({junit, html}, {{"--resume", resumed}});
}

bool Publisher::file(const std::string& path, const std::function<std::string()>& text) {
  if (path.empty()) return false;
  const std::string written = text();
  const MaybeError bad = files::write_file(path, written);
  lost(bad);
  if (!bad && path != "-")
    files::write_stderr(say("wrote ", files::printable_message(path), ", ",
                            (written.size() + 1023) / 1024, " KiB\n"));
  return !bad;
}

bool Publisher::page(const std::string& path, const std::function<std::string()>& html) {
  return file(path, [&] { return with_foot(html()); });
}

void Publisher::lost(const MaybeError& bad) {
  if (!bad) return;
  const prop::ExitCode code = complain(command_, *bad);
  if (!lost_) lost_ = code;
}

void Publisher::lost_stdout(const MaybeError& bad) {
  lost(bad);
  no_stdout_ = no_stdout_ || bad;
}

prop::ExitCode Publisher::finish(std::string_view data, prop::ExitCode code) {
  if (!no_stdout_) code = cli::finish(command_, data, code);
  return lost_.value_or(code);
}

}  // namespace mla::cli
