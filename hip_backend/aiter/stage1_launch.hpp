// What AITER's stage 1 launches, and what is left to do when its kernel has run.
//
// Private to the adapter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "hip_backend/aiter/kernargs.hpp"
#include "hip_backend/aiter/options.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "hip_backend/decode/stage1.hpp"
#include "hip_backend/device/resources.hpp"

namespace mla::hip::aiter {

struct KernelRun {
  DecodeKernargs arguments;
  LaunchSize size;
};

// Partial results that only the adapter reads, f32.
struct Scratch {
  Buffer out;  // [rows, heads, 512]
  Buffer lse;  // [rows, heads]
};

// Rows whose LSE lies in scratch: kernel row, and its first partial row there; the splits of a row
// follow each other.
struct LseInScratch {
  struct Row {
    std::int64_t row = 0;
    std::int64_t partial = 0;
  };
  Scratch scratch;
  std::vector<Row> rows;
  std::size_t splits = 1;
};

// The kernel has written everything.
struct Complete {};
// It keeps the LSE to itself: a second run writes the same works as partial ones, with theirs.
struct AskAgain {
  KernelRun run;
  LseInScratch lse;
};
// It has left f32 partials of a single split, which the original rounds to the output.
struct RoundPartials {
  LseInScratch lse;
};
using Afterwards = std::variant<Complete, AskAgain, RoundPartials>;

struct Stage1Launch {
  KernelRun run;
  Afterwards afterwards;
  std::vector<Buffer> owned;  // what the arguments point at
};

// Fails: what the device says; without a plan, a fault of admission.
[[nodiscard]] Result<Stage1Launch> prepare_stage1(const Stage1Input& input,
                                                  const Selection& selection,
                                                  const AiterOptions& options);

// The LSE of one head over the splits of a row; `width` heads lie between two splits. Unwritten
// splits take no part, nor NaN, which stands where a row sees no key of a split (BUG-012); where
// nothing is left the LSE stays unwritten.
[[nodiscard]] float merged_lse(std::span<const float> lse, std::size_t first, std::size_t splits,
                               std::size_t width);

}  // namespace mla::hip::aiter
