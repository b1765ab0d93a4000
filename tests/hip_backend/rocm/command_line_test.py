"""What hipcc makes of its words, without a compiler."""

import os
import sys
import unittest
from unittest import mock

from standin import ROCM

sys.path.insert(0, str(ROCM / "share"))

from hipcc.command_line import UsageError, read  # noqa: E402


class Words(unittest.TestCase):
    def test_c_plus_plus_is_hip_for_hipcc_and_not_for_clang(self) -> None:
        for hipcc in (True, False):
            line = read(["a.cpp", "b.hip", "c.c", "d.o"], hipcc=hipcc)
            self.assertEqual([i.hip for i in line.inputs], [hipcc, True, False, False])
            self.assertEqual([i.source for i in line.inputs], [True, True, True, False])

    def test_x_names_the_language_until_none_and_never_of_an_object(self) -> None:
        line = read(["-x", "hip", "a.txt", "b.o", "-xc++", "c.hip", "-x", "none", "d.hip"],
                    hipcc=False)
        self.assertEqual([i.hip for i in line.inputs], [True, False, False, True])
        self.assertEqual(line.options, [])

    def test_a_value_is_no_input(self) -> None:
        line = read(["-I", "x.cpp", "-mllvm", "-foo", "-o", "out.cpp", "a.hip"], hipcc=True)
        self.assertEqual([i.path for i in line.inputs], ["a.hip"])
        self.assertEqual(line.options, ["-I", "x.cpp", "-mllvm", "-foo"])
        self.assertEqual(line.output, "out.cpp")

    def test_architectures_lose_features_and_twins(self) -> None:
        line = read(["--offload-arch=gfx942:sramecc+:xnack-,gfx950", "--offload-arch=gfx942"],
                    hipcc=True)
        self.assertEqual(line.archs, ["gfx942", "gfx950"])

    def test_native_is_what_the_environment_emulates(self) -> None:
        with mock.patch.dict(os.environ, MLA_TESTBED_ARCH="gfx950"):
            self.assertEqual(read(["--offload-arch=native"], hipcc=True).archs, ["gfx950"])

    def test_what_is_refused_is_named(self) -> None:
        for word in ("--offload-arch=gfx1250", "-fgpu-rdc", "--hipstdpar"):
            with self.assertRaisesRegex(UsageError, word.split("=")[-1]):
                read([word, "a.hip"], hipcc=True)
        with self.assertRaisesRegex(UsageError, "-o needs a value"):
            read(["a.hip", "-o"], hipcc=True)

    def test_preprocessing_wins_over_c(self) -> None:
        self.assertEqual(read(["-E", "-c", "a.hip"], hipcc=True).step, "preprocess")
        self.assertEqual(read(["-c", "a.hip"], hipcc=True).step, "object")
        self.assertEqual(read(["a.hip"], hipcc=True).step, "link")


if __name__ == "__main__":
    unittest.main()
