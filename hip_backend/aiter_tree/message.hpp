// Message: what goes between this program and the process of an AITER tree, in both directions: a
// line of JSON, then the bytes of the arrays that it names.
//
// The counterpart is mla_testbed/aiter/tree/wire.py. Private to aiter_tree. Fails: with what
// cannot be read, sent or understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"

namespace mla::hip::aiter_tree {

struct Array {
  std::string dtype;  // as numpy names it
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

struct Message {
  nlohmann::json head = nlohmann::json::object();
  std::map<std::string, Array> arrays;

  // A list, or rows of `width` words.
  void add(const std::string& name, std::span<const std::int32_t> words, std::int64_t width = 1);
  void add_bytes(const std::string& name, std::span<const std::byte> bytes);
  // An array of the type. Fails: it is not there, or has another type or another number of
  // elements.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> take(const std::string& name, std::int64_t count) const;
  template <class T>
  [[nodiscard]] Result<std::vector<T>> take_all(const std::string& name) const;
};

// What is said of a process that ended while it was "asked" or "answering".
Error lost(const char* what);

// Over a connected socket. read_message() waits for the whole of it.
MaybeError send_message(int socket, const Message& message);
Result<Message> read_message(int socket);

// How launches run, in the words of the command line: checks, schedule, arrival, matrix.
nlohmann::json words_of(const gfx::RunOptions& run);

}  // namespace mla::hip::aiter_tree
