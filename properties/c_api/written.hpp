// What a call has to write, and whether it did.
//
// Owns: the switch mla_check_written(); `Expectation`, the rows that works name. Before the call
// they are poisoned, afterwards a row of poison is one that was not written, and it gets back what
// it held. Rows that no work names are never touched. Private to properties/c_api.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"

namespace mla::c_api {

// Whether calls answer for their outputs.
bool written_is_checked();

class Expectation {
 public:
  Expectation() = default;
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;
  ~Expectation() { static_cast<void>(finish()); }  // of a call that ended early
  // `count` elements of `size` bytes (2 or 4) from `at`. `what` names them in a sentence.
  void row(std::string what, void* at, std::int64_t count, std::size_t size);
  // The values that f32 and bf16 memory holds before anything is written.
  void poison();
  // One fault a row that still holds poison; every such row is as before. Forgets the rows.
  std::vector<Fault> finish();

 private:
  struct Row {
    std::string what;
    std::byte* at;
    std::size_t bytes;
    std::size_t size;
    std::vector<std::byte> before;
  };
  std::vector<Row> rows_;
  bool poisoned_ = false;
};

// Whether all elements hold poison.
bool is_poison(const float* at, std::int64_t count);

}  // namespace mla::c_api
