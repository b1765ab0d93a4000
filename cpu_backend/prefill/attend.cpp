#include "cpu_backend/prefill/attend.hpp"

#include <algorithm>
#include <cmath>

#include "cpu_backend/merge.hpp"
#include "cpu_backend/prefill/attend_blocks.hpp"

namespace mla::cpu {
namespace {

using prefill::kQkDim;
using prefill::kTileRows;
using prefill::kVDim;

constexpr std::size_t kCacheLine = 64 / sizeof(float);

}  // namespace

HeadRows rows_of(const prefill::Operand& x, std::int64_t head, std::int64_t first) {
  const std::int64_t size = element_bytes(x.dtype);
  const std::int64_t pitch = x.heads * x.dim * size;
  return {x.data + first * pitch + head * x.dim * size, pitch};
}

AttendScratch::AttendScratch()
    : lse_(static_cast<std::size_t>(kTileRows)),
      maximum_(static_cast<std::size_t>(kTileRows)),
      sum_(static_cast<std::size_t>(kTileRows)) {
  constexpr std::int64_t floats = kTileRows * (kQkDim + kVDim) + kTileKeys * (kQkDim + kVDim);
  memory_.resize(static_cast<std::size_t>(floats) + kCacheLine);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  q_ = memory_.data() + (64 - address % 64) % 64 / sizeof(float);
  out_ = q_ + kTileRows * kQkDim;
  keys_ = out_ + kTileRows * kVDim;
  values_ = keys_ + kTileKeys * kQkDim;
}

const float* AttendScratch::out(std::int64_t row) const {
  return out_ + row * kVDim;
}

// One tile of rows on its way over the tiles of keys.
class TileWalk {
 public:
  TileWalk(const DataPath& path, const AttendTile& tile, AttendScratch& scratch)
      : path_(path),
        tile_(tile),
        s_(scratch),
        blocks_(&path == &portable_path() ? portable_row_blocks() : row_blocks()),
        padded_rows_(round_up(tile.rows, kBlockRows)) {}

  void run() {
    load_rows();
    const std::int64_t most = visible(tile_.rows - 1);
    for (std::int64_t base = 0; base < most; base += kTileKeys) {
      const std::int64_t n = std::min(kTileKeys, most - base);
      load_keys(base, n);
      for (std::int64_t row = 0; row < padded_rows_; row += kBlockRows)
        if (visible(row + kBlockRows - 1) > base) block(row, base, n);
    }
    finish();
  }

 private:
  [[nodiscard]] std::int64_t visible(std::int64_t row) const {
    row = std::min(row, tile_.rows - 1);  // rows that fill up a block are like the last one
    return std::clamp(tile_.first_visible + row * tile_.visible_step, std::int64_t{0}, tile_.keys);
  }

  void load_rows() {
    for (std::int64_t r = 0; r < padded_rows_; ++r) {
      float* q = s_.q_ + r * kQkDim;
      if (r < tile_.rows) {
        path_.decode(tile_.kind, tile_.q.row(r), q, kQkDim);
      } else {
        std::fill_n(q, kQkDim, 0.0F);
      }
    }
    std::fill_n(s_.out_, padded_rows_ * kVDim, 0.0F);
    std::fill_n(s_.maximum_.begin(), padded_rows_, kNoKey);
    std::fill_n(s_.sum_.begin(), padded_rows_, 0.0F);
  }

  void load_keys(std::int64_t base, std::int64_t n) {
    alignas(64) float key[kQkDim];
    for (std::int64_t j = 0; j < kTileKeys; ++j) {
      if (j < n) {
        const std::int64_t row = tile_.key_rows == nullptr ? base + j : tile_.key_rows[base + j];
        path_.decode(tile_.kind, tile_.k.row(row), key, kQkDim);
        path_.decode(tile_.kind, tile_.v.row(row), s_.values_ + j * kVDim, kVDim);
      } else {
        std::fill_n(key, kQkDim, 0.0F);
      }
      for (std::int64_t d = 0; d < kQkDim; ++d) s_.keys_[d * kTileKeys + j] = key[d];
    }
  }

  void block(std::int64_t row, std::int64_t base, std::int64_t n) {
    alignas(64) float p[kBlockRows * kTileKeys];
    alignas(64) float keep[16] = {};
    std::int64_t seen[kBlockRows];
    blocks_.score(s_.q_ + row * kQkDim, s_.keys_, p);
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      seen[i] = std::clamp(visible(row + i) - base, std::int64_t{0}, n);
      softmax(row + i, seen[i], p + i * kTileKeys, keep[i]);
    }
    path_.exp2(keep, keep, 16);
    path_.exp2(p, p, kBlockRows * kTileKeys);
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      float& sum = s_.sum_[static_cast<std::size_t>(row + i)];
      sum = sum * keep[i] + add_up(p + i * kTileKeys);
    }
    path_.round(tile_.kind, p, p, kBlockRows * kTileKeys);
    blocks_.weigh(p, seen, s_.values_, keep, s_.out_ + row * kVDim);
  }

  // Leaves the exponents of the row's weights in `p`, and that of what was summed before in `keep`.
  void softmax(std::int64_t row, std::int64_t seen, float* p, float& keep) {
    constexpr float kLog2E = 1.44269504088896341F;
    float& maximum = s_.maximum_[static_cast<std::size_t>(row)];
    float top = maximum;
    for (std::int64_t j = 0; j < kTileKeys; ++j) {
      p[j] = j < seen ? p[j] * (tile_.score_scale * kLog2E) : kNoKey;
      top = p[j] > top ? p[j] : top;
    }
    // Without a key so far the maximum is -inf; 0 in its place gives weight 0 everywhere.
    const float centre = top == kNoKey ? 0.0F : top;
    keep = maximum - centre;
    for (std::int64_t j = 0; j < kTileKeys; ++j) p[j] -= centre;
    maximum = top;
  }

  static float add_up(const float* p) {
    float lanes[8] = {};
    for (std::int64_t j = 0; j < kTileKeys; j += 8)
      for (std::int64_t l = 0; l < 8; ++l) lanes[l] += p[j + l];
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  }

  void finish() {
    constexpr float kLn2 = 0.693147180559945309F;
    for (std::int64_t r = 0; r < tile_.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const float sum = s_.sum_[i];
      float* out = s_.out_ + r * kVDim;
      s_.lse_[i] = sum == 0 ? kNoKey : s_.maximum_[i] * kLn2 + std::log(sum);
      for (std::int64_t d = 0; d < kVDim; ++d) out[d] = sum == 0 ? 0.0F : out[d] / sum;
    }
  }

  const DataPath& path_;
  const AttendTile& tile_;
  AttendScratch& s_;
  const RowBlocks& blocks_;
  std::int64_t padded_rows_;
};

void attend_tile(const DataPath& path, const AttendTile& tile, AttendScratch& scratch) {
  TileWalk(path, tile, scratch).run();
}

}  // namespace mla::cpu
