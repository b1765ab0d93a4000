#include "hip_backend/hip_runtime/work.hpp"

#include "core/say.hpp"
#include "hip_backend/hip_runtime/array.hpp"
#include "hip_backend/hip_runtime/launch.hpp"

namespace mla::hip_runtime {
hipError_t kernel_work(const hipKernelNodeParams* kernel, KernelWork& work) {
  if (kernel == nullptr || kernel->func == nullptr) return keep(hipErrorInvalidValue);
  const Function* const function = function_named(kernel->func);
  if (function == nullptr)
    return fault(hipErrorInvalidDeviceFunction, "hipGraph: no code object registered this kernel");
  const auto* const code = kernel_of(*function);
  if (code == nullptr) return last_error();
  std::vector<std::byte> kernarg;
  if (const auto bad =
          arguments_of("hipGraph", *function, *code, kernel->kernelParams, kernel->extra, kernarg))
    return bad;
  work = {*function,          kernel->gridDim,        kernel->blockDim,
          std::move(kernarg), kernel->sharedMemBytes, kernel->func};
  return hipSuccess;
}

hipError_t fill_work(const hipMemsetParams* fill, FillWork& work) {
  if (fill == nullptr || fill->dst == nullptr ||
      (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4))
    return keep(hipErrorInvalidValue);
  if (fill->width > most_memory) return keep(hipErrorInvalidValue);
  const std::size_t width = fill->width * fill->elementSize;
  if (fill->height > 1 && fill->pitch < width) return keep(hipErrorInvalidPitchValue);
  work = {{fill->dst, fill->pitch}, {width, fill->height}, fill->value, fill->elementSize};
  return hipSuccess;
}

namespace {

// Where a side of a copy is. A position counts elements along a row of an array, else bytes.
hipError_t place_of(hipArray_t array, const hipPitchedPtr& pointer, const hipPos& at,
                    const Extent& extent, Place& place) {
  if (array != nullptr) {
    const hipArray* const found = array_of("hipMemcpy3D", array);
    if (found == nullptr) return last_error();
    return place_in("hipMemcpy3D", array, {at.x * found->element_bytes, at.y, at.z}, extent, place);
  }
  if (pointer.ptr == nullptr) return keep(hipErrorInvalidValue);
  const std::size_t slice = pointer.pitch * pointer.ysize;
  place = {static_cast<std::byte*>(pointer.ptr) + at.z * slice + at.y * pointer.pitch + at.x,
           pointer.pitch, slice};
  return hipSuccess;
}

}  // namespace

hipError_t copy_work(const hipMemcpy3DParms* copy, CopyWork& work) {
  if (copy == nullptr) return keep(hipErrorInvalidValue);
  // With an array on a side the width is in its elements.
  std::size_t unit = 1;
  for (const hipArray_t array : {copy->srcArray, copy->dstArray}) {
    if (array == nullptr) continue;
    const hipArray* const found = array_of("hipMemcpy3D", array);
    if (found == nullptr) return last_error();
    unit = found->element_bytes;
  }
  if (copy->extent.width > most_memory) return keep(hipErrorInvalidValue);
  work = {{}, {}, {copy->extent.width * unit, copy->extent.height, copy->extent.depth}, copy->kind};
  if (const auto bad = place_of(copy->srcArray, copy->srcPtr, copy->srcPos, work.extent, work.from))
    return bad;
  return place_of(copy->dstArray, copy->dstPtr, copy->dstPos, work.extent, work.to);
}

hipMemsetParams fill_params(const FillWork& work) {
  return {.dst = work.to.base,
          .elementSize = work.element,
          .height = work.extent.height,
          .pitch = work.to.pitch,
          .value = work.value,
          .width = work.extent.width / work.element};
}

hipMemcpy3DParms copy_params(const CopyWork& work) {
  const auto pointer = [&](const Place& place) -> hipPitchedPtr {
    const std::size_t pitch = place.pitch == 0 ? work.extent.width : place.pitch;
    const std::size_t rows = place.slice == 0 ? work.extent.height : place.slice / pitch;
    return {place.base, pitch, work.extent.width, rows};
  };
  hipMemcpy3DParms out = {};
  out.srcPtr = pointer(work.from);
  out.dstPtr = pointer(work.to);
  out.extent = {work.extent.width, work.extent.height, work.extent.depth};
  out.kind = work.kind;
  return out;
}

}  // namespace mla::hip_runtime
