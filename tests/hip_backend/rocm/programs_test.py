"""Programs through hipcc and CMake, run on the emulator that the stand-in brings."""

import subprocess
import unittest

from standin import ROCM, InFolder

PROGRAM = r"""
#include <hip/hip_runtime.h>
#include <thread>
#include <vector>
__global__ void add(float* out, float what) { out[threadIdx.x] += what; }
int main() {
  hipDeviceProp_t properties;
  hipGetDeviceProperties(&properties, 0);
  std::vector<std::thread> threads;
  bool right[4] = {};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&right, t] {
      float* on_device = nullptr;
      hipMalloc(&on_device, 256);
      hipMemset(on_device, 0, 256);
      for (int k = 0; k < 50; ++k) add<<<1, 64>>>(on_device, t + 1.0f);
      float out[64];
      hipMemcpy(out, on_device, 256, hipMemcpyDeviceToHost);
      right[t] = out[63] == 50 * (t + 1.0f) && hipGetLastError() == hipSuccess;
    });
  for (auto& thread : threads) thread.join();
  std::printf("%s %d %d%d%d%d\n", properties.gcnArchName, properties.multiProcessorCount,
              right[0], right[1], right[2], right[3]);
}
"""


class Programs(InFolder):
    def test_a_program_of_four_threads_is_right_on_both_architectures(self) -> None:
        source = self.write("a.cpp", PROGRAM)
        self.hipcc("--offload-arch=gfx942", "--offload-arch=gfx950", source, "-o", "a")
        for arch, units in (("gfx942", 304), ("gfx950", 256)):
            said = self.call("./a", MLA_TESTBED_ARCH=arch).stdout
            self.assertEqual(said, f"{arch}:sramecc+:xnack- {units} 1111\n")
        said = self.call("./a", MLA_TESTBED_ARCH="gfx942", MLA_TESTBED_UNITS="80").stdout
        self.assertIn(" 80 ", said)

    def test_code_of_another_architecture_is_an_error_that_names_both(self) -> None:
        source = self.write("a.hip", """
            #include <hip/hip_runtime.h>
            __global__ void nothing() {}
            int main() { nothing<<<1, 1>>>(); return hipGetLastError(); }""")
        self.hipcc("--offload-arch=gfx942", source, "-o", "a")
        done = self.call("./a", code=98, MLA_TESTBED_ARCH="gfx950")
        self.assertIn("no code for gfx950", done.stderr)
        self.assertIn("gfx942", done.stderr)

    def test_objects_libraries_and_dependency_files(self) -> None:
        self.write("part.h", "__global__ void set(int* out);\nvoid run(int* out);\n")
        self.write("part.hip", """
            #include <hip/hip_runtime.h>
            #include "part.h"
            __global__ void set(int* out) { *out = 7; }
            void run(int* out) { set<<<1, 1>>>(out); }""")
        self.write("main.hip", """
            #include <hip/hip_runtime.h>
            #include "part.h"
            int main() {
              int* out; hipMalloc(&out, 4); run(out);
              int back = 0; hipMemcpy(&back, out, 4, hipMemcpyDeviceToHost);
              return back;
            }""")
        self.hipcc("-c", "-fPIC", "-MMD", "part.hip")
        self.assertIn("part.h", (self.folder / "part.d").read_text())
        self.hipcc("-shared", "part.o", "-o", "libpart.so")
        self.hipcc("main.hip", "-L.", "-lpart", "-Wl,-rpath,.", "-o", "a")
        self.call("./a", code=7)

    def test_a_probe_of_a_flag_says_whether_the_device_compiler_has_it(self) -> None:
        probe = ("-x", "hip", "-E", "-P", "/dev/null", "-o", "/dev/null")
        self.hipcc("-mllvm", "-amdgpu-function-calls=false", *probe)
        self.hipcc("-mllvm", "-no-such-option=1", *probe, code=1)

    def test_a_rocm_that_the_environment_names_changes_no_header(self) -> None:
        source = self.write("a.hip", """
            #include <algorithm>
            #include <complex>
            #include <hip/hip_runtime.h>
            __global__ void square(std::complex<float>* z) { *z *= *z; }
            __global__ void limit(int* n) { *n = std::max(*n, 0); }
            int main() {}""")
        for name in ("ROCM_PATH", "HIP_PATH"):
            self.hipcc("--offload-arch=gfx942", source, "-o", "a", **{name: str(ROCM)})

    def test_text_on_stdin_is_compiled(self) -> None:
        self.hipcc("-x", "hip", "-c", "-o", "/dev/null", "-",
                   text="__host__ __device__ int f() { return 1; }")

    def test_hip_bfloat16_keeps_every_code_and_rounds_to_nearest_even(self) -> None:
        self.write("a.hip", """
            #include <hip/hip_bfloat16.h>
            #include <new>
            struct Made { virtual ~Made() {} int one = 1; };
            __global__ void codes(unsigned* wrong) {
              alignas(Made) char place[sizeof(Made)];
              const Made* const made = new (place) Made;
              const unsigned code = blockIdx.x * 256 + threadIdx.x;
              hip_bfloat16 x; x.data = code;
              const float value = x;
              if (hip_bfloat16(value).data != code && value == value) atomicAdd(wrong, made->one);
              if (value != value && float(hip_bfloat16(value)) == value) atomicAdd(wrong, 1u);
            }
            int main() {
              unsigned* wrong; hipMalloc(&wrong, 4); hipMemset(wrong, 0, 4);
              codes<<<256, 256>>>(wrong);
              unsigned count = 1; hipMemcpy(&count, wrong, 4, hipMemcpyDeviceToHost);
              const bool even = float(hip_bfloat16(1.00390625f)) == 1.0f &&
                  float(hip_bfloat16(1.01171875f)) == 1.015625f &&
                  float(hip_bfloat16(1.01f, hip_bfloat16::truncate)) == 1.0078125f &&
                  float(hip_bfloat16(2.0f) * hip_bfloat16(3.0f) - hip_bfloat16(1.0f)) == 5.0f;
              return count == 0 && even && HIP_VERSION_MAJOR == 6 ? 0 : 1;
            }""")
        self.hipcc("a.hip", "-o", "a")
        self.call("./a")

    def test_headers_of_torch_for_hip_are_there_for_extensions(self) -> None:
        self.write("a.hip", """
            #include <ATen/hip/HIPContext.h>
            #include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>
            #include <thrust/complex.h>
            __global__ void turn(float* out) {
              const auto z = thrust::exp(thrust::complex<float>(0.0f, 3.14159265f));
              *out = z.real() + thrust::abs(thrust::log(thrust::complex<float>(1.0f, 0.0f)));
            }
            int main() {
              const at::hip::OptionalHIPGuardMasqueradingAsCUDA guard(0);
              float* out; hipMalloc(&out, 4);
              turn<<<1, 1, 0, at::hip::getCurrentHIPStream()>>>(out);
              float back = 0; hipMemcpy(&back, out, 4, hipMemcpyDeviceToHost);
              return back > -1.001f && back < -0.999f ? 0 : 1;
            }""")
        self.hipcc("a.hip", "-o", "a")
        self.call("./a")
        self.write("b.hip", """
            #include <thrust/complex.h>
            int main() { thrust::sqrt(thrust::complex<float>(1.0f)); }""")
        self.assertIn("deleted", self.hipcc("b.hip", "-o", "b", code=1).stderr)

    def test_genco_makes_what_a_module_is_loaded_from(self) -> None:
        self.write("kernel.hip", """
            #include <hip/hip_runtime.h>
            extern "C" __global__ void set(int* out) { *out = 9; }""")
        self.write("main.hip", """
            #include <hip/hip_runtime.h>
            int main() {
              hipModule_t module; hipFunction_t set;
              if (hipModuleLoad(&module, "kernel.co") != hipSuccess) return 1;
              if (hipModuleGetFunction(&set, module, "set") != hipSuccess) return 2;
              int* out; hipMalloc(&out, 4);
              void* arguments[] = {&out};
              if (hipModuleLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr))
                return 3;
              int back = 0; hipMemcpy(&back, out, 4, hipMemcpyDeviceToHost);
              return back;
            }""")
        self.hipcc("--genco", "--offload-arch=gfx942,gfx950", "kernel.hip", "-o", "kernel.co")
        self.hipcc("main.hip", "-o", "a")
        self.call("./a", code=9, MLA_TESTBED_ARCH="gfx950")

    def test_what_is_refused_ends_with_2_and_a_sentence(self) -> None:
        source = self.write("a.hip", "int main() {}")
        for word, said in (("--offload-arch=gfx1250", "gfx1250"), ("-fgpu-rdc", "one unit"),
                           ("-S", "two halves")):
            done = self.hipcc(word, source, code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_cmake_builds_a_project_of_its_language_hip(self) -> None:
        self.write("main.hip", PROGRAM)
        self.write("host.cpp", """
            #include <hip/hip_runtime_api.h>
            int main() { int n = 0; hipGetDeviceCount(&n); return n; }""")
        self.write("CMakeLists.txt", """
            cmake_minimum_required(VERSION 3.25)
            project(x LANGUAGES CXX HIP)
            find_package(hip REQUIRED)
            find_package(Threads REQUIRED)
            add_executable(x main.hip)
            target_link_libraries(x PRIVATE Threads::Threads)
            add_executable(y host.cpp)
            target_link_libraries(y PRIVATE hip::host)""")
        self.call("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={ROCM}",
                  f"-DCMAKE_HIP_COMPILER={ROCM}/llvm/bin/clang++", "-DCMAKE_HIP_ARCHITECTURES=gfx950")
        self.call("cmake", "--build", "b")
        self.assertEqual(self.call("b/x").stdout, "gfx950:sramecc+:xnack- 256 1111\n")
        self.call("b/y", code=1)

    def test_the_library_shows_hip_and_nothing_else(self) -> None:
        said = subprocess.run(["nm", "-D", "--defined-only", ROCM / "lib" / "libamdhip64.so"],
                              capture_output=True, text=True, check=True).stdout
        names = [line.split()[-1] for line in said.splitlines()]
        self.assertGreater(len(names), 80)
        self.assertEqual([n for n in names if not n.startswith(("hip", "__hip"))], [])


if __name__ == "__main__":
    unittest.main()
