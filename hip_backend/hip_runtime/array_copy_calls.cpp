// Copies to and from arrays, and copies that a structure describes.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/array.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

void* unconst(const void* pointer) {
  return const_cast<void*>(pointer);
}

// Bytes one after the other in an array, as up to three boxes: what is left of a row, whole rows,
// and what begins a row.
template <class Copy>
hipError_t each_part(const char* call, hipArray_const_t handle, std::size_t x, std::size_t y,
                     std::size_t bytes, Copy copy) {
  const hipArray* const array = array_of(call, handle);
  if (array == nullptr) return last_error();
  const std::size_t row = array->row_bytes(), rows = array->rows();
  if (x > row || y > rows || bytes > rows * row - std::min(y * row + x, rows * row))
    return fault(hipErrorInvalidValue,
                 say(call, ": ", bytes, " bytes from byte ", x, " of row ", y,
                     " on reach past an array of ", rows, " rows of ", row, " bytes"));
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t left = bytes - done;
    const Extent extent =
        x == 0 && left >= row ? Extent{row, left / row} : Extent{std::min(left, row - x)};
    Place place;
    if (const auto bad = place_in(call, handle, {x, y, 0}, extent, place)) return bad;
    if (const auto bad = copy(place, extent, done)) return bad;
    done += extent.width * extent.height;
    y += extent.height;  // what ends within a row is the last part
    x = 0;
  }
  return hipSuccess;
}

// One side of a copy that a structure describes.
struct Side3D {
  std::size_t x, y, z;
  hipMemoryType type;
  const void* host;
  void* device;
  hipArray_t array;
  std::size_t pitch, height;
};
// Fails: with a fault that names the call.
hipError_t place_of(const char* call, const Side3D& side, const Extent& extent, Place& place) {
  if (side.type == hipMemoryTypeArray)
    return place_in(call, side.array, {side.x, side.y, side.z}, extent, place);
  const bool host = side.type == hipMemoryTypeHost;
  const bool known = host || side.type == hipMemoryTypeDevice ||
                     side.type == hipMemoryTypeManaged || side.type == hipMemoryTypeUnified;
  if (!known)
    return fault(hipErrorInvalidValue,
                 say(call, ": the type of a memory is ", static_cast<int>(side.type),
                     "; expected that of host, device, array or managed"));
  auto* const base = static_cast<std::byte*>(host ? unconst(side.host) : side.device);
  if (base == nullptr) return keep(hipErrorInvalidValue);
  // Without a pitch or a height the rows and slices follow each other.
  const std::size_t pitch = side.pitch == 0 ? side.x + extent.width : side.pitch;
  const std::size_t slice = pitch * (side.height == 0 ? side.y + extent.height : side.height);
  place = {base + side.z * slice + side.y * pitch + side.x, pitch, slice};
  return hipSuccess;
}
hipMemcpyKind kind_of(hipMemoryType to, hipMemoryType from) {
  const bool to_device = to == hipMemoryTypeDevice || to == hipMemoryTypeArray;
  const bool from_device = from == hipMemoryTypeDevice || from == hipMemoryTypeArray;
  if (to_device && from_device) return hipMemcpyDeviceToDevice;
  return to_device ? hipMemcpyHostToDevice : from_device ? hipMemcpyDeviceToHost : hipMemcpyDefault;
}

hipError_t copy_3d(const char* call, const HIP_MEMCPY3D* copy, hipStream_t stream) {
  if (copy == nullptr) return keep(hipErrorInvalidValue);
  if (copy->srcLOD != 0 || copy->dstLOD != 0)
    return fault(hipErrorInvalidValue, say(call, ": there are no levels of detail"));
  CopyWork work;
  work.extent = {copy->WidthInBytes, copy->Height, copy->Depth};
  if (work.extent.empty()) return hipSuccess;
  work.kind = kind_of(copy->dstMemoryType, copy->srcMemoryType);
  const Side3D from = {copy->srcXInBytes,   copy->srcY,     copy->srcZ,
                       copy->srcMemoryType, copy->srcHost,  copy->srcDevice,
                       copy->srcArray,      copy->srcPitch, copy->srcHeight};
  const Side3D to = {copy->dstXInBytes,   copy->dstY,     copy->dstZ,
                     copy->dstMemoryType, copy->dstHost,  copy->dstDevice,
                     copy->dstArray,      copy->dstPitch, copy->dstHeight};
  if (const auto bad = place_of(call, from, work.extent, work.from)) return bad;
  if (const auto bad = place_of(call, to, work.extent, work.to)) return bad;
  return submit(stream, work);
}

