// Files that a command writes: whether it can, whether two of them are one, and writing them so
// that nothing that was there before is lost.
//
// A regular file appears complete or not at all: the text goes into a new file beside it, which
// then takes its name. What is no regular file (/dev/stderr, a pipe), or lies in a folder that
// takes no new file, is written in place. Symbolic links are followed, also those to a file that is
// not there yet. Fails: with the path and the system's reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace mla::files {

// Writes a whole file; "-" is stdout.
[[nodiscard]] MaybeError write_file(const std::string& path, std::string_view text);
// Why write_file() would fail, asked before long work; nothing if it would not.
[[nodiscard]] MaybeError check_writable(const std::string& path);

// A file whose text lies ready beside it: of several, none changes unless all have room. One that
// never takes its name goes away with this object, or with a signal that ends the process.
class ReadyFile {
 public:
  static Result<ReadyFile> write(const std::string& path, std::string_view text);
  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();
  // The text takes the name.
  [[nodiscard]] MaybeError take_name();

 private:
  ReadyFile() = default;
  std::string path_;    // as the user named it
  std::string target_;  // symbolic links resolved, since a rename would replace the link
  std::string beside_;  // the new file; empty: the text is written in place
  std::string text_;    // of a file in place
};

// Removes files that lie ready beside others. Async-signal-safe: for handlers of signals that end
// the process.
void remove_ready_files() noexcept;

// An option and the file that it names; empty: none.
struct Output {
  std::string option;
  std::string path;
};
// What a command prints besides.
inline Output printed(bool json) {
  return {json ? "--json" : "the report", "-"};
}
// Two options that would write the same file, under whatever names, in words; nothing if there are
// none.
[[nodiscard]] MaybeError check_distinct(const std::vector<Output>& outputs);
// A file, and who reads it: an option or a command.
struct Input {
  std::string reader;
  std::string path;
};
// An output that would take the place of a file that is read, in words; nothing if there is none.
[[nodiscard]] MaybeError check_inputs_kept(const std::vector<Output>& outputs,
                                           const std::vector<Input>& inputs);
// Both of these, and whether each output can be written.
[[nodiscard]] MaybeError check_outputs(const std::vector<Output>& outputs,
                                       const std::vector<Input>& inputs);

}  // namespace mla::files
