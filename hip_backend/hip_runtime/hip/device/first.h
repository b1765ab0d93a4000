// What has to be declared before clang's own HIP headers, and these headers: they bring the
// attributes, and call the functions of mathematics that are in functions_f32.h and _f64.h. Clang
// has them beside its compiler; -nogpuinc only leaves out that every file includes them.
#pragma once

// What the standard library brings, before a word of it means something else.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include <stdlib.h>
// Clang's <new> defines new and delete of the device as soon as `__device__` is a word; those here
// (memory.h) know that there is no heap.
#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW

// std::complex in kernels: its operators and functions are of both sides, and are libstdc++'s own
// text. The C library's, which it would call, are the host's alone. They call what the device has
// for sin() and its like, which has to be declared before.
#include <__clang_cuda_math_forward_declares.h>
#pragma push_macro("_GLIBCXX_USE_C99_COMPLEX")
#pragma push_macro("_GLIBCXX_USE_C99_COMPLEX_TR1")
#undef _GLIBCXX_USE_C99_COMPLEX
#undef _GLIBCXX_USE_C99_COMPLEX_TR1
#define _GLIBCXX_USE_C99_COMPLEX 0
#define _GLIBCXX_USE_C99_COMPLEX_TR1 0
#pragma clang force_cuda_host_device begin
#include <complex>
#pragma clang force_cuda_host_device end
#pragma pop_macro("_GLIBCXX_USE_C99_COMPLEX_TR1")
#pragma pop_macro("_GLIBCXX_USE_C99_COMPLEX")

#define MLA_REFUSED(sentence) __attribute__((error(sentence)))

extern "C" {
[[noreturn]] __attribute__((device)) void abort() noexcept;
[[noreturn]] __attribute__((device)) void __assert_fail(const char* assertion, const char* file,
                                                        unsigned line,
                                                        const char* function) noexcept;
// There is no heap. Each is refused where a kernel calls it; clang's own malloc() would be named in
// its header.
MLA_REFUSED("malloc() in a kernel is not supported on the emulated device: there is no heap")
__attribute__((device)) void* malloc(__SIZE_TYPE__ bytes);
MLA_REFUSED("free() in a kernel is not supported on the emulated device: there is no heap")
__attribute__((device)) void free(void* pointer);
}

#pragma push_macro("malloc")
#pragma push_macro("free")
#define malloc __mla_no_malloc
#define free __mla_no_free
#include <__clang_hip_runtime_wrapper.h>
#pragma pop_macro("free")
#pragma pop_macro("malloc")
