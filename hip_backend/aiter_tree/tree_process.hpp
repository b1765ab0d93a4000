// TreeProcess: a Python process that has imported a tree of AITER, with AITER's own modules, and
// answers for it: size query, planner, decode.
//
// One for each architecture, kept until the last user is gone; the number of compute units is part
// of each question. Several threads take turns. Fails: with what the import or an answer says; a
// process that ended is not started again.
#pragma once

#include <sys/types.h>
#include <memory>
#include <mutex>
#include <string>

#include "core/arch.hpp"
#include "core/result.hpp"

namespace mla::hip::aiter_tree {

struct Message;

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
  [[nodiscard]] Arch arch() const { return arch_; }
  // The answer. Fails: `unsupported` with what AITER raised; `fault` with what a kernel did or
  // where the process ended.
  Result<Message> ask(const Message& question);

 private:
  TreeProcess(pid_t child, int socket, Arch arch) : child_(child), socket_(socket), arch_(arch) {}
  pid_t child_;
  int socket_;
  Arch arch_;
  std::string version_;
  std::string sum_;
  std::mutex turn_;
};

}  // namespace mla::hip::aiter_tree
