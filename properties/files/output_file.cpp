#include "properties/files/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>

#include "core/say.hpp"
#include "properties/files/terminal.hpp"

namespace mla::files {
namespace {

namespace fs = std::filesystem;

Error fault(const std::string& path, int number) {
  return {ErrorCode::fault, "cannot write '" + path + "': " + std::strerror(number)};
}

// A file that lies ready. A node is used again and never freed: a handler may run at any time.
struct Node {
  std::array<char, 4096> path{};  // PATH_MAX
  std::atomic<bool> there = false;
  Node* next = nullptr;
};
std::atomic<Node*> ready = nullptr;

void end_without_ready_files(int number) {
  remove_ready_files();
  std::signal(number, SIG_DFL);
  std::raise(number);  // delivered when this handler returns
}

// From now on, for the signals that would end the process.
void catch_ending_signals() {
  struct sigaction action = {};
  action.sa_handler = end_without_ready_files;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) sigaction(number, &action, nullptr);
  }
}

void remember(const std::string& path) {
  Node* node = ready.load();
  while (node != nullptr && node->there) node = node->next;
  if (node == nullptr) {
    node = new Node;
    node->next = ready.load();
    ready = node;
  }
  if (path.size() >= node->path.size()) return;
  path.copy(node->path.data(), path.size());
  node->path.at(path.size()) = '\0';
  node->there = true;
}

void forget(const std::string& path) {
  for (Node* node = ready.load(); node != nullptr; node = node->next)
    if (node->there && path == node->path.data()) node->there = false;
}

void remove_ready(const std::string& path) {
  unlink(path.c_str());
  forget(path);
}

// The path that symbolic links lead to, also where the last one leads to nothing yet.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // of the kernel
  std::error_code none;
  for (int n = 0; n < kMostLinks && fs::is_symlink(fs::symlink_status(path, none)); ++n)
    path = path.parent_path() / fs::read_symlink(path, none);
  return path;
}

// Where a file is written.
struct Target {
  std::string path;    // symbolic links resolved
  std::string beside;  // a new file that takes the name afterwards; empty: in place
  int error = 0;       // why neither is possible
};

// The new file with the rights that the old one has, or that a new one gets.
void make_beside(Target& target, const struct stat* old) {
  std::string beside = target.path + ".XXXXXX";
  catch_ending_signals();
  const int made = mkstemp(beside.data());
  if (made < 0) {
    // In place only where the folder takes no new file. A full disk would take the old one along.
    const bool in_place =
        errno == EACCES || errno == EPERM || errno == EROFS || errno == ENAMETOOLONG;
    if (old == nullptr || !in_place) target.error = errno;
    return;
  }
  remember(beside);
  const mode_t mask = umask(0);
  umask(mask);
  const bool kept = fchmod(made, old != nullptr ? old->st_mode & 07777U : 0666U & ~mask) == 0;
  close(made);
  if (kept) target.beside = beside;
  if (!kept) remove_ready(beside);
}

Target target_of(const std::string& path) {
  struct stat file = {};
  const bool exists = stat(path.c_str(), &file) == 0;
  Target target{.path = path, .beside = {}};
  if (!exists && errno != ENOENT) target.error = errno;
  // Not opened to find out: a reader at the other end of a pipe would take that for all of it.
  if (exists && access(path.c_str(), W_OK) != 0) target.error = errno;
  if (exists && S_ISDIR(file.st_mode)) target.error = EISDIR;
  if (target.error != 0 || (exists && !S_ISREG(file.st_mode))) return target;
  const std::string real = behind_links(path).string();
  std::error_code none;
  // The name of /dev/stdout leads nowhere once its file was removed.
  if (exists && !fs::equivalent(real, path, none)) return target;
  target.path = real;
  make_beside(target, exists ? &file : nullptr);
  return target;
}

// Writes all of it; 0, or why not. A reader who left a pipe has what it wanted.
int write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EPIPE) return 0;
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// The text in place. Bytes that a regular file has stay if the new ones have no room.
MaybeError write_over(const std::string& target, std::string_view text, const std::string& path) {
  struct stat old = {};
  const int create = stat(target.c_str(), &old) == 0 ? 0 : O_CREAT;
  const int file = open(target.c_str(), O_WRONLY | O_CLOEXEC | create, 0666);
  if (file < 0) return fault(path, errno);
  const bool regular = create != 0 || S_ISREG(old.st_mode);
  const auto size = static_cast<off_t>(text.size());
  int error = 0;
  if (old.st_size > 0 && size > old.st_size && regular) {
    error = posix_fallocate(file, old.st_size, size - old.st_size);
    if (error == EOPNOTSUPP || error == EINVAL) error = 0;  // this file system cannot tell
    // Without room for all of it, some may have been added.
    if (error != 0 && ftruncate(file, old.st_size) != 0) error = errno;
  }
  if (error == 0) error = write_whole(file, text);
  if (error == 0 && regular && ftruncate(file, size) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error != 0) return fault(path, error);
  return std::nullopt;
}

