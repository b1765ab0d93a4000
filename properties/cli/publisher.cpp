#include "properties/cli/publisher.hpp"

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
  const MaybeError bad = files::write_file(path, text());
  lost(bad);
  return !bad;
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
