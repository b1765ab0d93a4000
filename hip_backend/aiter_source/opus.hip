// AITER's OPUS decode (fp8 with a plan) as one translation unit, from the folders that -I names.
#include <hip/hip_runtime.h>

#include "kernels/mla/mla_decode_fwd_opus.cu"
