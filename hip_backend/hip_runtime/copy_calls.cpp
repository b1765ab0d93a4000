// Copies and fills. What waits for the device is as what is done on the stream without a name.
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

extern "C" {

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  const rt::Turn turn;
  return rt::submit(stream, rt::linear_copy(to, from, bytes, kind));
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpyAsync(to, from, bytes, kind, nullptr));
}
hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  const rt::Turn turn;
  if (const auto bad = rt::refuse_wait("hipMemcpyWithStream", rt::capture_of(stream))) return bad;
  const hipError_t done = hipMemcpyAsync(to, from, bytes, kind, stream);
  rt::order().host_waits(rt::order_of(stream));
  return rt::waited(done);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, std::size_t bytes,
                              hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t bytes,
                              hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes,
                              hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              std::size_t bytes, hipStream_t stream) {
  if (to_device != 0 || from_device != 0) return rt::keep(hipErrorInvalidDevice);
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                         std::size_t bytes) {
  const rt::Turn turn;
  return rt::waited(hipMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr));
}

hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                            std::size_t from_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  const rt::Turn turn;
  return rt::submit(
      stream,
      rt::CopyWork{{to, to_pitch}, {const_cast<void*>(from), from_pitch}, {width, height}, kind});
}
hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::waited(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr));
}
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* copy, hipStream_t stream) {
  const rt::Turn turn;
  rt::CopyWork work;
  if (const auto bad = rt::copy_work(copy, work)) return bad;
  return rt::submit(stream, work);
}
hipError_t hipMemcpy3D(const hipMemcpy3DParms* copy) {
  const rt::Turn turn;
  return rt::waited(hipMemcpy3DAsync(copy, nullptr));
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  const rt::Turn turn;
  return rt::submit(stream, rt::FillWork{{to}, {bytes}, static_cast<unsigned>(value)});
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  const rt::Turn turn;
  return rt::waited(hipMemsetAsync(to, value, bytes, nullptr));
}
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count,
                            hipStream_t stream) {
  return hipMemsetAsync(to, value, count, stream);
}
hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, std::size_t count) {
  const rt::Turn turn;
  return rt::waited(hipMemsetAsync(to, value, count, nullptr));
}
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, std::size_t count,
                             hipStream_t stream) {
  const rt::Turn turn;
  if (count > rt::most_memory) return rt::keep(hipErrorInvalidValue);
  return rt::submit(stream, rt::FillWork{{to}, {2 * count}, value, 2});
}
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, std::size_t count) {
  const rt::Turn turn;
  return rt::waited(hipMemsetD16Async(to, value, count, nullptr));
}
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, std::size_t count, hipStream_t stream) {
  const rt::Turn turn;
  if (count > rt::most_memory) return rt::keep(hipErrorInvalidValue);
  return rt::submit(stream, rt::FillWork{{to}, {4 * count}, static_cast<unsigned>(value), 4});
}
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, std::size_t count) {
  const rt::Turn turn;
  return rt::waited(hipMemsetD32Async(to, value, count, nullptr));
}
hipError_t hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                            std::size_t height, hipStream_t stream) {
  const rt::Turn turn;
  return rt::submit(stream,
                    rt::FillWork{{to, pitch}, {width, height}, static_cast<unsigned>(value)});
}
hipError_t hipMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                       std::size_t height) {
  const rt::Turn turn;
  return rt::waited(hipMemset2DAsync(to, pitch, value, width, height, nullptr));
}
hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {
  const rt::Turn turn;
  return rt::submit(stream, rt::FillWork{{to.ptr, to.pitch, to.pitch * to.ysize},
                                         {extent.width, extent.height, extent.depth},
                                         static_cast<unsigned>(value)});
}
hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) {
  const rt::Turn turn;
  return rt::waited(hipMemset3DAsync(to, value, extent, nullptr));
}

}  // extern "C"
