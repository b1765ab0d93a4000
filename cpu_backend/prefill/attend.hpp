// Attention of up to a tile of query rows of one head over keys of the same head.
//
// The arithmetic that the fp8 prefill kernel and flash attention share: scores in f32, softmax in
// base 2 with a running maximum, probabilities rounded to the operands' format before they meet V,
// sums over keys from zero in each tile of kTileKeys and then added to the rescaled running sum. A
// row's bits depend on its own keys only. Rows are kQkDim, values kVDim elements.
// The caller has checked every address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/prefill_shape.hpp"
#include "core/lifetime.hpp"
#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {

// The rows of one head of a tensor [rows, heads, dim].
struct HeadRows {
  const std::byte* first = nullptr;
  std::int64_t pitch = 0;  // bytes from a row to the next
  [[nodiscard]] const std::byte* row(std::int64_t i) const { return first + i * pitch; }
};
// Of a head, from a row on.
HeadRows rows_of(const prefill::Operand& x, std::int64_t head, std::int64_t first);

struct AttendTile {
  HeadRows q, k, v;
  const std::int32_t* key_rows = nullptr;  // row of K and V of each key; null: 0, 1, 2, ...
  std::int64_t rows = 0;                   // at most prefill::kTileRows
  std::int64_t keys = 0;
  // Row i sees keys [0, first_visible + i * visible_step), cut to those that there are.
  std::int64_t first_visible = 0;
  std::int64_t visible_step = 1;
  ElementKind kind = ElementKind::bf16;  // of all operands and of the probabilities
  float score_scale = 0;
};

// Memory of one thread; the results of the last tile are in it.
class AttendScratch {
 public:
  AttendScratch();
  [[nodiscard]] const float* out(std::int64_t row) const
      MLA_LIFETIME_BOUND;  // normalised; 0 without a visible key
  [[nodiscard]] float lse(std::int64_t row) const { return lse_[static_cast<std::size_t>(row)]; }

 private:
  friend class TileWalk;
  std::vector<float> memory_;
  std::vector<float> lse_;
  float* q_ = nullptr;                // [rows][kQkDim]
  float* out_ = nullptr;              // [rows][kVDim], not yet divided by the sum
  float* keys_ = nullptr;             // [kQkDim][kTileKeys]
  float* values_ = nullptr;           // [kTileKeys][kVDim]
  std::vector<float> maximum_, sum_;  // [rows], scores in base 2
};

void attend_tile(const DataPath& path, const AttendTile& tile, AttendScratch& scratch);

}  // namespace mla::cpu
