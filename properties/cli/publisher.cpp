#include "properties/cli/publisher.hpp"

#include "properties/files/output_file.hpp"

namespace mla::cli {

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

MaybeError check_record_files(bool json, const std::string& junit, const std::string& record,
                              const std::string& resumed) {
  if (MaybeError bad = files::check_outputs(
          {files::printed(json), {"--record", record}, {"--junit", junit}}, {}))
    return bad;
  return files::check_inputs_kept({{"--junit", junit}}, {{"--resume", resumed}});
}

}  // namespace mla::cli
