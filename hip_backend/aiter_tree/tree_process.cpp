#include "hip_backend/aiter_tree/tree_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/aiter_tree/error_stream.hpp"
#include "hip_backend/aiter_tree/message.hpp"

namespace mla::hip::aiter_tree {
namespace {

Error fault(const std::string& what) {
  return {ErrorCode::fault, what};
}

// The child reads and writes one end of the sockets as its standard input and output.
Result<pid_t> spawn(const TreeChoice& choice, Arch arch, int theirs, int errors) {
  const std::string named(name(arch));
  const std::array<const char*, 8> words = {choice.python.c_str(),
                                            "-m",
                                            "mla_testbed.aiter.tree",
                                            "--aiter",
                                            choice.directory.c_str(),
                                            "--arch",
                                            named.c_str(),
                                            nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr,
                                  const_cast<char* const*>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fault(say("'", choice.python, "' cannot be started: ", std::strerror(failed),
                     "; MLA_TESTBED_PYTHON names the Python that imports AITER"));
  return child;
}

}  // namespace

TreeProcess::TreeProcess(TreeChoice choice, Arch arch) : choice_(std::move(choice)), arch_(arch) {}

Result<std::shared_ptr<TreeProcess>> TreeProcess::start(const TreeChoice& choice, Arch arch) {
  std::shared_ptr<TreeProcess> out(new TreeProcess(choice, arch));
  if (MaybeError bad = out->open()) return *bad;
  return out;
}

TreeProcess::~TreeProcess() {
  (void)close();
}

MaybeError TreeProcess::open() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fault(say("no socket: ", std::strerror(errno)));
  auto errors = ErrorStream::open();
  const auto child = errors ? spawn(choice_, arch_, ends[1], (*errors)->theirs()) : errors.error();
  ::close(ends[1]);
  if (!child) {
    ::close(ends[0]);
    return child.error();
  }
  child_ = *child;
  errors_ = std::move(*errors);
  errors_->begin();
  socket_ = ends[0];
  const auto hello = read_message(socket_);
  if (hello && !hello->head.contains("error")) {
    version_ = hello->head.value("version", "");
    sum_ = hello->head.value("sum", "");
    not_run_ = hello->head.value("not_run", std::vector<std::string>{});
    return std::nullopt;
  }
  (void)close();
  if (hello)
    return fault(say("the AITER of '", choice_.directory,
                     "' cannot be imported: ", hello->head["error"].get<std::string>()));
  return fault(say("'", choice_.python, " -m mla_testbed.aiter.tree' ended before it answered: it ",
                   "needs the package mla_testbed with torch, triton and what AITER imports; ",
                   "MLA_TESTBED_PYTHON names another Python"));
}

// AITER's checks raise in some of its calls and abort in others; both refuse what was asked. An
// abort that no check explains, as of a damaged heap, refuses nothing.
TreeProcess::Ending TreeProcess::by_signal(int signal, const std::string& last_line) {
  return {say("signal ", signal, ": ", strsignal(signal)),
          signal == SIGABRT ? refusal_in(last_line) : ""};
}

TreeProcess::Ending TreeProcess::close() {
  if (socket_ < 0) return {};
  ::close(std::exchange(socket_, -1));  // which ends it
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string last = errors_->end();
  errors_.reset();
  if (!WIFSIGNALED(status)) return {say("exit code ", WEXITSTATUS(status)), ""};
  return by_signal(WTERMSIG(status), last);
}

Error TreeProcess::ended(const std::string& doing, const Ending& ending) {
  if (ending.refusal.empty()) return fault(say(doing, " (", ending.how, ")"));
  return {ErrorCode::unsupported, say("AITER: ", ending.refusal, " (it ends its process)")};
}

Result<Message> TreeProcess::ask(const Message& question) {
  const std::lock_guard<std::mutex> one(turn_);
  if (socket_ < 0)
    if (MaybeError bad = open()) return *bad;
  (void)errors_->last();  // of what was asked before
  MaybeError failed = send_message(socket_, question);
  Result<Message> answer = failed ? Result<Message>(*failed) : read_message(socket_);
  if (!answer) return ended(answer.error().message, close());
  if (answer->head.contains("ended"))
    return ended(lost("answering").message,
                 by_signal(answer->head["ended"].get<int>(), errors_->last()));
  if (answer->head.contains("fault")) return fault(answer->head["fault"].get<std::string>());
  if (answer->head.contains("error"))
    return Error{ErrorCode::unsupported, "AITER: " + answer->head["error"].get<std::string>()};
  return answer;
}

}  // namespace mla::hip::aiter_tree
