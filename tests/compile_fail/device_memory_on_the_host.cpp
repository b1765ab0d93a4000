// Host code cannot look into device memory: the access token is made by a stream only (P21).
#include "core/engine/device/stream.hpp"

int main() {
  mla::device::DeviceHeap heap;
  const mla::device::DeviceBuffer<int> lengths(heap, "seq_lens", 3);
#ifdef MLA_BREAK
  return lengths.view().on(mla::device::DeviceAccess("host"))[0];
#else
  return static_cast<int>(lengths.view().size());
#endif
}
