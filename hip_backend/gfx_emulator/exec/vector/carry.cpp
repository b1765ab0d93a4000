// Additions and subtractions with a carry for each lane.
#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {
namespace {

enum class Form { add, sub, subrev };

template <Form form, bool carry_in>
void with_carry(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0), b(w, i, 1);
  const u64 in = carry_in ? read_scalar64(w, i, i.src[2]) : 0;
  alignas(64) u32 out[lanes];
  alignas(64) u32 flag[lanes];
  MLA_GFX_LANES {
    const u32 c = carry_in ? static_cast<u32>(in >> l & 1) : 0;
    const u32 x = form == Form::subrev ? b[l] : a[l], y = form == Form::subrev ? a[l] : b[l];
    if constexpr (form == Form::add) {
      const u32 sum = x + y;
      out[l] = sum + c;
      flag[l] = static_cast<u32>(sum < x) | static_cast<u32>(out[l] < sum);
    } else {
      const u32 rest = x - y;
      out[l] = rest - c;
      flag[l] = static_cast<u32>(x < y) | static_cast<u32>(rest < c);
    }
  }
  u64 flags = 0;
  for (unsigned l = 0; l < lanes; ++l) flags |= u64{flag[l]} << l;
  store_lanes<u32, false>(w, i, [&](unsigned l) {
    if (i.clamp && flag[l] != 0) return form == Form::add ? ~0U : 0U;
    return out[l];
  });
  write_mask(w, i, flags);
}

const Entry entries[] = {
    {"v_add_co_u32", with_carry<Form::add, false>},
    {"v_sub_co_u32", with_carry<Form::sub, false>},
    {"v_subrev_co_u32", with_carry<Form::subrev, false>},
    {"v_addc_co_u32", with_carry<Form::add, true>},
    {"v_subb_co_u32", with_carry<Form::sub, true>},
    {"v_subbrev_co_u32", with_carry<Form::subrev, true>},
};

}  // namespace

Entries MLA_GFX_PATH::carry_entries() {
  return entries;
}

}  // namespace mla::gfx
