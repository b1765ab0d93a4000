#include "properties/c_api/tensors.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "core/say.hpp"

namespace mla::c_api {
namespace {

std::atomic<int>& places_are_checked() {
  static std::atomic<int> on{0};
  return on;
}

struct DtypeFacts {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DtypeFacts, 14> kDtypes{{{"fp8", 1},
                                              {"fp8_e8m0", 1},
                                              {"fp16", 2},
                                              {"bf16", 2},
                                              {"fp32", 4},
                                              {"i4x2", 1},
                                              {"fp4x2", 1},
                                              {"u32", 4},
                                              {"i32", 4},
                                              {"i16", 2},
                                              {"i8", 1},
                                              {"u8", 1},
                                              {"i64", 8},
                                              {"u64", 8}}};

bool known(int dtype) {
  return dtype >= 0 && static_cast<std::size_t>(dtype) < kDtypes.size();
}

// No tensor of a process has more bytes than half of its addresses.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

std::span<const std::int64_t> shape_of(const aiter_tensor_t& t) {
  return {t.shape, static_cast<std::size_t>(t.ndim)};
}

// The descriptor's own fields against each other.
std::optional<Failure> check_descriptor(const aiter_tensor_t& t, const char* name) {
  if (t.ndim < 0 || t.ndim > MLA_TENSOR_MAX_DIMS)
    return bad_tensor(name, "0 to 8 dimensions", say("ndim ", t.ndim));
  if (!known(t.dtype)) return bad_tensor(name, "a dtype from 0 to 13", say("dtype ", t.dtype));
  std::int64_t product = 1;
  for (const std::int64_t n : shape_of(t)) {
    if (n < 0) return bad_tensor(name, "extents of 0 or more", "shape " + shape_text(shape_of(t)));
    if (n != 0 && product > kMaxElements / n)
      return bad_tensor(name, "at most 2^46 elements", "shape " + shape_text(shape_of(t)));
    product *= n;
  }
  if (t.numel != static_cast<std::size_t>(product))
    return bad_tensor(name, say(product, " elements of shape ", shape_text(shape_of(t))),
                      say("numel ", t.numel));
  if (t.numel == 0) return std::nullopt;
  if (t.ptr == nullptr)
    return bad_tensor(name, "an address", say("NULL for ", t.numel, " elements"));
  if (reinterpret_cast<std::uintptr_t>(t.ptr) % dtype_bytes(t.dtype) != 0)
    return bad_tensor(name, say("an address aligned to ", dtype_bytes(t.dtype), " bytes"),
                      std::to_string(reinterpret_cast<std::uintptr_t>(t.ptr)));
  for (int d = 0; d < t.ndim; ++d)
    if (t.strides[d] < 0 || (t.shape[d] > 1 && t.strides[d] > kMaxElements / t.shape[d]))
      return bad_tensor(name, "strides from 0 to 2^46 elements",
                        say(t.strides[d], " in dimension ", d));
  return std::nullopt;
}

bool contiguous(const aiter_tensor_t& t) {
  if (t.numel == 0) return true;
  std::int64_t stride = 1;
  for (int d = t.ndim - 1; d >= 0; --d) {
    if (t.shape[d] != 1 && t.strides[d] != stride) return false;
    stride *= t.shape[d];
  }
  return true;
}

bool shape_fits(const aiter_tensor_t& t, const std::vector<std::int64_t>& wanted) {
  if (static_cast<std::size_t>(t.ndim) != wanted.size()) return false;
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (wanted[d] != kAny && t.shape[d] != wanted[d]) return false;
  return true;
}

std::string dtypes_text(const DtypeList& dtypes) {
  std::string out;
  for (const mla_dtype d : dtypes) out += say(out.empty() ? "" : " or ", dtype_name(d));
  return out;
}

}  // namespace

std::string_view dtype_name(int dtype) {
  return known(dtype) ? kDtypes[static_cast<std::size_t>(dtype)].name : "unknown";
}

std::size_t dtype_bytes(int dtype) {
  return known(dtype) ? kDtypes[static_cast<std::size_t>(dtype)].bytes : 0;
}

cpu::SourceType source_type(int dtype) {
  if (dtype == MLA_DTYPE_BF16) return cpu::SourceType::bf16;
  return dtype == MLA_DTYPE_FP16 ? cpu::SourceType::f16 : cpu::SourceType::f32;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "(";
  for (std::size_t d = 0; d < shape.size(); ++d)
    out += (d == 0 ? "" : ", ") + (shape[d] == kAny ? "any" : std::to_string(shape[d]));
  return out + ")";
}

Failure bad_tensor(const char* name, const std::string& expected, const std::string& found) {
  return {MLA_BAD_TENSOR, say(name, ": expected ", expected, ", found ", found), "", ""};
}

std::optional<Failure> check_tensor(const aiter_tensor_t* tensor, const Wanted& wanted) {
  if (tensor == nullptr) return bad_tensor(wanted.name, "a tensor", "NULL");
  const aiter_tensor_t& t = *tensor;
  if (auto bad = check_descriptor(t, wanted.name)) return bad;
  if (std::find(wanted.dtypes.begin(), wanted.dtypes.end(), t.dtype) == wanted.dtypes.end())
    return bad_tensor(wanted.name, "dtype " + dtypes_text(wanted.dtypes),
                      std::string(dtype_name(t.dtype)));
  if (!wanted.shape.empty() && !shape_fits(t, wanted.shape))
    return bad_tensor(wanted.name, "shape " + shape_text(wanted.shape),
                      "shape " + shape_text(shape_of(t)));
  if (wanted.contiguous && !contiguous(t))
    return bad_tensor(wanted.name, "a contiguous tensor",
                      "strides " + shape_text({t.strides, static_cast<std::size_t>(t.ndim)}) +
                          " for shape " + shape_text(shape_of(t)));
  if (places_are_checked().load() != 0) {
    const bool on_device = t.device_id >= 0;
    if (on_device != (wanted.place == Place::device))
      return bad_tensor(wanted.name,
                        wanted.place == Place::device ? "a tensor on the device" : "a host tensor",
                        on_device ? say("one on device ", t.device_id) : "one in host memory");
  }
  return std::nullopt;
}

std::size_t extent_elements(const aiter_tensor_t& t) {
  if (t.numel == 0) return 0;
  std::int64_t last = 0;
  for (int d = 0; d < t.ndim; ++d) last += (t.shape[d] - 1) * t.strides[d];
  return static_cast<std::size_t>(last) + 1;
}

}  // namespace mla::c_api

extern "C" int mla_check_places(int on) {
  return mla::c_api::places_are_checked().exchange(on != 0 ? 1 : 0);
}
