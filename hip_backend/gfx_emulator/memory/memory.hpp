// Owns: the device memory a launch may touch. Device addresses are host addresses.
//
// A range has a name and rights; whatever a kernel touches outside every range is a fault, never a
// host access. Memory from allocate() is filled and has unregistered space on both sides.
// Units: bytes. Registering and releasing are safe while launches run: a launch works on the
// ranges that existed when it began, so releasing what a running kernel uses is the caller's bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/memory/ranges.hpp"

namespace mla::gfx {

class Memory {
 public:
  Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Registers memory the caller owns. Fails on an empty range and on an overlap with another.
  [[nodiscard]] MaybeError add(std::span<std::byte> bytes, std::string name, Rights rights);
  [[nodiscard]] MaybeError add_read_only(std::span<const std::byte> bytes, std::string name);
  // A new range, readable and writable, aligned to 256 bytes, that repeats a word. A large one
  // costs little where nothing is written.
  [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t size, std::string name,
                                                      std::uint32_t word = 0xa5a5a5a5U);
  // The same, and reads of what nothing was written to are known (Range::fresh).
  [[nodiscard]] Result<std::span<std::byte>> allocate_fresh(std::size_t size, std::string name);
  // Copies into a range. What a large one held there costs nothing: whole pages are new, and
  // several host threads copy (0: OpenMP's choice). Nobody else may use the bytes meanwhile.
  [[nodiscard]] MaybeError copy_in(std::uint64_t to, std::span<const std::byte> from, int threads);
  // Forgets the range that begins here, and frees it when allocate() made it.
  [[nodiscard]] MaybeError release(const void* base);

  // The ranges of this moment, sorted by address.
  [[nodiscard]] std::shared_ptr<const std::vector<Range>> ranges() const;

 private:
  [[nodiscard]] MaybeError insert(Range range);

  struct Block {
    std::uint64_t base;
    std::shared_ptr<void> owner;
    bool mapped = false;
  };
  using Word = std::optional<std::uint32_t>;  // nothing: the fresh words
  Result<std::span<std::byte>> allocate_with(std::size_t size, std::string name, Word word);
  // So many bytes of `word`, and who owns them; null if the system gives none in this way.
  [[nodiscard]] std::shared_ptr<std::byte> mapped(std::size_t size, Word word);

  std::map<Word, int> patterns_;  // files in memory, a chunk of each word
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<Range>> ranges_;
  std::vector<Block> blocks_;
};

}  // namespace mla::gfx
