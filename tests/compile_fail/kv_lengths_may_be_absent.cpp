// The KV lengths are on the host only in some steps: no caller reads them without saying what
// happens in the others (P21).
#include "core/engine/fa/host_seq_lens.hpp"

int main() {
  const auto lengths = mla::fa::HostSeqLens::copied({3, 4});
#ifdef MLA_BREAK
  return static_cast<int>((*lengths)[0]);
#else
  return lengths.visit([](std::span<const std::int64_t> n) { return static_cast<int>(n[0]); },
                       [] { return 0; });
#endif
}
