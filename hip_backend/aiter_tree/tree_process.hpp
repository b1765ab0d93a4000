// TreeProcess: a Python process that has imported a tree of AITER, with AITER's own modules, and
// answers for it: size query, planner, decode.
//
// One for each architecture, kept until the last user is gone; the number of compute units is part
// of each question. Several threads take turns. Fails: with what the import or an answer says. A
// copy of it answers; where AITER's own checks end that one, the next question goes to another
// copy. Where the process itself has ended, it is started again. What it writes to standard error
// is passed on.
#pragma once

#include <sys/types.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "core/result.hpp"

namespace mla::hip::aiter_tree {

struct Message;
class ErrorStream;

struct TreeChoice {
  std::string directory;           // of AITER: a checkout, or an installation
  std::string python = "python3";  // that has mla_testbed, torch and what AITER imports
};

class TreeProcess {
 public:
  static Result<std::shared_ptr<TreeProcess>> start(const TreeChoice& choice, Arch arch);
  ~TreeProcess();
  TreeProcess(const TreeProcess&) = delete;
  TreeProcess& operator=(const TreeProcess&) = delete;

  [[nodiscard]] const std::string& version() const { return version_; }
  // Over what a step depends on: AITER's Python and C++ of MLA, and its code objects.
  [[nodiscard]] const std::string& sum() const { return sum_; }
  // Changed files of AITER's that no step runs, because something of ours stands there.
  [[nodiscard]] const std::vector<std::string>& not_run() const { return not_run_; }
  [[nodiscard]] Arch arch() const { return arch_; }
  // The answer. Fails: `unsupported` with what AITER raised, or what a check of AITER's said that
  // ended the process; `fault` with what a kernel did, or how the process ended otherwise.
  Result<Message> ask(const Message& question);

 private:
  struct Ending {
    std::string how;      // "exit code 0", "signal 6: Aborted"
    std::string refusal;  // of a check of AITER's that ended it; else empty
  };
  static Ending by_signal(int signal, const std::string& last_line);
  TreeProcess(TreeChoice choice, Arch arch);
  // Starts it and reads its first message.
  MaybeError open();
  // Ends it, if it has not ended, and says how.
  Ending close();
  static Error ended(const std::string& doing, const Ending& ending);
  TreeChoice choice_;
  Arch arch_;
  pid_t child_ = -1;
  int socket_ = -1;  // -1: there is no process
  std::unique_ptr<ErrorStream> errors_;
  std::string version_;
  std::string sum_;
  std::vector<std::string> not_run_;
  std::mutex turn_;
};

}  // namespace mla::hip::aiter_tree
