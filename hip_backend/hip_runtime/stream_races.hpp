// Owns: which work touched each dword of device memory last, and races between works that nothing
// orders (order.hpp). Private to hip_runtime.
//
// Two works race if both touch a byte, one of them writes it, and neither comes before the other.
// Atomics do not race with each other, and whoever uses one on a dword comes after all that used
// one there before: kernels that wait for each other's flags are not looked into. What the host
// itself reads and writes is not seen. Accesses of a part of a dword are kept byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/hip_runtime/order.hpp"

namespace mla::hip_runtime {

class StreamRaces final : public gfx::GlobalWatch {
 public:
  // What follows is done by this, "kernel 'merge'", at the moment of order().
  void begin(const std::string& what);
  // Of a kernel: reports to its launch.
  void global_access(gfx::Wave& wave, const gfx::Inst& inst, const std::uint64_t* addresses,
                     std::uint64_t lanes, std::uint32_t size, gfx::Intent intent) override;
  // Of a copy or a fill: the first race as a sentence; empty: none.
  [[nodiscard]] std::string access(const void* base, std::size_t bytes, gfx::Intent intent);
  // A word that a stream waits for or writes: after all that did, or used an atomic there, before.
  void order_value(const void* word) { order_atomic(reinterpret_cast<std::uint64_t>(word)); }
  // Memory that is given out or given back: nobody has touched it.
  void forget(const void* base, std::size_t bytes);

 private:
  using Mark = std::uint32_t;  // 2 * number of the work + whether atomic; a set of them; 0: nobody
  static constexpr Mark is_set = 0x80000000, is_split = 0xffffffff;
  struct Cell {
    Mark writer = 0, reader = 0;  // a writer that is_split: the reader is the index of the bytes
  };
  struct Work {
    Moment moment;
    std::string what;
  };
  struct Race {
    Mark other = 0;  // 0: none
    bool written = false;
    std::uint32_t size = 4;
  };
  static constexpr std::uint64_t page_bytes = 4096;
  using Cells = std::array<Cell, page_bytes / 4>;
  struct Page {
    Cell all;                      // of each dword, if there are no
    std::unique_ptr<Cells> cells;  // cells of their own
  };

  [[nodiscard]] Cells& cells_of(std::uint64_t page);
  [[nodiscard]] Race visit_page(std::uint64_t page, Mark mine, gfx::Intent intent);
  [[nodiscard]] Race visit(std::uint64_t address, std::uint64_t end, Mark mine, gfx::Intent intent);
  [[nodiscard]] Race visit(Cell& cell, Mark mine, gfx::Intent intent);
  [[nodiscard]] bool races(Mark other, Mark mine);
  [[nodiscard]] Mark racing_reader(Mark readers, Mark mine);
  [[nodiscard]] Mark with(Mark readers, Mark mine);
  void order_atomic(std::uint64_t dword);
  [[nodiscard]] std::string sentence(const Race& race) const;

  std::vector<Work> works_ = {{}};  // by number
  std::unordered_map<std::uint64_t, Page> pages_;
  std::uint64_t recent_page_ = ~std::uint64_t{0};
  Cells* recent_ = nullptr;
  std::vector<std::array<Cell, 4>> bytes_;  // of dwords that were accessed in part
  std::vector<std::vector<Mark>> sets_;     // of readers, sorted
  std::map<std::vector<Mark>, Mark> numbers_of_sets_;
  std::map<std::uint64_t, Clock> atomics_;  // by dword: after which work the last one was
  Mark ordered_ = 0;                        // a work that was found to come before this one
};

// Null where the check is off.
StreamRaces* stream_races();

}  // namespace mla::hip_runtime
