#include "properties/cli/command.hpp"

#include "core/say.hpp"
#include "properties/files/printable.hpp"
#include "properties/files/terminal.hpp"

namespace mla::cli {

void note(std::string_view command, std::string_view message) {
  files::write_stderr(say("mla-testbed", command.empty() ? "" : " ", command, ": ",
                          files::printable_message(message), "\n"));
}

prop::ExitCode complain(std::string_view command, const Error& error) {
  note(command, error.message + (error.bug.empty() ? "" : " (" + error.bug + ")"));
  switch (error.code) {
    case ErrorCode::usage:
      return prop::ExitCode::usage;
    case ErrorCode::fault:
      return prop::ExitCode::environment;
    case ErrorCode::unsupported:
    case ErrorCode::refused:
    case ErrorCode::overrun:
      break;
  }
  return prop::ExitCode::skipped;
}

prop::ExitCode refuse(std::string_view command, const std::string& why) {
  return complain(command, {ErrorCode::usage, why});
}

prop::ExitCode complain_unselected(std::string_view command, const app::Unselected& unselected) {
  note(command, unselected.message);
  return unselected.exit;
}

prop::ExitCode finish(std::string_view command, std::string_view data, prop::ExitCode code) {
  if (const MaybeError bad = files::write_stdout(data)) return complain(command, *bad);
  return code;
}

}  // namespace mla::cli
