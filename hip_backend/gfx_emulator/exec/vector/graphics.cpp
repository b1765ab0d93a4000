// Cube maps, and sums of absolute differences of four windows of bytes at once.
#include <algorithm>
#include <limits>

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

namespace mla::gfx {
namespace {

// The axis with the largest magnitude; z comes before y and y before x where they are alike.
enum class Axis : u8 { x, y, z };

inline Axis major_axis(float x, float y, float z) {
  const float a = std::abs(x), b = std::abs(y), c = std::abs(z);
  if (c >= a && c >= b) return Axis::z;
  return b >= a ? Axis::y : Axis::x;
}

inline float face(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  const float along = axis == Axis::z ? z : axis == Axis::y ? y : x;
  return 2.0F * static_cast<float>(axis) + (along < 0 ? 1.0F : 0.0F);
}

// The two coordinates in a face, and twice the one across it.
inline float face_s(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  if (axis == Axis::z) return z < 0 ? -x : x;
  if (axis == Axis::y) return x;
  return x < 0 ? z : -z;
}
inline float face_t(float x, float y, float z) {
  if (major_axis(x, y, z) != Axis::y) return -y;
  return y < 0 ? -z : z;
}
inline float twice_major(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  return 2.0F * (axis == Axis::z ? z : axis == Axis::y ? y : x);
}

// A product with one is canonical: quiet, and flushed as MODE says.
template <class F>
constexpr Handler cube(F) {
  return each_lane([](float x, float y, float z) {
    return F{}(x * opaque_one, y * opaque_one, z * opaque_one) * opaque_one;
  });
}

// Four bytes that begin at byte `k` of the first source, against the second. Masked: bytes of the
// second that are zero do not count.
template <bool masked>
inline u32 differences(u64 first, u32 second, unsigned k) {
  u32 sum = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const u32 a = static_cast<u32>(first >> 8 * (k + byte)) & 0xff, b = second >> 8 * byte & 0xff;
    if (!masked || b != 0) sum += a > b ? a - b : b - a;
  }
  return sum;
}

template <class T>
inline T limited_sum(u32 sum, T addend, bool clamp) {
  const u64 exact = u64{sum} + addend;
  return static_cast<T>(clamp ? std::min<u64>(exact, std::numeric_limits<T>::max()) : exact);
}

// Four sums of 16 bits each. Clamp limits each of them, as it does for v_sad_u8.
template <bool masked>
void quad_u16(Wave& w, const Inst& i) {
  const Source<u64> first(w, i, 0), addend(w, i, 2);
  const Source<u32> second(w, i, 1);
  store_lanes<u64, false>(w, i, [&](unsigned l) {
    u64 out = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const u32 sum = differences<masked>(first[l], second[l], k);
      const auto part = static_cast<u16>(addend[l] >> 16 * k);
      out |= u64{limited_sum(sum, part, i.clamp)} << 16 * k;
    }
    return out;
  });
}

// Four sums of 32 bits: the addends and the results take four registers.
void masked_quad_u32(Wave& w, const Inst& i) {
  const Source<u64> first(w, i, 0);
  const Source<u32> second(w, i, 1);
  const u32* const addend = w.reg(i.src[2]);
  alignas(64) u32 out[4 * lanes];
  for (unsigned k = 0; k < 4; ++k) {
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 sum = differences<true>(first[l], second[l], k);
      out[k * lanes + l] = limited_sum(sum, addend[k * lanes + l], i.clamp);
    }
  }
  u32* const to = w.reg(i.dst);
  const u32* const mask = lane_mask(w);
  for (unsigned k = 0; k < 4 * lanes; ++k) {
    to[k] = (out[k] & mask[k % lanes]) | (to[k] & ~mask[k % lanes]);
  }
}

const Entry entries[] = {
    {"v_cubeid_f32", cube([](float x, float y, float z) { return face(x, y, z); })},
    {"v_cubesc_f32", cube([](float x, float y, float z) { return face_s(x, y, z); })},
    {"v_cubetc_f32", cube([](float x, float y, float z) { return face_t(x, y, z); })},
    {"v_cubema_f32", cube([](float x, float y, float z) { return twice_major(x, y, z); })},
    {"v_qsad_pk_u16_u8", quad_u16<false>},
    {"v_mqsad_pk_u16_u8", quad_u16<true>},
    {"v_mqsad_u32_u8", masked_quad_u32},
};

}  // namespace

Entries MLA_GFX_PATH::graphics_entries() {
  return entries;
}

}  // namespace mla::gfx
