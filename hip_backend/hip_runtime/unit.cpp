#include "hip_backend/hip_runtime/unit.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/say.hpp"

extern char** environ;

namespace mla::hip_runtime {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a line of an entry's head says; empty without such a line.
std::string_view line_of(std::string_view head, std::string_view name) {
  const auto at = head.find(say("\n", name, " "));
  if (at == head.npos) return {};
  const auto begin = at + name.size() + 2;
  return head.substr(begin, head.find('\n', begin) - begin);
}

// A directory of our own that goes with what is in it.
class Scratch {
 public:
  Scratch() : path_((fs::temp_directory_path(error_) / "mla-testbed-XXXXXX").string()) {
    if (!error_ && mkdtemp(path_.data()) == nullptr) error_ = {errno, std::generic_category()};
  }
  ~Scratch() {
    if (!error_) fs::remove_all(path_, error_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::error_code& error() const { return error_; }
  [[nodiscard]] fs::path file(const char* name) const { return fs::path(path_) / name; }

 private:
  std::error_code error_;
  std::string path_;
};

// Runs a program to its end, its messages in a file. Its exit code; -1 if it did not start or end.
int run(std::vector<std::string> words, const fs::path& messages) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0) return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The line of a compiler's messages that says what is wrong.
std::string first_error(const std::string& messages) {
  const auto at = messages.find("error:");
  const auto begin = at == messages.npos ? 0 : messages.rfind('\n', at) + 1;
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

// The machine code of one kernel of an entry, from the compiler that made the bitcode.
Result<std::string> machine_code(const std::string& compiler, std::span<const std::byte> entry,
                                 const std::string& kernel) {
  const Scratch scratch;
  if (scratch.error())
    return Error{ErrorCode::fault, say("no temporary directory: ", scratch.error().message())};
  const fs::path in = scratch.file("bitcode"), out = scratch.file("code.co"),
                 messages = scratch.file("messages");
  std::ofstream file(in, std::ios::binary);
  file.write(reinterpret_cast<const char*>(entry.data()),
             static_cast<std::streamsize>(entry.size()));
  file.close();
  if (!file) return Error{ErrorCode::fault, say("cannot write '", in.string(), "'")};
  const int code =
      run({compiler, "--mla-kernel", kernel, "--mla-bitcode", in.string(), "-o", out.string()},
          messages);
  if (code == 0) return contents(out);
  const std::string why = first_error(contents(messages));
  return Error{ErrorCode::fault, say("'", compiler, "' did not compile it",
                                     why.empty() ? say(": exit ", code) : ": " + why)};
}

}  // namespace

Result<Unit> Unit::of(std::span<const std::byte> code) {
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  if (!text.starts_with(kBitcode)) {
    auto whole = gfx::load_code_object(code, {});
    if (!whole) return whole.error();
    return Unit(std::move(*whole));
  }
  const std::string_view head = text.substr(0, text.find("\n\n") + 1);
  const std::string_view arch = line_of(head, "arch"), compiler = line_of(head, "compiler");
  if ((arch != "gfx942" && arch != "gfx950") || compiler.empty())
    return Error{ErrorCode::usage, say("bitcode for '", arch, "', to be compiled by '", compiler,
                                       "': hipcc of this project writes both")};
  return Unit(Bitcode{arch == "gfx950" ? gfx::Arch::gfx950 : gfx::Arch::gfx942,
                      std::string(compiler), code});
}

std::optional<gfx::Arch> Unit::arch() const {
  if (whole_) return whole_->arch();
  if (bitcode_) return bitcode_->arch;
  return std::nullopt;
}

Result<const gfx::CodeObject*> Unit::code_of(const std::string& kernel) {
  if (refused_) return *refused_;
  if (!whole_ && compiled_.count(kernel) == 0) {
    const auto code = machine_code(bitcode_->compiler, bitcode_->entry, kernel);
    if (!code) return code.error();
    auto object = gfx::load_code_object(std::as_bytes(std::span(*code)), {});
    if (!object) return object.error();
    compiled_.emplace(kernel, std::move(*object));
  }
  const gfx::CodeObject& object = whole_ ? *whole_ : compiled_.at(kernel);
  if (object.kernel(kernel) == nullptr) return Error{ErrorCode::usage, "there is no code for it"};
  return &object;
}

std::span<std::byte> Unit::variable(const std::string& name) const {
  return whole_ ? whole_->variable(name) : std::span<std::byte>{};
}

std::vector<const gfx::CodeObject*> Unit::objects() const {
  std::vector<const gfx::CodeObject*> out;
  if (whole_) out.push_back(&*whole_);
  for (const auto& [kernel, object] : compiled_) out.push_back(&object);
  return out;
}

}  // namespace mla::hip_runtime