hipError_t copy_2d(const char* call, const hip_Memcpy2D* copy, hipStream_t stream) {
  if (copy == nullptr) return keep(hipErrorInvalidValue);
  HIP_MEMCPY3D all = {};
  all.srcXInBytes = copy->srcXInBytes, all.srcY = copy->srcY;
  all.srcMemoryType = copy->srcMemoryType, all.srcHost = copy->srcHost;
  all.srcDevice = copy->srcDevice, all.srcArray = copy->srcArray, all.srcPitch = copy->srcPitch;
  all.dstXInBytes = copy->dstXInBytes, all.dstY = copy->dstY;
  all.dstMemoryType = copy->dstMemoryType, all.dstHost = copy->dstHost;
  all.dstDevice = copy->dstDevice, all.dstArray = copy->dstArray, all.dstPitch = copy->dstPitch;
  all.WidthInBytes = copy->WidthInBytes, all.Height = copy->Height, all.Depth = 1;
  return copy_3d(call, &all, stream);
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipMemcpy2DToArrayAsync(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                                   std::size_t pitch, std::size_t width, std::size_t height,
                                   hipMemcpyKind kind, hipStream_t stream) {
  const rt::Turn turn;
  rt::CopyWork work = {{}, {rt::unconst(from), pitch}, {width, height}, kind};
  if (const auto bad = rt::place_in("hipMemcpy2DToArray", to, {x, y, 0}, work.extent, work.to))
    return bad;
  return rt::submit(stream, work);
}
hipError_t hipMemcpy2DToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                              std::size_t pitch, std::size_t width, std::size_t height,
                              hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, nullptr));
}
hipError_t hipMemcpy2DFromArrayAsync(void* to, std::size_t pitch, hipArray_const_t from,
                                     std::size_t x, std::size_t y, std::size_t width,
                                     std::size_t height, hipMemcpyKind kind, hipStream_t stream) {
  const rt::Turn turn;
  rt::CopyWork work = {{to, pitch}, {}, {width, height}, kind};
  if (const auto bad =
          rt::place_in("hipMemcpy2DFromArray", from, {x, y, 0}, work.extent, work.from))
    return bad;
  return rt::submit(stream, work);
}
hipError_t hipMemcpy2DFromArray(void* to, std::size_t pitch, hipArray_const_t from, std::size_t x,
                                std::size_t y, std::size_t width, std::size_t height,
                                hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, nullptr));
}
hipError_t hipMemcpy2DArrayToArray(hipArray_t to, std::size_t to_x, std::size_t to_y,
                                   hipArray_const_t from, std::size_t from_x, std::size_t from_y,
                                   std::size_t width, std::size_t height, hipMemcpyKind kind) {
  const rt::Turn turn;
  rt::CopyWork work = {{}, {}, {width, height}, kind};
  constexpr const char* call = "hipMemcpy2DArrayToArray";
  if (const auto bad = rt::place_in(call, to, {to_x, to_y, 0}, work.extent, work.to)) return bad;
  if (const auto bad = rt::place_in(call, from, {from_x, from_y, 0}, work.extent, work.from))
    return bad;
  return rt::waited(rt::submit(nullptr, work));
}
hipError_t hipMemcpyToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                            std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  if (from == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto copy = [&](const rt::Place& place, const rt::Extent& extent, std::size_t done) {
    auto* const part = static_cast<std::byte*>(rt::unconst(from)) + done;
    return rt::submit(nullptr, rt::CopyWork{place, {part, extent.width}, extent, kind});
  };
  return rt::waited(rt::each_part("hipMemcpyToArray", to, x, y, bytes, copy));
}
hipError_t hipMemcpyFromArray(void* to, hipArray_const_t from, std::size_t x, std::size_t y,
                              std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  if (to == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto copy = [&](const rt::Place& place, const rt::Extent& extent, std::size_t done) {
    auto* const part = static_cast<std::byte*>(to) + done;
    return rt::submit(nullptr, rt::CopyWork{{part, extent.width}, place, extent, kind});
  };
  return rt::waited(rt::each_part("hipMemcpyFromArray", from, x, y, bytes, copy));
}
hipError_t hipMemcpyAtoH(void* to, hipArray_t from, std::size_t offset, std::size_t bytes) {
  return hipMemcpyFromArray(to, from, offset, 0, bytes, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyHtoA(hipArray_t to, std::size_t offset, const void* from, std::size_t bytes) {
  return hipMemcpyToArray(to, offset, 0, from, bytes, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream) {
  const rt::Turn turn;
  return rt::copy_2d("hipMemcpyParam2D", copy, stream);
}
hipError_t hipMemcpyParam2D(const hip_Memcpy2D* copy) {
  const rt::Turn turn;
  return rt::waited(rt::copy_2d("hipMemcpyParam2D", copy, nullptr));
}
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* copy) {
  const rt::Turn turn;
  return rt::waited(rt::copy_2d("hipDrvMemcpy2DUnaligned", copy, nullptr));
}
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* copy, hipStream_t stream) {
  const rt::Turn turn;
  return rt::copy_3d("hipDrvMemcpy3D", copy, stream);
}
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* copy) {
  const rt::Turn turn;
  return rt::waited(rt::copy_3d("hipDrvMemcpy3D", copy, nullptr));
}

}  // extern "C"
