// Publisher: what a command writes at its end, reports and records first, the answer on stdout
// last.
//
// Private to properties/cli. Fails: what cannot be written is noted on stderr and makes the exit
// code 3, or 2 where it is nothing that the run has. Everything else is written nevertheless: a
// full disk costs no verdict.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "properties/cli/command.hpp"
#include "properties/files/output_file.hpp"

namespace mla::cli {

// What of a run is printed and written.
struct Publication {
  bool json = false;
  std::string junit;  // empty: none
  std::string html;   // empty: none
  bool timing = false;
};

// Why a report or the record of a run, which may go on from another, cannot be written; asked
// before the run. `inputs` are what it reads.
MaybeError check_files(const Publication& publication, const std::string& record,
                       const std::string& resumed, const std::vector<files::Input>& inputs);

class Publisher {
 public:
  explicit Publisher(std::string_view command) : command_(command) {}
  // Writes a file unless the path is empty, and says so on stderr unless it is stdout. Returns
  // whether it is there.
  bool file(const std::string& path, const std::function<std::string()>& text);
  // The same of an HTML page, which gets its foot.
  bool page(const std::string& path, const std::function<std::string()>& html);
  // Notes what was lost elsewhere; nothing is written to a stdout that was lost.
  void lost(const MaybeError& bad);
  void lost_stdout(const MaybeError& bad);
  // Prints the answer; the exit code is `code` unless something was lost.
  [[nodiscard]] prop::ExitCode finish(std::string_view data, prop::ExitCode code);

 private:
  std::string command_;
  std::optional<prop::ExitCode> lost_;
  bool no_stdout_ = false;
};

}  // namespace mla::cli
