// Device: the one way in which anything of ours reaches a machine that runs kernels.
//
// It is implemented by the HIP runtime (an AMD GPU), HIP's NVIDIA platform (an NVIDIA GPU), an
// emulator of the instruction set, or nothing, in which case every call says why. The interface is
// plain on purpose: addresses are numbers, kernel arguments are bytes, handles are opaque numbers
// of the device that gave them. Owners of handles are in resources.hpp. Sizes are bytes; a word is
// four of them; times are milliseconds. Calls without a stream return when their work is done,
// but a fill may still run: whatever comes after it sees it done, and its error is that of a later
// call. Calls on a stream are ordered within it.
// Fails: with ErrorCode::fault and what the device said. After a fault of a kernel a device may
// answer every call with the same error until recover() has been called.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace mla::hip {

using Address = std::uint64_t;  // of device memory; 0 is no address
template <class T>
Address address_of(const T* pointer) {
  return std::bit_cast<Address>(pointer);
}

template <class Tag>
struct Handle {
  std::uint64_t value = 0;  // 0 is none, and for a stream the device's default stream
  bool operator==(const Handle&) const = default;
};
using KernelHandle = Handle<struct KernelTag>;
using StreamHandle = Handle<struct StreamTag>;
using EventHandle = Handle<struct EventTag>;
using GraphHandle = Handle<struct GraphTag>;

// Which text of a kernel a device runs: lanes of a wave and matrix instructions follow from it.
enum class Platform : std::uint8_t { amd, nvidia };

struct DeviceProperties {
  std::string label;  // "hip:0", "nvidia:0", "emulated:gfx942", "null"
  std::string model;  // the product, as the device names it
  std::string arch;   // "gfx942", "gfx950", "sm_90": which code object it takes
  std::string driver;
  Platform platform = Platform::amd;
  std::int64_t compute_units = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t lds_bytes = 0;  // largest LDS of one workgroup
  // Whether every access outside of an allocation is a fault, which the device survives.
  bool guards_memory = false;
  bool draws_timing = false;  // set_timing() changes how launches run
};

struct LaunchSize {
  std::uint32_t grid_x = 1;  // workgroups
  std::uint32_t grid_y = 1;
  std::uint32_t grid_z = 1;
  std::uint32_t threads = 64;   // of a workgroup, along x
  std::uint32_t lds_bytes = 0;  // beyond what the kernel itself declares
};

// How launches run on a device that draws their timing.
struct LaunchTiming {
  std::uint64_t seed = 0;  // of the turns of the waves, and of when memory answers; 0: the default
  bool checked = false;    // a result used before it is waited for, or a race in LDS, is a fault
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceProperties& properties() const = 0;

  // A thread that shares the device with others holds this from its first allocation to the last
  // release: a fault is then its own, and nothing of another thread is on the device when it is
  // recovered. An emulated device has one machine for each thread, so no thread waits.
  [[nodiscard]] virtual std::unique_lock<std::mutex> take_turn() { return {}; }

  // Memory. fill() repeats a 32-bit word; copies may start anywhere.
  virtual Result<Address> allocate(std::int64_t bytes) = 0;
  // The same with every word `word`; `bytes` is a multiple of four.
  virtual Result<Address> allocate_filled(std::int64_t bytes, std::uint32_t word) {
    Result<Address> memory = allocate(bytes);
    if (!memory) return memory;
    if (MaybeError bad = fill(*memory, word, bytes / 4)) {
      release(*memory);
      return *bad;
    }
    return memory;
  }
  virtual void release(Address address) = 0;
  virtual MaybeError copy_in(Address to, std::span<const std::byte> from) = 0;
  virtual MaybeError copy_out(Address from, std::span<std::byte> to) = 0;
  virtual MaybeError fill(Address to, std::uint32_t word, std::int64_t words) = 0;
  virtual MaybeError copy_on(StreamHandle stream, Address to, Address from, std::int64_t bytes) = 0;

  // Code. The handle lives as long as the device; asking again for the same bytes is cheap. The
  // bytes must outlive the device. `arguments` is the kernel's argument segment.
  virtual Result<KernelHandle> find_kernel(std::span<const std::byte> code_object,
                                           std::string_view name) = 0;
  virtual MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                            std::span<const std::byte> arguments) = 0;
  // Of the launches from here on (TimedLaunches, resources.hpp).
  virtual void set_timing(const LaunchTiming&) {}

  virtual Result<StreamHandle> make_stream() = 0;
  virtual void release(StreamHandle stream) = 0;
  virtual MaybeError synchronize(StreamHandle stream) = 0;

  virtual Result<EventHandle> make_event() = 0;
  virtual void release(EventHandle event) = 0;
  virtual MaybeError record(StreamHandle stream, EventHandle event) = 0;
  // Between two events that have been recorded and reached.
  virtual Result<double> elapsed_ms(EventHandle from, EventHandle to) = 0;

  // Graphs: launches and copies on the stream between begin and end are recorded, not run.
  virtual MaybeError begin_capture(StreamHandle stream) = 0;
  virtual Result<GraphHandle> end_capture(StreamHandle stream) = 0;
  virtual MaybeError replay(StreamHandle stream, GraphHandle graph) = 0;
  virtual void release(GraphHandle graph) = 0;

  // After a fault: makes the device usable again, or says that only a new process can. Everything
  // that was allocated, found or made before is gone either way.
  virtual MaybeError recover() = 0;
};

}  // namespace mla::hip