// Whether `output` is the file that is read, or a manifest or tensor of the folder. A terminal or a
// pipe may well be read and written.
bool takes_place_of(const std::string& output, const std::string& input) {
  std::error_code none;
  if (fs::is_regular_file(input, none)) return fs::equivalent(output, input, none);
  if (!fs::is_directory(input, none) || !fs::is_regular_file(output, none)) return false;
  const fs::path real = fs::canonical(output, none);
  const fs::path kind = real.extension();
  return (kind == ".json" || kind == ".npy") && fs::equivalent(real.parent_path(), input, none);
}

// What a path names, "-" being stdout: a file, or a name in a folder where it is not there yet.
struct Place {
  struct stat file = {};
  std::string name;  // empty: the file itself
};

std::optional<Place> place_of(const std::string& path) {
  Place place;
  if ((path == "-" ? fstat(STDOUT_FILENO, &place.file) : stat(path.c_str(), &place.file)) == 0)
    return place;
  const fs::path real = behind_links(path);
  const fs::path folder = real.has_parent_path() ? real.parent_path() : fs::path(".");
  if (path == "-" || stat(folder.c_str(), &place.file) != 0) return std::nullopt;
  place.name = real.filename();
  return place;
}

// Whether the second text would follow the first or take its place: one path, or one file under two
// names. /dev/null keeps neither.
bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (fs::path(a).lexically_normal() == fs::path(b).lexically_normal()) return true;
  const auto first = place_of(a);
  const auto second = place_of(b);
  if (!first || !second) return false;
  const auto key = [](const Place& p) { return std::tie(p.file.st_dev, p.file.st_ino, p.name); };
  if (key(*first) != key(*second)) return false;
  return !S_ISCHR(first->file.st_mode) || first->file.st_rdev != makedev(1, 3);
}

}  // namespace

void remove_ready_files() noexcept {
  for (const Node* node = ready.load(); node != nullptr; node = node->next)
    if (node->there) unlink(node->path.data());
}

Result<ReadyFile> ReadyFile::write(const std::string& path, std::string_view text) {
  const Target target = target_of(path);
  if (target.error != 0) return fault(path, target.error);
  ReadyFile out;
  out.path_ = path;
  out.target_ = target.path;
  out.beside_ = target.beside;
  if (target.beside.empty()) {
    out.text_ = text;
  } else if (MaybeError bad = write_over(target.beside, text, path)) {
    return *bad;
  }
  return out;
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      beside_(std::exchange(other.beside_, {})),
      text_(std::move(other.text_)) {}

ReadyFile::~ReadyFile() {
  if (!beside_.empty()) remove_ready(beside_);
}

MaybeError ReadyFile::take_name() {
  if (beside_.empty()) return write_over(target_, text_, path_);
  if (std::rename(beside_.c_str(), target_.c_str()) != 0) return fault(path_, errno);
  forget(beside_);
  beside_.clear();
  return std::nullopt;
}

MaybeError write_file(const std::string& path, std::string_view text) {
  if (path == "-") return write_stdout(text);
  auto file = ReadyFile::write(path, text);
  if (!file) return file.error();
  return file->take_name();
}

MaybeError check_writable(const std::string& path) {
  if (path == "-") return std::nullopt;
  const Target target = target_of(path);
  if (!target.beside.empty()) remove_ready(target.beside);
  if (target.error != 0) return fault(path, target.error);
  return std::nullopt;
}

MaybeError check_distinct(const std::vector<Output>& outputs) {
  for (auto a = outputs.begin(); a != outputs.end(); ++a)
    for (auto b = outputs.begin(); b != a; ++b)
      if (same_file(a->path, b->path))
        return Error{ErrorCode::usage,
                     say(b->option, " and ", a->option, " both write '", a->path, "'")};
  return std::nullopt;
}

MaybeError check_inputs_kept(const std::vector<Output>& outputs, const std::vector<Input>& inputs) {
  for (const Output& out : outputs)
    for (const Input& in : inputs)
      if (in.path != "-" && takes_place_of(out.path, in.path))
        return Error{ErrorCode::usage, say(out.option, " would overwrite '",
                                           fs::is_directory(in.path) ? out.path : in.path,
                                           "', which ", in.reader, " reads: name another file")};
  return std::nullopt;
}

MaybeError check_outputs(const std::vector<Output>& outputs, const std::vector<Input>& inputs) {
  if (MaybeError bad = check_distinct(outputs)) return bad;
  if (MaybeError bad = check_inputs_kept(outputs, inputs)) return bad;
  for (const Output& out : outputs)
    if (!out.path.empty())
      if (MaybeError bad = check_writable(out.path)) return bad;
  return std::nullopt;
}

}  // namespace mla::files
