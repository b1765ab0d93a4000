// A kernel for `mla-testbed gfx` (docs/reference/emulator.md): out[i] = factor * in[i].
extern "C" __attribute__((global)) void scale(const float* in, float* out, float factor, int n) {
  const int i = static_cast<int>(__builtin_amdgcn_workgroup_id_x() * 64 +
                                 __builtin_amdgcn_workitem_id_x());
  if (i < n) out[i] = factor * in[i];
}
