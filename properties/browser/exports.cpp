// The functions of the WebAssembly module. Compiled by build.sh alone.
//
// A text goes in through text_room(), which gives the place to write it; an answer is read from
// answer_text() and answer_bytes() before the next question.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "properties/browser/answer.hpp"

namespace {

std::string& text() {
  static std::string held;
  return held;
}

std::string& answer() {
  static std::string held;
  return held;
}

std::string& file_name() {
  static std::string held;
  return held;
}

mla::browser::Files& files() {
  static mla::browser::Files held;
  return held;
}

}  // namespace

#define MLA_EXPORT(name) extern "C" __attribute__((export_name(#name)))

MLA_EXPORT(text_room) char* text_room(std::size_t bytes) {
  text().assign(bytes, '\0');
  return text().data();
}

MLA_EXPORT(take_name) void take_name() {
  file_name() = std::exchange(text(), {});
}

MLA_EXPORT(take_file) void take_file() {
  files()[std::exchange(file_name(), {})] = std::exchange(text(), {});
}

MLA_EXPORT(ask_case) void ask_case(std::int32_t step) {
  answer() = mla::browser::answer_case(text(), step);
}

// About the files that were taken, of which none stay.
MLA_EXPORT(ask_files) void ask_files(std::int32_t step) {
  answer() = mla::browser::answer_files(text(), std::exchange(files(), {}), step);
}

MLA_EXPORT(answer_text) const char* answer_text() {
  return answer().data();
}

MLA_EXPORT(answer_bytes) std::size_t answer_bytes() {
  return answer().size();
}
