// Owns: when a workgroup is taken to wait for another one.
//
// Waves that wait read memory again and again. So a workgroup waits if 65,536 instructions of it in
// a row hold no store, no access to LDS, no barrier and no matrix instruction; atomics may be what
// it asks with. One that asks through LDS or a barrier, as a whole, is known by its atomics: it
// waits if it has one in 1,048,576 instructions. A workgroup that was only busy loses nothing: it
// goes on after others.
#pragma once

#include <cstdint>
#include <vector>

#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

class Patience {
 public:
  explicit Patience(Arch arch) : watched_(watched(arch)) {}

  // When the workgroup begins or goes on.
  void start(const Group& group);
  // `executed` instructions of the workgroup since the last call, by all waves.
  [[nodiscard]] bool ends(const Group& group, std::uint64_t executed) {
    in_window_ += executed;
    return in_window_ >= window && looks_waiting(group);
  }
  [[nodiscard]] std::uint64_t executed() const { return in_all_; }  // since start(), if it ended
  // Whether nothing that others may see was done since start(), as far as was looked.
  [[nodiscard]] bool idle() const { return idle_; }

 private:
  static constexpr std::uint64_t window = 1 << 16, most = 1 << 20;  // instructions

  // Indices of operations, looked for once: most launches are short.
  struct Watched {
    explicit Watched(const Operations& operations);
    std::vector<std::uint16_t> work, atomics;
  };
  [[nodiscard]] static const Watched& watched(Arch arch);

  bool looks_waiting(const Group& group);
  [[nodiscard]] static std::uint64_t count(const Group& group,
                                           const std::vector<std::uint16_t>& operations);

  const Watched& watched_;
  std::uint64_t in_window_ = 0, in_all_ = 0;
  std::uint64_t work_before_ = 0, atomics_before_ = 0, atomics_in_window_ = 0;
  bool idle_ = true;
};

}  // namespace mla::gfx
