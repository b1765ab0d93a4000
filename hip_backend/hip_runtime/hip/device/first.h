// What has to be declared before clang's own HIP headers, and these headers: they bring the
// attributes, and call the functions of mathematics that are in functions_f32.h and _f64.h. Clang
// has them beside its compiler; -nogpuinc only leaves out that every file includes them.
#pragma once

// Clang's <new> defines new and delete of the device as soon as `__device__` is a word; those here
// (memory.h) know that there is no heap.
#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW

#define MLA_REFUSED(sentence) __attribute__((error(sentence)))

extern "C" {
[[noreturn]] __attribute__((device)) void abort() noexcept;
[[noreturn]] __attribute__((device)) void __assert_fail(const char* assertion, const char* file,
                                                        unsigned line,
                                                        const char* function) noexcept;
MLA_REFUSED("malloc() and new in a kernel are not supported on the emulated device")
__attribute__((device)) unsigned long long __ockl_dm_alloc(unsigned long long bytes);
MLA_REFUSED("free() and delete in a kernel are not supported on the emulated device")
__attribute__((device)) void __ockl_dm_dealloc(unsigned long long address);
}

#include <__clang_hip_runtime_wrapper.h>
