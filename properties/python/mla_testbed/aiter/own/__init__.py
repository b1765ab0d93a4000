"""AITER's own compiled modules: built by AITER's own JIT for the emulator, and called.

AITER finds a ROCm where ROCM_PATH says, builds a module with it when an operation is first called,
and loads it. What it finds is this project's stand-in, so that AITER's own machine code runs in the
emulator. `choice` says which modules are own, `build` keeps them from one process to the next,
`runtime` gives kernels the memory of torch's tensors and turns what they did wrong into errors.
"""
