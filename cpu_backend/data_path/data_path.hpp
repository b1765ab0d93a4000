// DataPath: one instruction set's version of the attention of a work item, called with plain data.
//
// The same text (path-inl.hpp) is compiled once for each instruction set, in a file with its own
// compiler flags. Those files include this header and no other of ours: an inline function that
// two of them share could otherwise be emitted with instructions that the machine does not have.
// Layouts: a query or key row is `key_dims` consecutive elements, an output row `value_dims` f32.
// The caller has checked every address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla::cpu {

// What the bits of an element mean.
enum class ElementKind : std::uint8_t { bf16, e4m3fn, e4m3fnuz };

// One (query row, head) pair of a work item.
struct AttendRow {
  const std::byte* q = nullptr;
  std::int64_t visible = 0;  // it sees keys [0, visible) of the job
  float* out = nullptr;      // normalised output, times out_scale; 0 without a visible key
  float* lse = nullptr;      // natural log; -inf without a visible key
};

struct AttendJob {
  const AttendRow* rows = nullptr;
  std::int64_t row_count = 0;  // at most kMaxAttendRows
  const std::byte* const* keys = nullptr;
  std::int64_t key_count = 0;
  // Keys of the job that comes next, if any: they are called into the cache, and not read.
  const std::byte* const* next_keys = nullptr;
  std::int64_t next_key_count = 0;
  std::int64_t key_dims = 0;    // at most 576
  std::int64_t value_dims = 0;  // at most 512 and key_dims: a value is the first elements of a key
  ElementKind q_kind = ElementKind::bf16;
  ElementKind kv_kind = ElementKind::bf16;
  ElementKind p_kind = ElementKind::bf16;  // what a probability is rounded to before it meets V
  float score_scale = 0;                   // softmax, query and cache scale together
  float out_scale = 1;                     // cache scale
};
inline constexpr std::int64_t kMaxAttendRows = 128;

// Keys of a tile: sums over keys start from zero in each tile and are then added to the rescaled
// running sum, so that the depth of a sum over n keys is kTileKeys + ceil(n / kTileKeys).
inline constexpr std::int64_t kTileKeys = 64;

// Largest relative error of a data path's exp2 for arguments in [-126, 0]; below it returns 0.
inline constexpr double kExp2Error = 0x1p-22;

struct DataPath {
  const char* label = "";
  std::int64_t lanes = 0;
  std::size_t (*scratch_bytes)() = nullptr;
  // `scratch`: scratch_bytes() bytes, aligned to 64, of the calling thread.
  void (*attend)(const AttendJob& job, std::byte* scratch) = nullptr;

  // The pieces of attend() whose exactness has claims of its own; n is a multiple of 16.
  void (*decode)(ElementKind kind, const std::byte* bits, float* values, std::int64_t n) = nullptr;
  void (*round)(ElementKind kind, const float* in, float* out, std::int64_t n) = nullptr;
  void (*exp2)(const float* in, float* out, std::int64_t n) = nullptr;
};

const DataPath& portable_path();
// Null where the build's target has no such instructions.
const DataPath* avx2_path();
const DataPath* avx512_path();
const DataPath* avx512_bf16_path();
// Whether this machine's vdpbf16ps is two fused multiply-adds, the upper halves first, each rounded
// to nearest even; otherwise the path's results would not be those of avx512_path(). Only where the
// machine has the instruction.
bool bf16_products_round_one_by_one();

}  // namespace mla::cpu
