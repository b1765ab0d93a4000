#include "hip_backend/hip_runtime/work.hpp"

#include "core/say.hpp"
#include "hip_backend/hip_runtime/launch.hpp"

namespace mla::hip_runtime {
hipError_t kernel_work(const hipKernelNodeParams* kernel, KernelWork& work) {
  if (kernel == nullptr || kernel->func == nullptr) return keep(hipErrorInvalidValue);
  const auto found = runtime().functions.find(kernel->func);
  if (found == runtime().functions.end())
    return fault(hipErrorInvalidDeviceFunction, "hipGraph: no code object registered this kernel");
  const auto* const code = kernel_of(found->second);
  if (code == nullptr) return last_error();
  std::vector<std::byte> kernarg;
  if (const auto bad = arguments_of("hipGraph", found->second, *code, kernel->kernelParams,
                                    kernel->extra, kernarg))
    return bad;
  work = {found->second, kernel->gridDim, kernel->blockDim, std::move(kernarg),
          kernel->sharedMemBytes};
  return hipSuccess;
}

hipError_t fill_work(const hipMemsetParams* fill, FillWork& work) {
  if (fill == nullptr || fill->dst == nullptr ||
      (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4))
    return keep(hipErrorInvalidValue);
  const std::size_t width = fill->width * fill->elementSize;
  if (fill->height > 1 && fill->pitch < width) return keep(hipErrorInvalidPitchValue);
  work = {{fill->dst, fill->pitch}, {width, fill->height}, fill->value, fill->elementSize};
  return hipSuccess;
}

hipError_t copy_work(const hipMemcpy3DParms* copy, CopyWork& work) {
  if (copy == nullptr) return keep(hipErrorInvalidValue);
  if (copy->srcArray != nullptr || copy->dstArray != nullptr)
    return fault(hipErrorNotSupported,
                 "hipMemcpy3D: the emulated device has no arrays of textures");
  const auto place = [](const hipPitchedPtr& pointer, const hipPos& at) {
    const std::size_t slice = pointer.pitch * pointer.ysize;
    return Place{static_cast<std::byte*>(pointer.ptr) + at.z * slice + at.y * pointer.pitch + at.x,
                 pointer.pitch, slice};
  };
  if (copy->srcPtr.ptr == nullptr || copy->dstPtr.ptr == nullptr) return keep(hipErrorInvalidValue);
  work = {place(copy->dstPtr, copy->dstPos),
          place(copy->srcPtr, copy->srcPos),
          {copy->extent.width, copy->extent.height, copy->extent.depth},
          copy->kind};
  return hipSuccess;
}

}  // namespace mla::hip_runtime
