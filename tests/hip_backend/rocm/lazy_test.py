"""Kernels that are compiled when they are launched for the first time."""

import sys
import unittest
from unittest import mock

from standin import ROCM, InFolder

sys.path.insert(0, str(ROCM / "share"))
from hipcc import kernels  # noqa: E402

UNIT = r"""
#include <hip/hip_runtime.h>
VARIABLE
template <int N> __global__ void set(int* out) {
  __shared__ int between[64];
  between[threadIdx.x] = N + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = between[63 - threadIdx.x];
  if (threadIdx.x == 0) printf("kernel %d\n", N);
}
__global__ void wrong(int* out) { asm volatile("s_nonsense"); }
int main(int count, char** words) {
  int* out; hipMalloc(&out, 256);
  set<10><<<1, 64>>>(out);
  if (count > 1) set<20><<<1, 64>>>(out);
  if (count > 2) wrong<<<1, 64>>>(out);
  int back[64]; hipMemcpy(back, out, 256, hipMemcpyDeviceToHost);
  std::printf("%d %s\n", back[0], hipGetErrorName(hipGetLastError()));
}
"""


class Lazy(InFolder):
    def build(self, text: str, **variables: str) -> None:
        self.write("a.hip", text.replace("VARIABLE", ""))
        self.hipcc("--offload-arch=gfx942", "a.hip", "-o", "a", MLA_TESTBED_LAZY_KERNELS="1",
                   **variables)

    def kept(self) -> int:
        return len({path.read_bytes() for path in self.cache.rglob("*.co")})

    def test_only_what_is_launched_is_compiled_and_once(self) -> None:
        self.build(UNIT)
        self.assertEqual(self.kept(), 0)
        self.assertEqual(self.call("./a").stdout, "kernel 10\n73 hipSuccess\n")
        self.assertEqual(self.kept(), 1)
        self.assertEqual(self.call("./a", "x").stdout, "kernel 10\nkernel 20\n83 hipSuccess\n")
        self.assertEqual(self.kept(), 2)
        # From the cache: no compiler is needed.
        again = self.call("./a", "x", PATH="/usr/bin:/bin", MLA_TESTBED_CLANG="/bin/false")
        self.assertEqual(again.stdout, "kernel 10\nkernel 20\n83 hipSuccess\n")

    def test_another_kernel_of_the_unit_may_change_without_a_second_compilation(self) -> None:
        self.build(UNIT)
        self.call("./a")
        before = {path.stat().st_ino for path in self.cache.rglob("*.co")}
        self.build(UNIT.replace("s_nonsense", "s_nop 0"))
        self.assertEqual(self.call("./a").stdout, "kernel 10\n73 hipSuccess\n")
        self.assertEqual(self.kept(), 1)
        self.assertTrue(before <= {path.stat().st_ino for path in self.cache.rglob("*.co")})

    def test_a_kernel_that_does_not_compile_is_a_failed_launch_with_the_first_error(self) -> None:
        self.build(UNIT)
        done = self.call("./a", "x", "y")
        self.assertIn("83 hipErrorInvalidDeviceFunction", done.stdout)
        self.assertIn("wrong", done.stderr)
        self.assertIn("error: invalid instruction", done.stderr)

    def test_kernels_that_share_a_variable_are_compiled_together(self) -> None:
        text = UNIT.replace("VARIABLE", "static __device__ int count;").replace(
            "N + threadIdx.x;", "N + threadIdx.x + (N == 10 ? atomicAdd(&count, 1) * 0 : count);")
        self.build(text.replace('asm volatile("s_nonsense")', "*out = 0"))
        self.assertEqual(self.call("./a", "x").stdout, "kernel 10\nkernel 20\n147 hipSuccess\n")
        self.assertEqual(self.kept(), 0)

    def test_a_cache_that_cannot_be_written_keeps_nothing_and_costs_no_result(self) -> None:
        self.build(UNIT)
        self.cache.write_text("a file")
        for _ in range(2):
            self.assertEqual(self.call("./a").stdout, "kernel 10\n73 hipSuccess\n")
        self.assertEqual(self.cache.read_text(), "a file")

    def test_a_full_disk_leaves_no_part_of_a_kernel_in_the_cache(self) -> None:
        self.cache.mkdir()
        made = self.write("made.co", "x")
        with mock.patch("shutil.copyfile", side_effect=OSError(28, "no space")):
            kernels._keep(str(made), str(self.cache / "aa" / "b.co"))
        self.assertEqual([path for path in self.cache.rglob("*") if path.is_file()], [])

    def test_a_damaged_cache_entry_is_an_error_and_no_wrong_number(self) -> None:
        self.build(UNIT)
        self.call("./a")
        for path in self.cache.rglob("*.co"):
            path.write_bytes(path.read_bytes()[:100])
        self.assertNotIn("hipSuccess", self.call("./a").stdout)


if __name__ == "__main__":
    unittest.main()
