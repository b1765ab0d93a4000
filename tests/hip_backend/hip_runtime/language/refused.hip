// Each does not compile: the compiler names what is refused.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

__global__ void kernel(float* out, hipTextureObject_t texture) {
#ifdef TRY_malloc
  *reinterpret_cast<void**>(out) = malloc(4);
#elif defined(TRY_free)
  free(out);
#elif defined(TRY_operator_new)
  *reinterpret_cast<int**>(out) = new int(4);
#elif defined(TRY_grid_sync)
  cooperative_groups::this_grid().sync();
#elif defined(TRY_tex2D)
  *out = tex2D<float>(texture, 0.5F, 0.5F);
#endif
}
