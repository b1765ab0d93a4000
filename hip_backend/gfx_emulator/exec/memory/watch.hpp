// Owns: what instructions on memory tell those who watch, while they run.
#pragma once

#include <cstdint>
#include <vector>

namespace mla::gfx {

struct Wave;
struct Inst;

// An update reads and writes: atomics.
enum class Intent : std::uint8_t { read, write, update };

// `size` bytes for each of `lanes`, at byte offsets in LDS.
class LdsWatch {
 public:
  virtual ~LdsWatch() = default;
  virtual void lds_access(Wave& wave, const Inst& inst, const std::uint32_t* offsets,
                          std::uint64_t lanes, std::uint32_t size, Intent intent) = 0;
  // The same of the wave's scratch memory, at byte offsets in that of each lane.
  virtual void scratch_access(Wave& wave, const std::uint32_t* offsets, std::uint64_t lanes,
                              std::uint32_t size) = 0;
};

// An access that was allowed. A flat one may have lanes in LDS and scratch.
class GlobalWatch {
 public:
  virtual ~GlobalWatch() = default;
  virtual void global_access(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                             std::uint64_t lanes, std::uint32_t size, Intent intent) = 0;
};

// Tells several.
class GlobalWatches final : public GlobalWatch {
 public:
  void clear() { all_.clear(); }
  void add(GlobalWatch* watch) { all_.push_back(watch); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  void global_access(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                     std::uint64_t lanes, std::uint32_t size, Intent intent) override {
    for (GlobalWatch* const watch : all_)
      watch->global_access(wave, inst, addresses, lanes, size, intent);
  }

 private:
  std::vector<GlobalWatch*> all_;
};

}  // namespace mla::gfx
