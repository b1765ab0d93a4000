// DecodeBlock: which rows a workgroup of stage 1 takes, which keys they see, where results go.
//
// A block is up to `rows` packed rows of a piece, from `first` on. Keys are counted from the
// piece's first one; a place is that of a key in the paged cache.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/output.hpp"
#include "hip_backend/kernels/piece.hpp"

namespace mla::hip {

class DecodeBlock {
 public:
  MLA_DEVICE_MEMBER DecodeBlock(const DecodeArguments& a, const Piece& piece, int first, int rows)
      : a_(a),
        piece_(piece),
        first_(first),
        count_(min_of((piece.q_end - piece.q_begin) * a.heads - first, rows)),
        fewest_(piece.visible(first / a.heads)),
        most_(piece.visible((first + count_ - 1) / a.heads)) {}

  MLA_DEVICE_MEMBER int count() const { return count_; }
  // Keys that the first row of the block sees, and keys that its last one sees.
  MLA_DEVICE_MEMBER int fewest() const { return fewest_; }
  MLA_DEVICE_MEMBER int most() const { return most_; }
  MLA_DEVICE_MEMBER Fp8Code code() const { return {a_.fp8_factor, a_.fp8_nan}; }

  // Keys that a row of the block sees.
  MLA_DEVICE_MEMBER int visible_of(int row) const {
    return row < count_ ? piece_.visible((first_ + row) / a_.heads) : 0;
  }

  MLA_DEVICE_MEMBER const char* query(int row_bytes) const {
    const i64 row = static_cast<i64>(piece_.q_begin) * a_.heads + first_;
    return static_cast<const char*>(a_.q) + row * row_bytes;
  }

  struct Place {
    int page;  // the load of this may be under way
    int in_page;
  };
  // Of key i of the piece; of the last one that a row sees for those after it.
  MLA_DEVICE_MEMBER Place place_of_key(int i) const {
    const int position = piece_.position(min_of(i, most_ - 1));
    return {a_.kv_indices[piece_.first_entry + (position >> a_.page_shift)],
            position & ((1 << a_.page_shift) - 1)};
  }
  // Slot from the cache's first one.
  MLA_DEVICE_MEMBER i64 slot_of(Place place) const {
    return (static_cast<i64>(place.page) << a_.page_shift) + place.in_page - a_.first_slot;
  }
  MLA_DEVICE_MEMBER const char* key_at(Place place, int row_bytes) const {
    return static_cast<const char*>(a_.cache) + slot_of(place) * row_bytes;
  }

  MLA_DEVICE_MEMBER void sleep(u32 place) const { jitter(a_.sleep_seed, place); }

  // Where row `row` of the block goes: an index of (row, head) in the output or in the partials.
  MLA_DEVICE_MEMBER i64 index_of(int row) const {
    const int packed = fresh(first_ + row);  // or divisions are kept from the beginning to the end
    const int t = packed / a_.heads;
    const i64 to = direct() ? static_cast<i64>(piece_.q_begin) + t
                            : piece_.partial_row + static_cast<i64>(t) * piece_.partial_stride;
    return to * a_.heads + packed % a_.heads;
  }
  MLA_DEVICE_MEMBER void store_lse(i64 index, float lse) const {
    (direct() ? a_.lse : a_.partial_lse)[index] = lse;
  }
  template <int kCount>
  MLA_DEVICE_MEMBER void store(i64 index, int column, const float (&value)[kCount]) const {
    const i64 at = index * 512 + column;
    if (direct()) {
      store_output(a_.out + at, value, a_.rounding);
    } else {
      store_partial(a_.partial_out + at, value);
    }
  }
  MLA_DEVICE_MEMBER float out_scale() const { return a_.out_scale; }

 private:
  MLA_DEVICE_MEMBER bool direct() const { return piece_.partial_row < 0; }

  const DecodeArguments& a_;
  const Piece& piece_;
  int first_;
  int count_;
  int fewest_;
  int most_;
};

}  // namespace mla::hip
